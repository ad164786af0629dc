#include "agents/rl/policy.h"

#include <ATen/ATen.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

Draws Draws::Slice(std::int64_t first, std::int64_t count) const {
  Draws slice;
  slice.placements.assign(placements.begin() + first, placements.begin() + first + count);
  for (const Decisions& kind : kinds) {
    const std::int64_t k = kind.draws_per_row;
    STOWPLAN_CHECK_EQ(first % k, 0);
    STOWPLAN_CHECK_EQ(count % k, 0);
    const auto rows = [&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.slice(0, first / k, (first + count) / k) : tensor;
    };
    slice.kinds.push_back(
        {rows(kind.actions), rows(kind.log_probability), rows(kind.noise), k, rows(kind.delays)});
  }
  return slice;
}

UnitPlacement PlacementInOrder(const Task& task, const std::vector<UnitIndex>& order,
                               const at::Tensor& slots) {
  UnitPlacement placement(order.size());
  const auto slot = slots.accessor<std::int64_t, 1>();
  for (std::size_t i = 0; i < order.size(); ++i) {
    placement[static_cast<std::size_t>(order[i])] =
        task.devices[static_cast<std::size_t>(slot[static_cast<std::int64_t>(i)])];
  }
  return placement;
}

}  // namespace stowplan::agents::rl
