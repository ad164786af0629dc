// How long a step of a layout takes and what it needs, estimated from its layers: what a search of layouts tries first.
#pragma once

#include "problem/layouts/layer_costs.h"
#include "scenarios/parallel/layout.h"

namespace stowplan::problem {

struct LayoutEstimate {
  sim::Picos time = 0;
  sim::Picos communication = 0;  // of that
  MemoryParts memory{};          // of the rank that needs most, at its peak
  sim::Bytes peak = 0;
  std::int64_t rank = 0;  // which that is
};

// A pipeline is as long as a micro-batch's way through all stages and the slowest stage's turn for each other one. Stage s of p keeps the
// activations of p - s micro-batches, with gpipe those of all. The exchange of gradients begins with the last micro-batch's backward
// pass and is hidden by as much of it as is behind the first layer. Weights that are gathered come while the layer before them is
// computed. `costs`: of a micro-batch of this layout's tensor ranks.
LayoutEstimate EstimateLayout(const scenarios::Layout& layout, const RankCosts& costs, const Mesh& mesh);

}  // namespace stowplan::problem
