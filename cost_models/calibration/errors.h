// How far predictions are from measurements, and small statistics that fits share. Same bits on every machine.
#pragma once

#include <utility>
#include <vector>

#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

// Of (measured, predicted) pairs, both positive. Errors are |predicted / measured - 1|.
struct ErrorSummary {
  std::size_t n = 0;
  double mape = 0;  // mean
  double median = 0;
  double p95 = 0;
  double time_weighted = 0;  // sum of |predicted - measured| / sum of measured
};
ErrorSummary Errors(const std::vector<std::pair<double, double>>& pairs);

// Root mean square of ln(predicted / measured); 0 of nothing.
double RmsLog(const std::vector<std::pair<double, double>>& pairs);

// The value at which half of the weight is reached. Not empty; weights positive.
double WeightedMedian(std::vector<std::pair<double, double>> values_and_weights);

// Six significant digits: no measurement has more, and files stay readable.
double Rounded(double value);

}  // namespace stowplan::cost_models
