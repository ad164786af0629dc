// What a probe keeps of its repeats: the same summary that profiler/pytorch writes.
#pragma once

#include <vector>

#include "sim/op_graph.h"

namespace stowplan::profiler {

// {count, median_us, mad_us, p05_us, p95_us, min_us}: mad_us is the median absolute deviation, not scaled to a
// sigma, and null with fewer than three samples. `samples_us` must not be empty.
sim::Attributes Summarise(const std::vector<double>& samples_us);

}  // namespace stowplan::profiler
