#include "profiler/statistics.h"

#include <algorithm>
#include <cmath>

#include "sim/base/statistics.h"

namespace stowplan::profiler {

sim::Attributes Summarise(const std::vector<double>& samples_us) {
  const auto rounded = [](double value) { return sim::Attribute{std::round(value * 1e4) / 1e4}; };
  const double median = Quantile(samples_us, 0.5);
  sim::Attribute spread;
  if (samples_us.size() >= 3) {
    std::vector<double> distances;
    for (const double sample : samples_us) distances.push_back(std::abs(sample - median));
    spread = rounded(Quantile(std::move(distances), 0.5));
  }
  return {{"count", {static_cast<std::int64_t>(samples_us.size())}},
          {"median_us", rounded(median)},
          {"mad_us", spread},
          {"p05_us", rounded(Quantile(samples_us, 0.05))},
          {"p95_us", rounded(Quantile(samples_us, 0.95))},
          {"min_us", rounded(*std::min_element(samples_us.begin(), samples_us.end()))}};
}

}  // namespace stowplan::profiler
