// What graph networks see of a unit besides the types of its ops (PROTOCOL 4.5).
#pragma once

#include "agents/rl/tensors.h"
#include "agents/task.h"

namespace berth::agents::rl {

// [units, 12]: output bytes, FLOPs, persistent bytes, first four dimensions of first outputs, in-degree,
// out-degree, depth over the largest depth, predicted cost on the first accelerator and on the first CPU
// (where there is none: the accelerator again). Log1p but for the depth, then standardised over the units.
inline constexpr std::int64_t kNodeFeatures = 12;
at::Tensor NodeFeatures(const Task& task);

}  // namespace berth::agents::rl
