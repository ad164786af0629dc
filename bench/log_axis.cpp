#include "bench/log_axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace berth::bench {

void LogAxis::Add(std::optional<double> value) {
  if (!value || *value <= 0) return;
  low_ = std::min(low_, *value);
  high_ = std::max(high_, *value);
}

int LogAxis::first() const {
  return static_cast<int>(std::floor(std::log10(low_)));
}

double LogAxis::At(double value) const {
  return (std::log10(value) - first()) / span();
}

std::vector<int> LogAxis::decades() const {
  std::vector<int> exponents;
  for (int e = first(); e <= first() + span() + 1e-9; ++e) exponents.push_back(e);
  return exponents;
}

double LogAxis::span() const {
  const double decade = std::floor(std::log10(high_));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (high_ <= step * std::pow(10, decade) * (1 + 1e-9))
      return std::max(0.3, decade + std::log10(step) - first());
  }
  return decade + 1 - first();
}

std::string PowerText(int exponent) {
  return fmt::format("{:.{}f}", std::pow(10, exponent), std::max(0, -exponent));
}

}  // namespace berth::bench
