#include "agents/comparison/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "agents/random_numbers.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::agents {
namespace {

constexpr int kResamples = 10'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Seeds = std::vector<std::int64_t>;

// As it enters a comparison.
struct Runtimes : SeededTimes {
  bool scarce = false;  // too few seeds: what its median stands for is not known
};
using Side = std::vector<Runtimes>;

Side SideOf(const std::vector<SeededTimes>& cells) {
  Side side;
  for (const SeededTimes& cell : cells) {
    STOWPLAN_CHECK(!cell.by_seed.empty());
    side.push_back({cell, cell.sampled && cell.by_seed.size() < kSeedsForClaim});
  }
  STOWPLAN_CHECK(!side.empty());
  return side;
}

// The seeds that every cell of both sides has that is sampled and, if asked, not scarce.
Seeds CommonSeeds(const Side& a, const Side& b, bool with_scarce) {
  std::map<std::int64_t, int> holders;
  int wanted = 0;
  for (const Side* side : {&a, &b}) {
    for (const Runtimes& cell : *side) {
      if (!cell.sampled || (cell.scarce && !with_scarce)) continue;
      ++wanted;
      for (const auto& [seed, runtime] : cell.by_seed) ++holders[seed];
    }
  }
  Seeds seeds;
  for (const auto& [seed, count] : holders) {
    if (count == wanted) seeds.push_back(seed);
  }
  return seeds;
}

double Ratio(double ours, double theirs) {
  if (ours == theirs) return 1;  // also where neither fits
  return theirs == 0 ? kInfinity : ours / theirs;
}

// Smallest median; a scarce cell counts with `assumed` if that is given.
double Best(const Side& side, const Seeds& seeds, std::optional<double> assumed = {}) {
  double best = kInfinity;
  for (const Runtimes& cell : side)
    best = std::min(best, cell.scarce && assumed ? *assumed : cell.MedianOver(seeds));
  return best;
}

// The 95th percentile of Student's t, from 2 degrees of freedom to 8.
constexpr double kStudent[] = {2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860};

double Student(int seeds) {
  const auto at = static_cast<std::size_t>(seeds - 3);
  return at < std::size(kStudent) ? kStudent[at] : 1.645 + 1.7 / (seeds - 1);  // within 0.5 %
}

// The lower (direction -1) or upper end (1) of Student's interval for the logarithms of positive values. Something that did
// not fit has no logarithm: then the end is 0 or infinity.
double StudentEnd(const std::vector<double>& values, int direction) {
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); }))
    return values.front();
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) {
    if (!(value > 0) || std::isinf(value)) return direction < 0 ? 0 : kInfinity;
    sum += std::log(value);
  }
  for (const double value : values) squares += std::pow(std::log(value) - sum / n, 2);
  return std::exp(sum / n +
                  direction * Student(static_cast<int>(values.size())) * std::sqrt(squares / (n - 1) / n));
}

// Of drawn seeds the value where what is not known is as good as it can be, and where it is as bad.
struct Ends {
  double low;
  double high;
};
using Statistic = std::function<Ends(const Seeds&)>;  // whatever the order of the seeds, but for rounding

// No seeds: their values.
void SetInterval(const Seeds& seeds, const Statistic& statistic, Estimate& estimate) {
  Rng rng(1, "bootstrap");
  std::vector<double> lows;
  std::vector<double> highs;
  const auto add = [&](const Ends& ends) {
    lows.push_back(ends.low);
    highs.push_back(ends.high);
  };
  std::map<Seeds, Ends> known;  // few seeds make few draws: 126 of five; of ten nearly all are new
  Seeds drawn(seeds.size());
  for (int i = 0; i < (seeds.empty() ? 1 : kResamples); ++i) {
    for (std::int64_t& seed : drawn) seed = rng.Pick(seeds);
    std::sort(drawn.begin(), drawn.end());
    const auto [at, is_new] = known.try_emplace(drawn);
    if (is_new) at->second = statistic(drawn);
    add(at->second);
  }
  std::sort(lows.begin(), lows.end());
  std::sort(highs.begin(), highs.end());
  const std::size_t cut = lows.size() / 20;
  estimate.low = lows[cut];
  estimate.high = highs[highs.size() - 1 - cut];
  if (seeds.empty() || seeds.size() >= kSeedsForBootstrap) return;
  lows.clear();
  highs.clear();
  for (const std::int64_t seed : seeds) add(statistic({seed}));
  estimate.low = std::min(estimate.low, StudentEnd(lows, -1));
  estimate.high = std::max(estimate.high, StudentEnd(highs, 1));
}

}  // namespace

double SeededTimes::MedianOver(const std::vector<std::int64_t>& seeds) const {
  if (!sampled || seeds.empty()) return by_seed.begin()->second;
  std::vector<double> values;
  values.reserve(seeds.size());
  for (const std::int64_t seed : seeds) values.push_back(by_seed.at(seed));
  return Median(std::move(values));
}

Estimate EstimateRatio(const std::vector<SeededTimes>& ours, const std::vector<SeededTimes>& theirs) {
  Side a = SideOf(ours);
  Side b = SideOf(theirs);
  Estimate estimate;
  Seeds seeds = CommonSeeds(a, b, true);
  estimate.seeds = static_cast<int>(seeds.size());
  for (const Side* side : {&a, &b}) {
    for (const Runtimes& cell : *side) estimate.sampled |= cell.sampled;
  }
  if (!estimate.unpaired()) estimate.value = Ratio(Best(a, seeds), Best(b, seeds));
  seeds = CommonSeeds(a, b, false);
  const auto rules_alone = [](Side side) {
    for (Runtimes& cell : side) cell.scarce = cell.sampled;
    return side;
  };
  const Side rules_a = rules_alone(a);
  const Side rules_b = rules_alone(b);
  if (seeds.size() < kSeedsForClaim) {  // or they were run with different ones
    a = rules_a;
    b = rules_b;
    seeds.clear();
  }
  const auto ends = [](const Side& of, const Side& over, const Seeds& drawn) {
    return Ends{Ratio(Best(of, drawn, 0), Best(over, drawn, kInfinity)),
                Ratio(Best(of, drawn, kInfinity), Best(over, drawn, 0))};
  };
  SetInterval(
      seeds, [&](const Seeds& drawn) { return ends(a, b, drawn); }, estimate);
  // What the rules' cells alone decide no seed can change.
  const Ends of_rules = ends(rules_a, rules_b, {});
  estimate.low = std::max(estimate.low, of_rules.low);
  estimate.high = std::min(estimate.high, of_rules.high);
  return estimate;
}

Estimate EstimateOver(const std::vector<SeededTimes>& cells,
                      const std::function<double(const Seeds&)>& statistic) {
  const Side side = SideOf(cells);
  const Seeds seeds = CommonSeeds(side, {}, true);
  Estimate estimate{.sampled = true, .seeds = static_cast<int>(seeds.size())};
  if (!estimate.unpaired()) estimate.value = statistic(seeds);
  if (estimate.open()) {
    estimate.low = 0;
    estimate.high = kInfinity;
  } else {
    const auto ends = [&](const Seeds& drawn) {
      const double value = statistic(drawn);
      return Ends{value, value};
    };
    SetInterval(seeds, ends, estimate);
  }
  return estimate;
}

Estimate EstimateMeanRatio(const TimesPairs& pairs, bool over_pairs) {
  std::vector<SeededTimes> cells;
  for (const auto& [ours, theirs] : pairs) cells.insert(cells.end(), {ours, theirs});
  const Side side = SideOf(cells);  // ours and theirs by turns
  const auto ratios = [&](const Seeds& seeds) {
    std::vector<double> values;
    for (std::size_t i = 0; i < side.size(); i += 2)
      values.push_back(Ratio(side[i].MedianOver(seeds), side[i + 1].MedianOver(seeds)));
    return values;
  };
  const auto mean = [&](const Seeds& seeds) { return GeometricMean(ratios(seeds)); };
  // Not a number where ours does not fit in one pair and theirs not in another.
  const auto ends = [&](const Seeds& seeds) {
    const double value = mean(seeds);
    return std::isnan(value) ? Ends{0, kInfinity} : Ends{value, value};
  };
  const Seeds seeds = CommonSeeds(side, {}, true);
  Estimate estimate{.sampled = std::ranges::any_of(side, &Runtimes::sampled),
                    .seeds = static_cast<int>(seeds.size())};
  if (!estimate.unpaired()) estimate.value = mean(seeds);
  // Each fits in the median of its own seeds, and perhaps not in that of those that all have.
  if (estimate.open() || !std::isfinite(estimate.value)) {
    estimate.low = 0;
    estimate.high = kInfinity;
    return estimate;
  }
  SetInterval(seeds, ends, estimate);
  if (over_pairs) {
    const Estimate of_pairs = EstimateMean(ratios(seeds));
    estimate.low = std::min(estimate.low, of_pairs.low);
    estimate.high = std::max(estimate.high, of_pairs.high);
  }
  return estimate;
}

double GeometricMean(const std::vector<double>& values) {
  STOWPLAN_CHECK(!values.empty());
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

Estimate EstimateMean(const std::vector<double>& ratios) {
  STOWPLAN_CHECK(!ratios.empty());
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  const auto mean = [](const std::vector<double>& values) {
    return std::exp(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
  };
  Estimate estimate{.value = mean(logs), .sampled = true};
  Rng rng(1, "bootstrap");
  std::vector<double> means, drawn(logs.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& log : drawn) log = rng.Pick(logs);
    means.push_back(mean(drawn));
  }
  std::sort(means.begin(), means.end());
  const std::size_t cut = means.size() / 20;
  estimate.low = means[cut];
  estimate.high = means[means.size() - 1 - cut];
  return estimate;
}

bool IsTie(const Estimate& estimate) {
  return estimate.low >= 1 - kTie && estimate.low <= 1 && estimate.high >= 1 && estimate.high <= 1 + kTie;
}

std::optional<int> SeedsToDecide(const Estimate& estimate, double limit) {
  if (!estimate.sampled || estimate.open() || !(estimate.low > 0) || std::isinf(estimate.high)) return {};
  const double distance = std::abs(std::log(estimate.value / limit));
  const double reach = estimate.value < limit ? std::log(estimate.high / estimate.value)
                                              : std::log(estimate.value / estimate.low);
  const auto width = [](int seeds) { return Student(seeds) / std::sqrt(seeds); };
  for (int seeds = estimate.seeds + 1; seeds <= kMostSeeds; ++seeds) {
    if (reach * width(seeds) / width(estimate.seeds) < distance) return seeds;
  }
  return {};
}

}  // namespace stowplan::agents
