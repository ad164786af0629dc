// Which device runs each op, and optionally in which order a device's ops are issued
// (stowplan.placement).
#pragma once

#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

struct Placement {
  std::vector<DeviceIndex> device;  // by op
  std::vector<double> priority;     // by op, higher first; empty = none given
  std::vector<OpIndex> order;       // all ops, producers before consumers; empty = none given
};

// Throws InputError naming the op: a device out of range, a missing op, ops of one colocation set on two
// devices, an order that is no topological order of the graph, both priority and order given, a rank of a
// collective's symmetric form for which there is no accelerator.
void CheckPlacement(const OpGraph& graph, const Cluster& cluster, const Placement& placement);

}  // namespace stowplan::sim
