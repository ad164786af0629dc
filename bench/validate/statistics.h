// The figures of accuracy: quantiles, spread, rank correlation.
#pragma once

#include <vector>

namespace berth::bench {

// Linear between order statistics; q in [0, 1], values not empty.
double Quantile(std::vector<double> values, double q);

// Median absolute deviation over median; 0 where the median is.
double Spread(const std::vector<double>& values);

struct RankCorrelation {
  double tau_b = 0;     // 0 where either side has no order
  long long pairs = 0;  // that are far enough apart
};
// Kendall's tau-b of `predicted` against `measured` over the pairs whose measured values are further apart than
// both `margin`s [same unit].
RankCorrelation KendallTauB(const std::vector<double>& measured, const std::vector<double>& predicted,
                            const std::vector<double>& margin);

}  // namespace berth::bench
