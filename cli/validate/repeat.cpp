// The same workloads measured twice: what a measurement says of another, which is what a simulator can say at best.
#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/validate/score.h"
#include "sim/base/statistics.h"

namespace stowplan::cli {
namespace {

std::optional<Repeat> Compare(const Recording& then, const Score& now) {
  std::map<std::vector<sim::DeviceIndex>, double> medians;
  for (const MeasuredPlacement& measured : then.placements) {
    const bool plain = measured.placement.order.empty() && measured.placement.priority.empty();
    if (plain && !measured.oom) medians.emplace(measured.placement.device, Quantile(measured.steps_us, 0.5));
  }
  std::vector<double> first, second, simulated, margin, ratios;
  for (const ScoredPlacement& scored : now.placements) {
    const auto found = medians.find(scored.placement.device);
    if (found == medians.end() || !scored.placement.order.empty() || !scored.placement.priority.empty())
      continue;
    first.push_back(found->second);
    second.push_back(scored.measured_us);
    simulated.push_back(scored.simulated_us);
    margin.push_back(scored.spread_us);
    ratios.push_back(scored.measured_us / found->second);
  }
  if (first.size() < 2) return std::nullopt;
  return Repeat{.placements = static_cast<int>(first.size()),
                .tau = KendallTauB(second, first, margin).tau_b,
                .simulated_tau = KendallTauB(second, simulated, margin).tau_b,
                .speed = Quantile(ratios, 0.5),
                .spread = Spread(ratios)};
}

}  // namespace

void CompareRepeats(const std::string& folder, std::vector<Score>* scores) {
  for (const std::string& path : FindRecordings(folder)) {
    const Recording then = ReadValidation(path);
    const auto now = std::ranges::find(*scores, then.workload, &Score::workload);
    if (now != scores->end()) now->repeat = Compare(then, *now);
  }
}

}  // namespace stowplan::cli
