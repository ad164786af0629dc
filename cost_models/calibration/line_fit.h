// The lines of cpu_line.h from measured ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_models/ops/cpu_line.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

struct LineSample {
  OpWork work;
  double us = 0;      // median of the repeats, positive
  double spread = 0;  // of the repeats, relative
  int group = 0;      // samples of one group are held out together: of a shape, or of a workload
};

// One line for each family and number format with kLeastLineSamples or more: least relative errors, each weighted with 1 /
// its size so that half of the samples decide, none of the numbers below 0, the call at most 5 us. The cache is that power of two from 64 KiB to
// 64 MiB with the least errors over all families. The intervals come from held-out samples. Deterministic; sums,
// products and quotients alone.
inline constexpr std::size_t kLeastLineSamples = 5;
CpuLines FitCpuLines(const std::vector<LineSample>& samples);

// For each sample, in the order given, what lines say that have not seen its group; groups are held out `folds` ways, the
// g-th with all that are equal to it modulo `folds`, those below 0 never. 0 where the others make no line of its family.
std::vector<double> HeldOutLineMicros(const std::vector<LineSample>& samples, int folds);

}  // namespace stowplan::cost_models
