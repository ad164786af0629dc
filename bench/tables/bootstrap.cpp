#include "bench/tables/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "agents/random.h"
#include "bench/console.h"
#include "sim/error.h"

namespace berth::bench {
namespace {

constexpr int kResamples = 10'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Cells = std::vector<const CellSummary*>;
using Seeds = std::vector<std::int64_t>;

// Runtimes [s] of one cell by seed; a rule's cell has one, whatever the seed.
struct Runtimes {
  bool sampled = false;
  bool open = false;  // too few seeds: what its median stands for is not known
  std::map<std::int64_t, double> by_seed;

  double MedianOver(const Seeds& seeds) const {
    if (!sampled || seeds.empty()) return by_seed.begin()->second;
    std::vector<double> values;
    values.reserve(seeds.size());
    for (const std::int64_t seed : seeds) values.push_back(by_seed.at(seed));
    return MedianByRank(std::move(values));
  }
};
using Side = std::vector<Runtimes>;

Side SideOf(const Cells& cells) {
  Side side;
  for (const CellSummary* cell : cells) {
    if (!cell->was_run()) continue;
    Runtimes& runtimes = side.emplace_back();
    runtimes.sampled = cell->sampled;
    runtimes.open = cell->sampled && cell->seeds < kSeedsForClaim;
    for (const CellRecord& record : cell->records)
      runtimes.by_seed[record.seed] = record.runtime_us ? *record.runtime_us / 1e6 : kInfinity;
  }
  BERTH_CHECK(!side.empty());
  return side;
}

// The seeds that every cell of both sides has that is sampled and, if asked, not open.
Seeds CommonSeeds(const Side& a, const Side& b, bool with_open) {
  std::map<std::int64_t, int> holders;
  int wanted = 0;
  for (const Side* side : {&a, &b}) {
    for (const Runtimes& cell : *side) {
      if (!cell.sampled || (cell.open && !with_open)) continue;
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

// Smallest median; an open cell counts with `open`.
double Best(const Side& side, const Seeds& seeds, double open) {
  double best = kInfinity;
  for (const Runtimes& cell : side) best = std::min(best, cell.open ? open : cell.MedianOver(seeds));
  return best;
}

}  // namespace

Estimate EstimateRatio(const Cells& ours, const Cells& theirs) {
  Side a = SideOf(ours);
  Side b = SideOf(theirs);
  Estimate estimate;
  Seeds seeds = CommonSeeds(a, b, true);
  estimate.seeds = static_cast<int>(seeds.size());
  for (const Side* side : {&a, &b}) {
    for (const Runtimes& cell : *side) estimate.sampled |= cell.sampled;
  }
  const auto value = [&seeds](const Side& side) {
    double best = kInfinity;
    for (const Runtimes& cell : side) best = std::min(best, cell.MedianOver(seeds));
    return best;
  };
  estimate.value = Ratio(value(a), value(b));
  seeds = CommonSeeds(a, b, false);
  const auto all_open = [](Side side) {
    for (Runtimes& cell : side) cell.open = cell.sampled;
    return side;
  };
  const Side any_a = all_open(a);
  const Side any_b = all_open(b);
  if (seeds.size() < kSeedsForClaim) {  // or they were run with different ones
    a = any_a;
    b = any_b;
    seeds.clear();
  }
  estimate.least = Ratio(Best(any_a, {}, 0), Best(any_b, {}, kInfinity));
  estimate.most = Ratio(Best(any_a, {}, kInfinity), Best(any_b, {}, 0));
  agents::Rng rng(1, "bootstrap");
  std::vector<double> lows;
  std::vector<double> highs;
  Seeds drawn(seeds.size());
  for (int i = 0; i < (seeds.empty() ? 1 : kResamples); ++i) {
    for (std::int64_t& seed : drawn) seed = rng.Pick(seeds);
    lows.push_back(Ratio(Best(a, drawn, 0), Best(b, drawn, kInfinity)));
    highs.push_back(Ratio(Best(a, drawn, kInfinity), Best(b, drawn, 0)));
  }
  std::sort(lows.begin(), lows.end());
  std::sort(highs.begin(), highs.end());
  const std::size_t cut = lows.size() / 20;
  estimate.low = lows[cut];
  estimate.high = highs[highs.size() - 1 - cut];
  return estimate;
}

Estimate EstimateOver(const Cells& cells, const std::function<double(const Seeds&)>& statistic) {
  const Side side = SideOf(cells);
  const Seeds seeds = CommonSeeds(side, {}, true);
  BERTH_CHECK(!seeds.empty());
  Estimate estimate{.value = statistic(seeds), .sampled = true, .seeds = static_cast<int>(seeds.size())};
  if (estimate.open()) {
    estimate.low = 0;
    estimate.high = kInfinity;
    return estimate;
  }
  agents::Rng rng(1, "bootstrap");
  std::vector<double> values;
  Seeds drawn(seeds.size());
  for (int i = 0; i < kResamples; ++i) {
    for (std::int64_t& seed : drawn) seed = rng.Pick(seeds);
    values.push_back(statistic(drawn));
  }
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 20;
  estimate.low = values[cut];
  estimate.high = values[values.size() - 1 - cut];
  return estimate;
}

double GeometricMean(const std::vector<double>& values) {
  BERTH_CHECK(!values.empty());
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

Estimate EstimateMean(const std::vector<double>& ratios, int seeds) {
  BERTH_CHECK(!ratios.empty());
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  const auto mean = [](const std::vector<double>& values) {
    return std::exp(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
  };
  Estimate estimate{.value = mean(logs), .sampled = true, .seeds = seeds};
  agents::Rng rng(1, "bootstrap");
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

ClaimWord Judge(const Estimate& estimate, const std::function<ClaimWord(double)>& word_at) {
  double low = estimate.low;
  double high = estimate.high;
  if (estimate.sampled && estimate.seeds < kSeedsForSmallDifference) {
    low = std::max(estimate.least, std::min(low, estimate.value / kSmallDifference));
    high = std::min(estimate.most, std::max(high, estimate.value * kSmallDifference));
  }
  const ClaimWord word = word_at(low);
  return word == word_at(high) ? word : ClaimWord::kUndecided;
}

std::string RatioText(double ratio) {
  return std::isinf(ratio) ? "∞" : SecondsDigits(ratio);
}

std::string IntervalText(const Estimate& estimate, double scale) {
  if (!estimate.sampled) return "";
  const std::string seeds = fmt::format(", {} seed{}", estimate.seeds, estimate.seeds == 1 ? "" : "s");
  if (estimate.open()) return seeds;
  return fmt::format(" [{}, {}]", RatioText(estimate.low * scale), RatioText(estimate.high * scale)) + seeds;
}

}  // namespace berth::bench
