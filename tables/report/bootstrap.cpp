#include "tables/report/bootstrap.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::tables {
namespace {

agents::SeededTimes TimesOf(const CellSummary& cell) {
  agents::SeededTimes times{.sampled = cell.sampled};
  for (const CellRecord& record : cell.records) {
    times.by_seed[record.seed] =
        record.runtime_us ? *record.runtime_us / 1e6 : std::numeric_limits<double>::infinity();
  }
  return times;
}

std::vector<agents::SeededTimes> TimesOf(const std::vector<const CellSummary*>& cells) {
  std::vector<agents::SeededTimes> times;
  for (const CellSummary* cell : cells) {
    if (cell->was_run()) times.push_back(TimesOf(*cell));
  }
  return times;
}

}  // namespace

Estimate EstimateRatio(const std::vector<const CellSummary*>& ours,
                       const std::vector<const CellSummary*>& theirs) {
  return agents::EstimateRatio(TimesOf(ours), TimesOf(theirs));
}

Estimate EstimateOver(const std::vector<const CellSummary*>& cells,
                      const std::function<double(const std::vector<std::int64_t>& seeds)>& statistic) {
  return agents::EstimateOver(TimesOf(cells), statistic);
}

Estimate EstimateMeanRatio(const CellPairs& pairs, bool over_pairs) {
  agents::TimesPairs times;
  for (const auto& [ours, theirs] : pairs) times.emplace_back(TimesOf(*ours), TimesOf(*theirs));
  return agents::EstimateMeanRatio(times, over_pairs);
}

ClaimWord Judge(const Estimate& estimate, const std::function<ClaimWord(double)>& word_at) {
  const ClaimWord word = word_at(estimate.low);
  return word == word_at(estimate.high) ? word : ClaimWord::kUndecided;
}

ClaimWord Judge(const Estimate& estimate, AtMost claimed) {
  if (claimed.limit == 1 && IsTie(estimate))
    return claimed.beyond ? ClaimWord::kDoesNotHold : ClaimWord::kHolds;
  return Judge(estimate, [&](double ratio) {
    const bool holds = claimed.beyond ? ratio < claimed.limit : ratio <= claimed.limit;
    return holds ? ClaimWord::kHolds : ClaimWord::kDoesNotHold;
  });
}

std::string RemarkOn(const Estimate& estimate, AtMost claimed) {
  if (claimed.limit == 1 && IsTie(estimate)) return ", level";
  return claimed.limit > 1 && Judge(estimate, claimed) == ClaimWord::kDoesNotHold ? ", worse" : "";
}

std::string RatioText(double ratio) {
  if (std::isinf(ratio)) return "∞";
  return ratio >= 1 && ratio < 1.1 ? fmt::format("{:.3f}", ratio) : output::SecondsDigits(ratio);
}

std::string IntervalText(const Estimate& estimate, double scale) {
  if (!estimate.sampled) return "";
  const std::string seeds = fmt::format(", {} seed{}", estimate.seeds, estimate.seeds == 1 ? "" : "s");
  if (estimate.open()) return seeds;
  return fmt::format(" [{}, {}]", RatioText(estimate.low * scale), RatioText(estimate.high * scale)) + seeds;
}

}  // namespace stowplan::tables
