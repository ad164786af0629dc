// How sure a comparison of two cells is: the 90 % interval of docs/protocol.md#statistics.
//
// Percentile bootstrap over seeds (Efron, Tibshirani: An Introduction to the Bootstrap, 1993, 13.3): the
// seeds are drawn anew with replacement, the same draw for every cell because a seed gives all agents the
// same start and groups; the interval is what lies between the 5th and the 95th percentile of the ratios.
// Percentiles are taken by rank, so they are the same on a log scale. The draws have a fixed seed of their
// own: the same rows give the same interval everywhere. Of fewer than ten seeds the percentiles are nearly the smallest and
// the largest and miss too often; there the interval also reaches as far as Student's does for the logarithms of what each
// seed says alone. How often both hold the ratio of ten seeds: tables/studies/intervals.py.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tables/results.h"

namespace stowplan::tables {

// With fewer seeds nothing that depends on a sampled agent is decided,
inline constexpr int kSeedsForClaim = 3;
// with fewer than these the interval also has to hold Student's.
inline constexpr int kSeedsForBootstrap = 10;

struct Estimate {
  double value = 1;  // the ratio over the seeds that were run
  double low = 1;    // 90 % interval; where seeds are too few, all that the rules' cells leave possible
  double high = 1;
  bool sampled = false;  // false: rules alone, which are exact
  int seeds = 0;         // that all sampled cells have

  bool open() const { return sampled && seeds < kSeedsForClaim; }
  bool unpaired() const { return sampled && seeds == 0; }
};

// (smallest median of `ours`) / (smallest median of `theirs`). A seed that found nothing feasible counts as
// infinitely slow; both infinite = 1. Cells that were not run do not enter; each side has one that was.
Estimate EstimateRatio(const std::vector<const CellSummary*>& ours,
                       const std::vector<const CellSummary*>& theirs);

// Any statistic of sampled cells that are paired by seed: its value over the seeds that all of them have, and
// the interval over draws of these seeds. With fewer than kSeedsForClaim the interval is all there is: 0 to
// infinity; without a common seed there is no value either (unpaired). Each cell was run. The statistic depends on which
// seeds it is given, not on their order: a draw is computed once.
Estimate EstimateOver(const std::vector<const CellSummary*>& cells,
                      const std::function<double(const std::vector<std::int64_t>& seeds)>& statistic);

// The geometric mean over pairs of cells of (median of the first) / (median of the second); all pairs have the same draw of
// seeds. `over_pairs`: they are drawn from more, so that the interval also holds that over pairs (EstimateMean). Each
// cell was run, and fits in the median of its seeds.
using CellPairs = std::vector<std::pair<const CellSummary*, const CellSummary*>>;
Estimate EstimateMeanRatio(const CellPairs& pairs, bool over_pairs);

double GeometricMean(const std::vector<double>& values);  // all positive, at least one

// The geometric mean of ratios of many graphs, with the interval over graphs, which says
// nothing of other seeds. All positive, at least one.
Estimate EstimateMean(const std::vector<double>& ratios);

// What is said at both ends of the interval, undecided where they differ. `word_at` is monotone.
ClaimWord Judge(const Estimate& estimate, const std::function<ClaimWord(double ratio)>& word_at);

// A tie: the interval holds 1 and nothing that is further from it than kTie.
inline constexpr double kTie = 0.01;
bool IsTie(const Estimate& estimate);

// What is claimed of a ratio: at most so much, `beyond`: and not equal. A tie is no slower (at most 1), and not faster.
struct AtMost {
  double limit = 1;
  bool beyond = false;
};
inline constexpr AtMost kFaster{1, true};
ClaimWord Judge(const Estimate& estimate, AtMost claimed);
// ", level" of a tie where that is judged, ", worse" where "as good as" does not hold; else nothing.
std::string RemarkOn(const Estimate& estimate, AtMost claimed);

// How many seeds would set the interval apart from a limit, were the ratio what it is: it narrows as Student's does. Nothing
// where more than kMostSeeds were needed, or where no seeds or no ends say it.
inline constexpr int kMostSeeds = 1'000;
std::optional<int> SeedsToDecide(const Estimate& estimate, double limit);

std::string RatioText(double ratio);  // "0.943", "1.004", "1.35", "∞": near 1 three decimals on both sides

// " [0.91, 0.97], 3 seeds"; ", 1 seed" where there is no interval; nothing for rules. The interval's ends are
// multiplied by `scale`.
std::string IntervalText(const Estimate& estimate, double scale = 1);

}  // namespace stowplan::tables
