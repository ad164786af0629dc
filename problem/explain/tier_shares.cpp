#include "problem/explain/tier_shares.h"

#include <algorithm>
#include <functional>
#include <map>

#include "cost_models/parameters/parameters.h"

namespace stowplan::problem {

std::vector<TierShare> SharesByTier(const sim::Problem& problem) {
  std::vector<TierShare> shares;
  std::vector<std::string> seen;
  for (sim::DeviceIndex d = 0; d < problem.cluster().size(); ++d) {
    const sim::Device& device = problem.cluster().devices[static_cast<std::size_t>(d)];
    if (std::find(seen.begin(), seen.end(), device.kind) != seen.end()) continue;
    seen.push_back(device.kind);
    TierShare share{.device = device.kind};
    for (sim::OpIndex op = 0; op < problem.graph().size(); ++op) {
      const double us = sim::ToMicros(problem.costs().at(op, d));
      share.total_us += us;
      share.by_tier[static_cast<std::size_t>(problem.costs().TierAt(op, d))] += us;
    }
    shares.push_back(share);
  }
  return shares;
}

std::vector<OriginShare> SharesByOrigin(const sim::Problem& problem, const sim::Placement& placement,
                                        const sim::CostModel& model) {
  std::map<std::string, double> by_origin;
  double all = 0;
  for (sim::OpIndex op = 0; op < problem.graph().size(); ++op) {
    const sim::DeviceIndex d = placement.device[static_cast<std::size_t>(op)];
    const double us = sim::ToMicros(problem.costs().at(op, d));
    all += us;
    const sim::Op& one = problem.graph().ops[static_cast<std::size_t>(op)];
    if (us <= 0 || one.cost_us || !one.cost_us_by_kind.empty())
      continue;  // the graph's own, or moved by a ratio
    const sim::Device& device = problem.cluster().devices[static_cast<std::size_t>(d)];
    by_origin[cost_models::PriceOrigin(model, problem.graph(), op, device)] += us;
  }
  std::vector<OriginShare> shares;
  for (const auto& [origin, us] : by_origin)
    if (!origin.empty()) shares.push_back({origin, us / all});
  std::ranges::stable_sort(shares, std::greater(), &OriginShare::share);
  return shares;
}

}  // namespace stowplan::problem
