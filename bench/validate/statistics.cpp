#include "bench/validate/statistics.h"

#include <algorithm>
#include <cmath>

#include "sim/error.h"

namespace berth::bench {

double Quantile(std::vector<double> values, double q) {
  BERTH_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double Spread(const std::vector<double>& values) {
  const double median = Quantile(values, 0.5);
  if (median == 0) return 0;
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  return Quantile(deviations, 0.5) / median;
}

RankCorrelation KendallTauB(const std::vector<double>& measured, const std::vector<double>& predicted,
                            const std::vector<double>& margin) {
  BERTH_CHECK_EQ(measured.size(), predicted.size());
  BERTH_CHECK_EQ(measured.size(), margin.size());
  long long concordant = 0, discordant = 0, tied = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double truth = measured[i] - measured[j];
      if (truth == 0 || std::abs(truth) <= std::max(margin[i], margin[j])) continue;
      const double claim = predicted[i] - predicted[j];
      if (claim == 0) {
        ++tied;
      } else {
        ++((claim > 0) == (truth > 0) ? concordant : discordant);
      }
    }
  }
  const auto ranked = static_cast<double>(concordant + discordant);
  if (ranked == 0) return {0, tied};
  // No pair is tied in what was measured, so of tau-b's two corrections one is left.
  return {
      static_cast<double>(concordant - discordant) / std::sqrt(ranked * (ranked + static_cast<double>(tied))),
      concordant + discordant + tied};
}

}  // namespace berth::bench
