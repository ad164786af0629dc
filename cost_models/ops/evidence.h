// What stands behind a fitted number.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace stowplan::cost_models {

// How well a number is founded.
struct Evidence {
  std::int64_t samples = 0;  // measurements behind it, at least 1
  double spread = 0;         // median over samples of (median absolute deviation / median) of repeats
  double fit_error = 0;      // root mean square of ln(fitted / measured)
  // Least and largest work among the samples: flops of contractions, bytes of other classes. Empty: whole
  // steps.
  std::optional<std::pair<double, double>> range;
};

}  // namespace stowplan::cost_models
