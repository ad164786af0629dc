#include "sim/simulator.h"

#include <algorithm>
#include <cmath>

#include "sim/compiled.h"
#include "sim/error.h"
#include "sim/interconnect.h"
#include "sim/published/simulator.h"

namespace berth::sim {
namespace {

// Of a lone transfer beyond its latency, however long that is.
double MoveTime(const Link& link, Bytes bytes) {
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

// The longest of a transfer of these bytes over any of the links, both directions busy.
double SlowestMove(const Cluster& cluster, Bytes bytes) {
  double longest = 0;
  for (const Link& link : cluster.links)
    longest = std::max(longest, MoveTime(link, bytes) * kPpm / static_cast<double>(link.both_ppm));
  return longest;
}

// Sums of times must stay inside 64 bits whatever the placement; refuses what could leave them.
void CheckHorizon(const OpGraph& graph, const Cluster& cluster, const CostTable& costs,
                  const Problem::Compiled& c) {
  double slowest = 1;  // by how much sharing can stretch an op
  double latency = 0;
  for (const Device& device : cluster.devices) {
    double rate = 1.0 / device.streams;
    for (const auto ppm : device.concurrency_ppm) rate = std::min(rate, static_cast<double>(ppm) / kPpm);
    slowest = std::max(slowest, kPpm / (rate * static_cast<double>(device.overlap_copy_ppm)));
  }
  for (const auto& route : c.routes) latency = std::max(latency, static_cast<double>(route.latency));
  double total = 0;
  for (OpIndex op = 0; op < graph.size(); ++op) {
    double worst = 0;
    for (DeviceIndex d = 0; d < cluster.size(); ++d) {
      const auto dispatch = c.dispatch_cost[d];
      worst = std::max(worst, static_cast<double>(costs.at(op, d)) * slowest +
                                  static_cast<double>(dispatch) * c.rows[op].dispatch_ops);
    }
    total += worst;
    double sent = latency;
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs)
      sent += latency + SlowestMove(cluster, output.bytes);
    const auto consumers = graph.consumers(op).size();
    total += sent * static_cast<double>(std::min(consumers, cluster.devices.size()));
  }
  if (!(total < 0x1p61)) {
    throw InputError(
        "graph '" + graph.name + "' on cluster '" + cluster.name +
        "' could run for more than 26 simulated days, beyond what integer picoseconds hold; check its "
        "costs, bytes, bandwidths, curves and latencies");
  }
}

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

Problem::Problem(const OpGraph& graph, const Cluster& cluster, CostTable costs)
    : graph_(graph), cluster_(cluster), costs_(std::move(costs)) {
  BERTH_CHECK_EQ(costs_.devices, cluster.size());
  BERTH_CHECK_EQ(costs_.picos.size(), graph.ops.size() * cluster.devices.size());
  compiled_ = std::make_unique<const Compiled>(graph, cluster, costs_);
  CheckHorizon(graph, cluster, costs_, *compiled_);
  CheckLiveBytes(graph, cluster);
}

Problem::~Problem() = default;

std::unique_ptr<Simulator> MakeSimulator(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  if (cluster.rules == Rules::kPublished) return MakePublishedSimulator(problem);
  return InterconnectOf(cluster).make(problem);
}

}  // namespace berth::sim
