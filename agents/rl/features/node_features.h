// What graph encoders are told of a unit beside its op types, the same for all of them.
#pragma once

#include <cstdint>

#include "agents/classical/unit_graph.h"
#include "agents/rl/nn/tensors.h"
#include "agents/task.h"

namespace stowplan::agents::rl {

inline constexpr std::int64_t kNodeFeatures = 12;

// [units, kNodeFeatures]: bytes put out, flops, persistent bytes, first four sizes of first outputs (summed
// over a unit's ops), units it reads from and units that read it, cost on the machine's first GPU and on its
// first CPU (0 if it has none), all as log(1 + x); depth over the largest depth. Standardised over the units.
at::Tensor NodeFeatures(const Task& task, const UnitGraph& graph);

}  // namespace stowplan::agents::rl
