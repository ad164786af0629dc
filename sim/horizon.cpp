#include "sim/horizon.h"

#include <algorithm>
#include <vector>

#include "sim/base/error.h"
#include "sim/published_rules.h"

namespace stowplan::sim {
namespace {

// Doubles throughout: they cannot wrap, and a horizon of a quarter of what 64 bits hold leaves them room to be inexact.
class Horizon {
 public:
  Horizon(const OpGraph& graph, const Cluster& cluster, const CostTable& costs)
      : graph_(graph), cluster_(cluster), costs_(costs) {
    for (const Device& device : cluster.devices) {
      double rate = 1.0 / device.streams;
      for (const auto ppm : device.concurrency_ppm) rate = std::min(rate, static_cast<double>(ppm) / kPpm);
      const std::int64_t overlap = std::min(device.overlap_copy_ppm, device.overlap_collective_ppm);
      slowest_op_ = std::max(slowest_op_, kPpm / (rate * static_cast<double>(overlap)));
      const Picos dispatch = cluster.dispatch.automatic ? device.launch_cost : cluster.dispatch.cost;
      dispatch_ = std::max(dispatch_, static_cast<double>(dispatch));
    }
    // What a transfer takes alone is set by one link of its route, by how much both directions slow it down by another.
    for (const Link& link : cluster.links) {
      if (link.duplex == Duplex::kFull)
        slowest_move_ =
            std::max(slowest_move_, static_cast<double>(kPpm) / static_cast<double>(link.both_ppm));
    }
    if (cluster.size() > kMaxPaired) latency_ = LongestPath();
    for (DeviceIndex from = 0; from < cluster.size() && cluster.size() <= kMaxPaired; ++from) {
      for (DeviceIndex to = 0; to < cluster.size(); ++to) {
        double latency = 0;
        for (const Cluster::Hop& hop : cluster.route(from, to))
          latency += static_cast<double>(cluster.links[static_cast<std::size_t>(hop.link)].latency);
        latency_ = std::max(latency_, latency);
      }
    }
  }

  double Total() const {
    double total = 0;
    for (OpIndex op = 0; op < graph_.size(); ++op) total += Op(op) + Transfers(op);
    return total;
  }

 private:
  // No route has more links than there are nodes that forward, and one.
  double LongestPath() const {
    double slowest = 0, all = 0;
    for (const Link& link : cluster_.links) {
      slowest = std::max(slowest, static_cast<double>(link.latency));
      all += static_cast<double>(link.latency);
    }
    const auto cpus = std::ranges::count(cluster_.devices, DeviceClass::kCpu, &Device::device_class);
    return std::min(
        all, slowest * static_cast<double>(cluster_.switches.size() + static_cast<std::size_t>(cpus) + 1));
  }

  double Op(OpIndex op) const {
    const Picos cost = std::ranges::max(costs_.PricesOf(op));
    const auto& row = graph_.ops[static_cast<std::size_t>(op)];
    return static_cast<double>(cost) * slowest_op_ + static_cast<double>(PauseAfterOp(cost)) +
           dispatch_ * row.DispatchUnits();
  }

  // Each output, and the end of the op, to every device that may read it.
  double Transfers(OpIndex op) const {
    double sent = latency_ + static_cast<double>(kSendPause);
    for (const Output& output : graph_.ops[static_cast<std::size_t>(op)].outputs)
      sent += latency_ + Slowest(output.bytes) + static_cast<double>(kSendPause);
    const auto consumers = graph_.consumers(op).size();
    return sent * static_cast<double>(std::min(consumers, cluster_.devices.size()));
  }

  double Slowest(Bytes bytes) const {
    double longest = 0;
    for (const Link& link : cluster_.links) longest = std::max(longest, MoveTimeOf(link, bytes));
    longest *= slowest_move_;
    return cluster_.rules == Rules::kPublished ? std::max(longest, static_cast<double>(SendTime(bytes)))
                                               : longest;
  }

  const OpGraph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  double slowest_op_ = 1;    // by how much sharing can slow down an op
  double slowest_move_ = 1;  // and a transfer
  double latency_ = 0;       // of the longest route [ps]
  double dispatch_ = 0;      // of one framework op [ps]
};

}  // namespace

double MoveTimeOf(const Link& link, Bytes bytes) {
  const auto size = static_cast<double>(bytes);
  if (link.curve.empty()) return size * 1e12 / static_cast<double>(link.bandwidth);
  auto upper = link.curve.begin() + 1;
  while (upper->first < bytes && upper + 1 != link.curve.end()) ++upper;
  const auto lower = upper - 1;
  const double slope =
      static_cast<double>(upper->second - lower->second) / static_cast<double>(upper->first - lower->first);
  return static_cast<double>(lower->second - link.latency) +
         (size - static_cast<double>(lower->first)) * slope;
}

void CheckHorizon(const OpGraph& graph, const Cluster& cluster, const CostTable& costs) {
  if (!(Horizon(graph, cluster, costs).Total() < static_cast<double>(kHorizon)))
    RefuseHorizon(graph, cluster);
}

void RefuseHorizon(const OpGraph& graph, const Cluster& cluster) {
  throw InputError(
      "graph '" + graph.name + "' on cluster '" + cluster.name +
      "' could run for more than 26 simulated days, beyond what integer picoseconds hold; check its "
      "costs, bytes, bandwidths, curves and latencies");
}

}  // namespace stowplan::sim
