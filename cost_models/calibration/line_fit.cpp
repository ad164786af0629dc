#include "cost_models/calibration/line_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "cost_models/calibration/errors.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

constexpr int kFolds = 5;
constexpr int kTerms = 5;
constexpr int kRounds = 12;  // of weights
constexpr int kSweeps = 30;  // of coordinates in each
constexpr double kMostNumber = 1e12;
constexpr double kLeastError = 0.02;  // below it an error counts as this much
constexpr sim::Bytes kLeastCache = sim::Bytes{64} << 10, kMostCache = sim::Bytes{64} << 20;

// Of a call: entering a library and leaving it takes 0.1 to 2 us here. Without a bound, where all that was measured is
// large, the call takes what the slopes leave over, and small ops come out a hundred times too long.
constexpr double kMostCall = 5;

using Terms = std::array<double, kTerms>;
using OpFamily = std::pair<std::string_view, std::string_view>;  // and number format
using Families = std::map<OpFamily, std::vector<const LineSample*>>;

Terms TermsOf(const OpWork& work, sim::Bytes cache) {
  return {1, 1e-6 * work.flops, 1e-6 * work.elements, 1e-6 * work.bytes,
          1e-6 * std::max(0.0, work.bytes - static_cast<double>(cache))};
}

double Micros(const Terms& numbers, const Terms& terms) {
  double us = 0;
  for (std::size_t i = 0; i < kTerms; ++i) us += numbers[i] * terms[i];
  return us;
}

// Coordinate descent on the normal equations of relative errors, reweighted: minimises about the sum of |error|.
Terms Solve(const std::vector<const LineSample*>& samples, sim::Bytes cache) {
  std::vector<Terms> shares;  // of the measured time, for each unit of the numbers
  for (const LineSample* sample : samples) {
    shares.push_back(TermsOf(sample->work, cache));
    for (double& share : shares.back()) share /= sample->us;
  }
  Terms numbers{};
  std::vector<double> weights(samples.size(), 1);
  for (int round = 0; round < kRounds; ++round) {
    std::array<Terms, kTerms> products{};
    Terms sums{};
    for (std::size_t s = 0; s < shares.size(); ++s) {
      for (std::size_t i = 0; i < kTerms; ++i) {
        sums[i] += weights[s] * shares[s][i];
        for (std::size_t j = 0; j < kTerms; ++j) products[i][j] += weights[s] * shares[s][i] * shares[s][j];
      }
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t i = 0; i < kTerms; ++i) {
        if (products[i][i] <= 0) continue;
        const double rest = Micros(numbers, products[i]) - numbers[i] * products[i][i];
        numbers[i] = std::clamp((sums[i] - rest) / products[i][i], 0.0, i == 0 ? kMostCall : kMostNumber);
      }
    }
    for (std::size_t s = 0; s < shares.size(); ++s)
      weights[s] = 1 / std::max(kLeastError, std::abs(Micros(numbers, shares[s]) - 1));
  }
  return numbers;
}

Families ByFamily(const std::vector<LineSample>& samples, int folds, int left_out) {
  Families families;
  for (const LineSample& sample : samples) {
    if (folds > 0 && sample.group % folds == left_out) continue;
    families[{sample.work.family, sample.work.dtype}].push_back(&sample);
  }
  std::erase_if(families, [](const auto& family) { return family.second.size() < kLeastLineSamples; });
  return families;
}

struct Fitted {
  sim::Bytes cache = kLeastCache;
  std::map<OpFamily, Terms> numbers;
};

Fitted FitAll(const Families& families) {
  Fitted best;
  double least = std::numeric_limits<double>::infinity();
  for (sim::Bytes cache = kLeastCache; cache <= kMostCache; cache *= 2) {
    Fitted fitted{cache, {}};
    double errors = 0;
    for (const auto& [family, samples] : families) {
      const Terms& numbers = fitted.numbers[family] = Solve(samples, cache);
      for (const LineSample* sample : samples)
        errors += std::abs(Micros(numbers, TermsOf(sample->work, cache)) / sample->us - 1);
    }
    if (errors < least) {
      least = errors;
      best = std::move(fitted);
    }
  }
  return best;
}

}  // namespace

std::vector<double> HeldOutLineMicros(const std::vector<LineSample>& samples, int folds) {
  std::vector<double> predicted(samples.size(), 0);
  for (int fold = 0; fold < folds; ++fold) {
    const Fitted fitted = FitAll(ByFamily(samples, folds, fold));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].group % folds != fold) continue;
      const auto found = fitted.numbers.find({samples[i].work.family, samples[i].work.dtype});
      if (found != fitted.numbers.end())
        predicted[i] = Micros(found->second, TermsOf(samples[i].work, fitted.cache));
    }
  }
  return predicted;
}

CpuLines FitCpuLines(const std::vector<LineSample>& samples) {
  const Families families = ByFamily(samples, 0, 0);
  const Fitted fitted = FitAll(families);
  const std::vector<double> held_out = HeldOutLineMicros(samples, kFolds);
  CpuLines made{.cache_bytes = fitted.cache, .lines = {}};
  for (const auto& [family, of_family] : families) {
    const Terms& numbers = fitted.numbers.at(family);
    CpuLine line{.family = std::string(family.first),
                 .dtype = std::string(family.second),
                 .call_us = Rounded(numbers[0]),
                 .us_per_mflop = Rounded(numbers[1]),
                 .us_per_mega_elements = Rounded(numbers[2]),
                 .us_per_mb = Rounded(numbers[3]),
                 .far_us_per_mb = Rounded(numbers[4])};
    std::vector<double> ratios, spreads;
    std::vector<std::pair<double, double>> pairs;
    std::pair<double, double> range = {INFINITY, 0};
    for (const LineSample* sample : of_family) {
      spreads.push_back(sample->spread);
      range = {std::min(range.first, sample->work.bytes), std::max(range.second, sample->work.bytes)};
      const double us = held_out[static_cast<std::size_t>(sample - samples.data())];
      if (us <= 0) continue;
      ratios.push_back(sample->us / us);
      pairs.emplace_back(sample->us, us);
    }
    if (!ratios.empty()) {
      line.low_ratio = std::min(1.0, Rounded(Quantile(ratios, 0.05)));
      line.high_ratio = std::max(1.0, Rounded(Quantile(ratios, 0.95)));
    }
    line.evidence = {.samples = static_cast<std::int64_t>(of_family.size()),
                     .spread = Rounded(Quantile(spreads, 0.5)),
                     .fit_error = Rounded(RmsLog(pairs)),
                     .range = range};
    made.lines.push_back(std::move(line));
  }
  return made;
}

}  // namespace stowplan::cost_models
