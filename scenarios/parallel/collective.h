// Collectives of the symmetric form: of one rank, with `ranks` and `stride` of its group (layout.h).
#pragma once

#include <cstdint>
#include <string>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// The ranks of one dimension of the mesh that a rank meets: at p, p + stride, …
struct RankGroup {
  std::string name;  // "tensor", "data", …
  std::int64_t ranks = 1;
  std::int64_t stride = 1;
};

// One input, whose rank this is, and one output.
sim::Op CollectiveBeside(const sim::Op& of, const std::string& name, const std::string& type,
                         sim::TensorRef input, sim::Output output, const RankGroup& group);

}  // namespace stowplan::scenarios
