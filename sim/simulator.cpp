#include "sim/simulator.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/compiled.h"
#include "sim/horizon.h"

namespace stowplan::sim {
namespace {

// Live bytes must stay inside 64 bits too: everything rounded up, and a copy of every output on every
// reader's device.
void CheckLiveBytes(const OpGraph& graph, const Cluster& cluster) {
  double granularity = 1;
  for (const Device& device : cluster.devices)
    granularity = std::max(granularity, static_cast<double>(device.granularity));
  double total = 0;
  for (OpIndex op = 0; op < graph.size(); ++op) {
    const Op& current = graph.ops[static_cast<std::size_t>(op)];
    const double copies =
        1 + static_cast<double>(std::min(graph.consumers(op).size(), cluster.devices.size()));
    total += static_cast<double>(current.persistent_bytes) + static_cast<double>(current.workspace_bytes) +
             2 * granularity;
    for (const Output& output : current.outputs)
      total += copies * (static_cast<double>(output.bytes) + granularity);
  }
  if (!(total < 0x1p62)) {
    throw InputError(
        "graph '" + graph.name + "' on cluster '" + cluster.name +
        "' could hold more than 2^62 bytes at once; check its sizes and the granularity of the devices");
  }
}

}  // namespace

Problem::Problem(const OpGraph& graph, const Cluster& cluster, CostTable costs,
                 std::shared_ptr<const CollectivePrices> collectives, const std::vector<DeviceIndex>* used)
    : graph_(graph), cluster_(cluster), costs_(std::move(costs)), collective_prices_(std::move(collectives)) {
  STOWPLAN_CHECK_EQ(costs_.devices, cluster.size());
  STOWPLAN_CHECK_EQ(costs_.picos.size(), graph.ops.size() * static_cast<std::size_t>(costs_.columns()));
  for (const std::vector<OpIndex>& members : graph.collectives()) {
    if (cluster.rules == Rules::kPublished) {
      throw InputError("graph '" + graph.name + "' has collectives ('" +
                       graph.ops[static_cast<std::size_t>(members.front())].name +
                       "'), which the rules published do not have; take the rules native");
    }
    for (const OpIndex member : members) std::ranges::fill(costs_.PricesOf(member), 0);
  }
  CheckHorizon(graph, cluster, costs_);  // first: what compiles adds times up
  CheckLiveBytes(graph, cluster);
  compiled_ = std::make_unique<const Compiled>(graph, cluster, costs_, used);
}

std::unique_ptr<const Problem> ProblemOfPlacement(const Problem& problem, const Placement& placement) {
  if (problem.compiled().paired > 0) return nullptr;
  std::vector<DeviceIndex> used = placement.device;
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (used.size() > static_cast<std::size_t>(kMaxPaired)) {
    throw InputError("a placement of graph '" + problem.graph().name + "' uses " +
                     std::to_string(used.size()) + " devices of cluster '" + problem.cluster().name +
                     "'; at most " + std::to_string(kMaxPaired) +
                     " can be simulated one by one, so let one rank stand for those that do the same");
  }
  return std::make_unique<const Problem>(problem.graph(), problem.cluster(), problem.costs(),
                                         problem.collective_prices(), &used);
}

Problem::~Problem() = default;

}  // namespace stowplan::sim
