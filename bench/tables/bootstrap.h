// How sure a comparison of two cells is: the 90 % interval of docs/protocol.md#statistics.
//
// Percentile bootstrap over seeds (Efron, Tibshirani: An Introduction to the Bootstrap, 1993, 13.3): the
// seeds are drawn anew with replacement, the same draw for every cell because a seed gives all agents the
// same start and groups; the interval is what lies between the 5th and the 95th percentile of the ratios.
// Percentiles are taken by rank, so they are the same on a log scale. The draws have a fixed seed of their
// own: the same rows give the same interval everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bench/tables/results.h"

namespace berth::bench {

// With fewer seeds nothing that depends on a sampled agent is decided,
inline constexpr int kSeedsForClaim = 3;
// with fewer than these no difference by less than a factor of 1.3: of three seeds the interval
// of a median is nearly the smallest and the largest, and leaves out what is true one time in four.
inline constexpr int kSeedsForSmallDifference = 10;
inline constexpr double kSmallDifference = 1.3;

struct Estimate {
  double value = 1;  // the ratio over the seeds that were run
  double low = 1;    // 90 % interval; where seeds are too few, all that the rules' cells leave possible
  double high = 1;
  double least = 0;  // what the rules' cells alone leave possible, whatever the seeds find
  double most = std::numeric_limits<double>::infinity();
  bool sampled = false;  // false: rules alone, which are exact
  int seeds = 0;         // that all sampled cells have

  bool open() const { return sampled && seeds < kSeedsForClaim; }
};

// (smallest median of `ours`) / (smallest median of `theirs`). A seed that found nothing feasible counts as
// infinitely slow; both infinite = 1. Cells that were not run do not enter; each side has one that was.
Estimate EstimateRatio(const std::vector<const CellSummary*>& ours,
                       const std::vector<const CellSummary*>& theirs);

// Any statistic of sampled cells that are paired by seed: its value over the seeds that all of them have, and
// the interval over draws of these seeds. With fewer than kSeedsForClaim the interval is all there is: 0 to
// infinity. Each cell was run; there is a common seed.
Estimate EstimateOver(const std::vector<const CellSummary*>& cells,
                      const std::function<double(const std::vector<std::int64_t>& seeds)>& statistic);

double GeometricMean(const std::vector<double>& values);  // all positive, at least one

// The geometric mean of ratios of many graphs, with the interval over graphs, which says
// nothing of other seeds. All positive, at least one. `seeds`: behind each of them, where the mean is judged.
Estimate EstimateMean(const std::vector<double>& ratios, int seeds = 0);

// What is said at both ends of the interval, undecided where they differ. With fewer than
// kSeedsForSmallDifference seeds the ends are at least kSmallDifference from the value, as far as the rules'
// cells leave that possible. `word_at` is monotone.
ClaimWord Judge(const Estimate& estimate, const std::function<ClaimWord(double ratio)>& word_at);

std::string RatioText(double ratio);  // "0.943", "∞"

// " [0.91, 0.97], 3 seeds"; ", 1 seed" where there is no interval; nothing for rules. The interval's ends are
// multiplied by `scale`.
std::string IntervalText(const Estimate& estimate, double scale = 1);

}  // namespace berth::bench
