// How long a run may take: every time, and every sum of times, stays inside 64 bits whatever the placement. The one place
// that says so; engines, screens and what-ifs rest on it and check nothing as they run. Internal to sim/.
#pragma once

#include "sim/base/exact.h"
#include "sim/cluster.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

// Throws InputError where all ops and transfers, one after the other, each where it takes longest, could take longer.
// Takes any numbers that OpGraph and Cluster let pass.
void CheckHorizon(const OpGraph& graph, const Cluster& cluster, const CostTable& costs);

// Of a lone transfer over a link beyond its latency, however long that is [ps].
double MoveTimeOf(const Link& link, Bytes bytes);

[[noreturn]] void RefuseHorizon(const OpGraph& graph, const Cluster& cluster);

}  // namespace stowplan::sim
