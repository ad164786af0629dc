#include "cost_models/calibration/errors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {

ErrorSummary Errors(const std::vector<std::pair<double, double>>& pairs) {
  if (pairs.empty()) return {};
  std::vector<double> errors;
  double sum = 0, off = 0, total = 0;
  for (const auto& [measured, predicted] : pairs) {
    errors.push_back(std::abs(predicted / measured - 1));
    sum += errors.back();
    off += std::abs(predicted - measured);
    total += measured;
  }
  return {.n = pairs.size(),
          .mape = sum / static_cast<double>(pairs.size()),
          .median = Quantile(errors, 0.5),
          .p95 = Quantile(errors, 0.95),
          .time_weighted = off / total};
}

double RmsLog(const std::vector<std::pair<double, double>>& pairs) {
  if (pairs.empty()) return 0;
  double squares = 0;
  for (const auto& [measured, predicted] : pairs) {
    const double log = PortableLog(predicted / measured);
    squares += log * log;
  }
  return std::sqrt(squares / static_cast<double>(pairs.size()));
}

double WeightedMedian(std::vector<std::pair<double, double>> values) {
  STOWPLAN_CHECK(!values.empty());
  std::ranges::sort(values);
  double total = 0, seen = 0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values) {
    seen += weight;
    if (seen >= total / 2) return value;
  }
  return values.back().first;
}

double Rounded(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

}  // namespace stowplan::cost_models
