#include "sim/analysis/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "sim/base/error.h"
#include "sim/base/exact.h"
#include "sim/base/parallel.h"

namespace stowplan::sim {
namespace {

// As read from its file: Finish() finds its routes anew.
Cluster Unfinished(const Cluster& cluster) {
  Cluster copy;
  copy.name = cluster.name;
  copy.rules = cluster.rules;
  copy.devices = cluster.devices;
  copy.switches = cluster.switches;
  copy.links = cluster.links;
  copy.interconnect = cluster.interconnect;
  copy.routes = cluster.routes;
  copy.dispatch = cluster.dispatch;
  return copy;
}

constexpr std::int64_t kMostBandwidth = std::int64_t{1} << 50;  // that Finish() lets pass

void SpeedUp(Link& link, std::int64_t faster_ppm) {
  link.bandwidth = std::min(MulDivNearest(link.bandwidth, faster_ppm, kPpm), kMostBandwidth);
  for (auto& [bytes, time] : link.curve)
    time = link.latency + MulDivNearest(time - link.latency, kPpm, faster_ppm);
  // Rounding must not make its last slope flat.
  if (!link.curve.empty())
    link.curve.back().second =
        std::max(link.curve.back().second, link.curve[link.curve.size() - 2].second + 1);
}

void DropLatency(Link& link) {
  for (auto& [bytes, time] : link.curve) time -= link.latency;
  link.latency = 0;
}

class WhatIfRunner {
 public:
  WhatIfRunner(const Problem& problem, const Placement& placement, double faster)
      : problem_(problem), placement_(placement), faster_ppm_(std::llround(faster * kPpm)) {}

  void Run(WhatIf& what_if) const {
    const bool other_links = what_if.change == WhatIf::Change::kLink ||
                             what_if.change == WhatIf::Change::kTransfers ||
                             what_if.change == WhatIf::Change::kLatency;
    Cluster cluster = other_links ? Unfinished(problem_.cluster()) : problem_.cluster();
    CostTable costs = problem_.costs();
    Change(what_if, cluster, costs);
    if (other_links) cluster.Finish();  // finds the routes
    // Without links everything that is sent is there at once.
    const Problem changed(problem_.graph(), cluster, std::move(costs),
                          cluster.links.empty() ? nullptr : problem_.collective_prices());
    const auto simulator = MakeSimulator(changed);
    const Outcome& outcome = simulator->Run(placement_);
    what_if.runtime = outcome.runtime;
    what_if.feasible = outcome.feasible();
  }

 private:
  void Change(const WhatIf& what_if, Cluster& cluster, CostTable& costs) const {
    const auto index = static_cast<std::size_t>(what_if.index);
    switch (what_if.change) {
      case WhatIf::Change::kDevice:
        costs.Separate(what_if.index);
        for (OpIndex op = 0; op < problem_.graph().size(); ++op) {
          Picos& picos = costs.picos[costs.IndexOf(op, what_if.index)];
          picos = MulDivNearest(picos, kPpm, faster_ppm_);
        }
        break;
      case WhatIf::Change::kLink:
        SpeedUp(cluster.links[index], faster_ppm_);
        break;
      case WhatIf::Change::kTransfers:
        cluster.links.clear();
        cluster.switches.clear();
        cluster.routes.clear();
        break;
      case WhatIf::Change::kLatency:
        for (Link& link : cluster.links) DropLatency(link);
        break;
      case WhatIf::Change::kDispatch:
        cluster.dispatch.automatic = false;
        cluster.dispatch.cost = 0;
        break;
      case WhatIf::Change::kMemory:
        for (Device& device : cluster.devices) {
          device.memory = kMaxBytes;
          device.reserve = 0;
        }
        break;
    }
  }

  const Problem& problem_;
  const Placement& placement_;
  const std::int64_t faster_ppm_;
};

std::vector<WhatIf> Questions(const Cluster& cluster, const WhatIfOptions& options) {
  std::vector<WhatIf> questions;
  for (const DeviceIndex d : options.devices) questions.push_back({.index = d});
  const bool native = cluster.rules == Rules::kNative;
  if (native && !cluster.links.empty() && cluster.size() > 1) {
    for (const std::int32_t l : options.links)
      questions.push_back({.change = WhatIf::Change::kLink, .index = l});
    questions.push_back({.change = WhatIf::Change::kTransfers});
    if (std::any_of(cluster.links.begin(), cluster.links.end(),
                    [](const Link& link) { return link.latency > 0; }))
      questions.push_back({.change = WhatIf::Change::kLatency});
  }
  if (native && (cluster.dispatch.automatic || cluster.dispatch.cost > 0))
    questions.push_back({.change = WhatIf::Change::kDispatch});
  if (native) questions.push_back({.change = WhatIf::Change::kMemory});
  return questions;
}

}  // namespace

const char* ToString(WhatIf::Change change) {
  constexpr std::array kNames = {"device", "link", "transfers", "latency", "dispatch", "memory"};
  return kNames[static_cast<std::size_t>(change)];
}

std::vector<WhatIf> RunWhatIfs(const Problem& problem, const Placement& placement,
                               const WhatIfOptions& options) {
  STOWPLAN_CHECK(options.faster > 1 && options.faster <= kMostFaster);
  std::vector<WhatIf> what_ifs = Questions(problem.cluster(), options);
  const WhatIfRunner runner(problem, placement, options.faster);
  ParallelFor(what_ifs.size(), ResolveThreads(options.threads),
              [&](std::size_t i, int) { runner.Run(what_ifs[i]); });
  std::sort(what_ifs.begin(), what_ifs.end(), [](const WhatIf& a, const WhatIf& b) {
    return std::tie(a.runtime, a.change, a.index) < std::tie(b.runtime, b.change, b.index);
  });
  return what_ifs;
}

}  // namespace stowplan::sim
