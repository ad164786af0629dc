// What the semantics (docs/model.md) say about single ops and transfers without simulating a run.
#pragma once

#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::agents {

// After an op with non-zero cost a device under the published rules waits so long (docs/model.md, section 8).
inline constexpr sim::Picos kPublishedGap = 5'700'000;

// Time to move bytes between two devices when nothing else moves; no transfer between them is ever faster. 0
// bytes, or a control dependency: the latencies alone.
sim::Picos LoneTransferTime(const sim::Cluster& cluster, sim::Bytes bytes, sim::DeviceIndex from,
                            sim::DeviceIndex to);

// What it costs a host thread to issue the op.
sim::Picos DispatchCost(const sim::Cluster& cluster, const sim::Op& op, sim::DeviceIndex device);

}  // namespace stowplan::agents
