#include "agents/rl/policy.h"

#include <ATen/ATen.h>

#include "sim/error.h"

namespace berth::agents::rl {

Draws Draws::Slice(std::int64_t first, std::int64_t count) const {
  Draws slice;
  slice.placements.assign(placements.begin() + first, placements.begin() + first + count);
  for (const Decisions& kind : kinds) {
    const std::int64_t k = kind.draws_per_row;
    BERTH_CHECK_EQ(first % k, 0);
    BERTH_CHECK_EQ(count % k, 0);
    const auto rows = [&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.slice(0, first / k, (first + count) / k) : tensor;
    };
    slice.kinds.push_back({rows(kind.actions), rows(kind.log_probability), rows(kind.noise), k});
  }
  return slice;
}

}  // namespace berth::agents::rl
