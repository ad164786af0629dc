// Medians, quantiles and rank correlation: the one place that says what each word means here. No values = abort.
#pragma once

#include <vector>

namespace stowplan {

// Of an even number of values the mean of the two in the middle, infinite where one of them is.
double Median(std::vector<double> values);

// By linear interpolation between the order statistics.
double Quantile(std::vector<double> values, double q);
// The order statistic at or below that place: a value that is there.
double QuantileByRank(std::vector<double> values, double q);
// The value below which the share `q` of future samples lies, from n exchangeable ones: order statistic
// ⌈(n + 1) q⌉, clamped to what there is.
double ConformalQuantile(std::vector<double> values, double q);

// Median absolute deviation over the size of the median; 0 where the median is.
double Spread(const std::vector<double>& values);

struct RankCorrelation {
  double tau_b = 0;     // 0 where either side has no order
  long long pairs = 0;  // that are far enough apart
};
// Kendall's tau-b of `predicted` against `measured` over the pairs whose measured values are further apart than
// both `margin`s [same unit].
RankCorrelation KendallTauB(const std::vector<double>& measured, const std::vector<double>& predicted,
                            const std::vector<double>& margin);

// The tau-b of `first` against `second`, two measurements of the same, over the pairs that KendallTauB() takes from
// `measured` and `margin`.
RankCorrelation KendallTauB(const std::vector<double>& first, const std::vector<double>& second,
                            const std::vector<double>& measured, const std::vector<double>& margin);

// Over all pairs.
RankCorrelation KendallTauB(const std::vector<double>& first, const std::vector<double>& second);

// What noise leaves of a tau: the most that the true order can be expected to reach against one of two measurements
// whose tau is `between`. With independent errors a pair is in the same order in both where both have it right or both
// wrong, so that over alike pairs the tau between them is the square of the tau of each against the truth; where pairs
// differ the root is an upper bound (Jensen). 0 where they do not agree at all.
double TauCeiling(double between);

}  // namespace stowplan
