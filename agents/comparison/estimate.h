// How sure a comparison of two cells is: the 90 % interval of docs/protocol_rules.md#statistics.
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
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stowplan::agents {

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

// What one agent found on one problem [s], by seed; infinite = nothing fits. A rule has one, whatever the seed.
struct SeededTimes {
  bool sampled = false;
  std::map<std::int64_t, double> by_seed;  // one at least

  // Of a rule its one time.
  double MedianOver(const std::vector<std::int64_t>& seeds) const;
};

// (smallest median of `ours`) / (smallest median of `theirs`), each with one at least. A seed that found nothing feasible counts
// as infinitely slow; both infinite = 1.
Estimate EstimateRatio(const std::vector<SeededTimes>& ours, const std::vector<SeededTimes>& theirs);

// Any statistic of sampled cells that are paired by seed: its value over the seeds that all of them have, and
// the interval over draws of these seeds. With fewer than kSeedsForClaim the interval is all there is: 0 to
// infinity; without a common seed there is no value either (unpaired). The statistic depends on which
// seeds it is given, not on their order: a draw is computed once.
Estimate EstimateOver(const std::vector<SeededTimes>& cells,
                      const std::function<double(const std::vector<std::int64_t>& seeds)>& statistic);

// The geometric mean over pairs of (median of the first) / (median of the second); all pairs have the same draw of
// seeds. `over_pairs`: they are drawn from more, so that the interval also holds that over pairs (EstimateMean). Each fits in
// the median of its seeds.
using TimesPairs = std::vector<std::pair<SeededTimes, SeededTimes>>;
Estimate EstimateMeanRatio(const TimesPairs& pairs, bool over_pairs);

double GeometricMean(const std::vector<double>& values);  // all positive, at least one

// The geometric mean of ratios of many graphs, with the interval over graphs, which says
// nothing of other seeds. All positive, at least one.
Estimate EstimateMean(const std::vector<double>& ratios);

// A tie: the interval holds 1 and nothing that is further from it than kTie.
inline constexpr double kTie = 0.01;
bool IsTie(const Estimate& estimate);

// How many seeds would set the interval apart from a limit, were the ratio what it is: it narrows as Student's does. Nothing
// where more than kMostSeeds were needed, or where no seeds or no ends say it.
inline constexpr int kMostSeeds = 1'000;
std::optional<int> SeedsToDecide(const Estimate& estimate, double limit);

}  // namespace stowplan::agents
