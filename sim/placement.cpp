#include "sim/placement.h"

#include <cmath>

#include "sim/base/error.h"
#include "sim/collectives.h"

namespace stowplan::sim {
namespace {

void CheckOrder(const OpGraph& graph, const std::vector<OpIndex>& order) {
  if (order.size() != graph.ops.size()) {
    throw InputError("the placement's order lists " + std::to_string(order.size()) +
                     " ops, but the graph has " + std::to_string(graph.ops.size()) +
                     "; it must list every op once");
  }
  std::vector<bool> seen(graph.ops.size(), false);
  for (const OpIndex op : order) {
    if (op < 0 || op >= graph.size())
      throw InputError("the placement's order names an op that does not exist");
    const Op& current = graph.ops[static_cast<std::size_t>(op)];
    if (seen[static_cast<std::size_t>(op)])
      throw InputError("the placement's order lists op '" + current.name + "' twice");
    const auto require = [&](OpIndex producer) {
      if (!seen[static_cast<std::size_t>(producer)]) {
        throw InputError("the placement's order lists op '" + current.name + "' before '" +
                         graph.ops[static_cast<std::size_t>(producer)].name + "', on which it depends");
      }
    };
    for (const auto& input : current.inputs) require(input.op);
    for (const OpIndex control : current.control) require(control);
    seen[static_cast<std::size_t>(op)] = true;
  }
}

}  // namespace

void CheckPlacement(const OpGraph& graph, const Cluster& cluster, const Placement& placement) {
  if (placement.device.size() != graph.ops.size()) {
    throw InputError("the placement holds " + std::to_string(placement.device.size()) +
                     " ops, but the graph has " + std::to_string(graph.ops.size()));
  }
  std::vector<OpIndex> first(static_cast<std::size_t>(graph.colocation_sets()), -1);
  for (OpIndex op = 0; op < graph.size(); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const DeviceIndex device = placement.device[i];
    if (device < 0 || device >= cluster.size()) {
      throw InputError("op '" + graph.ops[i].name + "' is placed on a device that does not exist");
    }
    OpIndex& leader = first[static_cast<std::size_t>(graph.colocation_set()[i])];
    if (leader < 0) leader = op;
    const DeviceIndex wanted = placement.device[static_cast<std::size_t>(leader)];
    if (wanted != device) {
      throw InputError("ops '" + graph.ops[static_cast<std::size_t>(leader)].name + "' and '" +
                       graph.ops[i].name + "' are colocated ('" + graph.ops[i].colocate +
                       "'), but placed on '" + cluster.devices[static_cast<std::size_t>(wanted)].name +
                       "' and '" + cluster.devices[static_cast<std::size_t>(device)].name + "'");
    }
  }
  for (const Collective& collective : CollectivesOf(graph))
    DevicesOf(collective, graph, cluster, placement.device);
  if (!placement.priority.empty()) {
    if (placement.priority.size() != graph.ops.size())
      throw InputError("the placement's priorities miss ops");
    for (OpIndex op = 0; op < graph.size(); ++op) {
      if (!std::isfinite(placement.priority[static_cast<std::size_t>(op)])) {
        throw InputError("the priority of op '" + graph.ops[static_cast<std::size_t>(op)].name +
                         "' is not a finite number");
      }
    }
    if (!placement.order.empty())
      throw InputError("the placement gives both priority and order; give one of them");
  }
  if (!placement.order.empty()) CheckOrder(graph, placement.order);
}

}  // namespace stowplan::sim
