#include "sim/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "sim/base/error.h"

namespace stowplan {

double Median(std::vector<double> values) {
  STOWPLAN_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Quantile(std::vector<double> values, double q) {
  STOWPLAN_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
}

double QuantileByRank(std::vector<double> values, double q) {
  STOWPLAN_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

double ConformalQuantile(std::vector<double> values, double q) {
  STOWPLAN_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(static_cast<double>(values.size() + 1) * q);
  const auto at = static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(values.size())));
  return values[at - 1];
}

double Spread(const std::vector<double>& values) {
  const double median = Quantile(values, 0.5);
  if (median == 0) return 0;
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  return Quantile(deviations, 0.5) / std::abs(median);
}

RankCorrelation KendallTauB(const std::vector<double>& measured, const std::vector<double>& predicted,
                            const std::vector<double>& margin) {
  return KendallTauB(measured, predicted, measured, margin);
}

RankCorrelation KendallTauB(const std::vector<double>& first, const std::vector<double>& second,
                            const std::vector<double>& measured, const std::vector<double>& margin) {
  STOWPLAN_CHECK_EQ(measured.size(), first.size());
  STOWPLAN_CHECK_EQ(measured.size(), second.size());
  STOWPLAN_CHECK_EQ(measured.size(), margin.size());
  long long concordant = 0, discordant = 0, tied_first = 0, tied_second = 0, pairs = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double apart = std::abs(measured[i] - measured[j]);
      if (apart == 0 || apart <= std::max(margin[i], margin[j])) continue;
      ++pairs;
      const double a = first[i] - first[j], b = second[i] - second[j];
      tied_first += a == 0 ? 1 : 0;
      tied_second += b == 0 ? 1 : 0;
      if (a != 0 && b != 0) ++((a > 0) == (b > 0) ? concordant : discordant);
    }
  }
  const auto untied = [pairs](long long tied) { return static_cast<double>(pairs - tied); };
  const double ranked = std::sqrt(untied(tied_first) * untied(tied_second));
  return {ranked == 0 ? 0 : static_cast<double>(concordant - discordant) / ranked, pairs};
}

RankCorrelation KendallTauB(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> each(first.size());
  std::iota(each.begin(), each.end(), 0.0);
  return KendallTauB(first, second, each, std::vector<double>(first.size(), 0));
}

double TauCeiling(double between) {
  return std::sqrt(std::max(0.0, between));
}

}  // namespace stowplan
