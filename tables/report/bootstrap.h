// Comparisons of a table's cells (agents/comparison/estimate.h), and the words that follow from them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agents/comparison/estimate.h"
#include "tables/results.h"

namespace stowplan::tables {

using agents::Estimate;
using agents::EstimateMean;
using agents::GeometricMean;
using agents::IsTie;
using agents::kMostSeeds;
using agents::kSeedsForBootstrap;
using agents::kSeedsForClaim;
using agents::kTie;
using agents::SeedsToDecide;

// As there. Cells that were not run do not enter; each side has one that was.
Estimate EstimateRatio(const std::vector<const CellSummary*>& ours,
                       const std::vector<const CellSummary*>& theirs);
Estimate EstimateOver(const std::vector<const CellSummary*>& cells,
                      const std::function<double(const std::vector<std::int64_t>& seeds)>& statistic);
using CellPairs = std::vector<std::pair<const CellSummary*, const CellSummary*>>;
Estimate EstimateMeanRatio(const CellPairs& pairs, bool over_pairs);

// What is said at both ends of the interval, undecided where they differ. `word_at` is monotone.
ClaimWord Judge(const Estimate& estimate, const std::function<ClaimWord(double ratio)>& word_at);

// What is claimed of a ratio: at most so much, `beyond`: and not equal. A tie is no slower (at most 1), and not faster.
struct AtMost {
  double limit = 1;
  bool beyond = false;
};
inline constexpr AtMost kFaster{1, true};
ClaimWord Judge(const Estimate& estimate, AtMost claimed);
// ", level" of a tie where that is judged, ", worse" where "as good as" does not hold; else nothing.
std::string RemarkOn(const Estimate& estimate, AtMost claimed);

std::string RatioText(double ratio);  // "0.943", "1.004", "1.35", "∞": near 1 three decimals on both sides

// " [0.91, 0.97], 3 seeds"; ", 1 seed" where there is no interval; nothing for rules. The interval's ends are
// multiplied by `scale`.
std::string IntervalText(const Estimate& estimate, double scale = 1);

}  // namespace stowplan::tables
