// In which layer of the model each op is: what pipelines are cut into, what is recomputed and gathered as one.
#pragma once

#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct ModelLayers {
  int count = 0;  // in the order of the forward pass
  std::vector<int>
      layer{};  // by op, from 0; what is before the first layer goes with it, what is behind the last with that
  std::vector<bool> within{};  // by op: its name or its attribute `stage` says so
};

// Of an op: the number of its layer, in graphs whose colocation sets are stages.
inline constexpr char kLayer[] = "layer";

// `graph` is Finish()ed. Layers are those of the attribute `layer`, else those that names number (sim/analysis/layers.h), else the values
// of the attribute `stage`.
ModelLayers FindLayers(const sim::OpGraph& graph);

}  // namespace stowplan::scenarios
