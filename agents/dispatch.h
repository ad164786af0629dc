// What it costs a host thread to issue an op (docs/model.md 2).
#pragma once

#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace berth::agents {

inline sim::Picos DispatchCost(const sim::Cluster& cluster, const sim::Op& op, sim::DeviceIndex device) {
  if (cluster.preset == sim::Preset::kPlaceto || op.IsSource()) return 0;
  const sim::Dispatch& dispatch = cluster.dispatch;
  const sim::Picos cost =
      dispatch.automatic ? cluster.devices[static_cast<std::size_t>(device)].launch_cost : dispatch.cost;
  return cost * op.framework_ops;
}

// DESIGN 4.3: after an op with non-zero cost a device of preset placeto waits 5.7 us.
inline constexpr sim::Picos kPlacetoGap = 5'700'000;

}  // namespace berth::agents
