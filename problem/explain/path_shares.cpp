#include "problem/explain/path_shares.h"

#include <algorithm>
#include <map>

namespace stowplan::problem {

PathShares ShareOut(const sim::Problem& problem, const sim::Placement& placement, const sim::Outcome& outcome,
                    const sim::Explanation& why) {
  PathShares path;
  path.devices.assign(problem.cluster().devices.size(), 0);
  path.links.assign(outcome.links.size(), 0);
  std::map<std::string, sim::Picos> types;
  std::map<std::pair<sim::DeviceIndex, sim::DeviceIndex>, PathShares::Route> routes;
  for (const sim::CriticalStep& step : why.critical_path) {
    const sim::Picos length = step.end - step.start;
    const auto index = static_cast<std::size_t>(step.index);
    switch (step.kind) {
      case sim::CriticalStep::Kind::kOp:
        path.devices[static_cast<std::size_t>(placement.device[index])] += length;
        if (length > 0) types[problem.graph().ops[index].type] += length;
        break;
      case sim::CriticalStep::Kind::kTransfer: {
        const sim::TransferTimes& transfer = outcome.transfers[index];
        PathShares::Route& route = routes[{transfer.from, transfer.to}];
        route.from = transfer.from;
        route.to = transfer.to;
        route.time += length;
        ++route.transfers;
        path.transfers += length;
        if (path.links.empty()) break;
        for (const auto& hop : problem.cluster().route(transfer.from, transfer.to))
          path.links[static_cast<std::size_t>(hop.link)] += length;
        break;
      }
      case sim::CriticalStep::Kind::kCollective:
        path.collectives += length;
        if (length > 0) types[problem.graph().ops[index].type] += length;
        break;
      case sim::CriticalStep::Kind::kDispatch:
        path.dispatch += length;
        break;
      case sim::CriticalStep::Kind::kWait:
        path.waiting += length;
        break;
    }
  }
  path.types.assign(types.begin(), types.end());
  std::stable_sort(path.types.begin(), path.types.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [ends, route] : routes) path.routes.push_back(route);
  std::stable_sort(path.routes.begin(), path.routes.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return path;
}

Bottleneck FindBottleneck(const PathShares& path) {
  Bottleneck most{.device = 0, .time = path.devices.front()};
  const auto offer = [&](const Bottleneck& other) {
    if (other.time > most.time) most = other;
  };
  for (std::size_t d = 1; d < path.devices.size(); ++d)
    offer({sim::CriticalStep::Kind::kOp, static_cast<sim::DeviceIndex>(d), path.devices[d]});
  offer({sim::CriticalStep::Kind::kTransfer, -1, path.transfers});
  offer({sim::CriticalStep::Kind::kCollective, -1, path.collectives});
  offer({sim::CriticalStep::Kind::kDispatch, -1, path.dispatch});
  offer({sim::CriticalStep::Kind::kWait, -1, path.waiting});
  return most;
}

}  // namespace stowplan::problem
