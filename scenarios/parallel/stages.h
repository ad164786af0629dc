// Pipeline parallelism: layers in a row on each of p stages (Huang et al. 2019; Narayanan et al. 2021).
#pragma once

#include <cstdint>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Of an op: the accelerator of its stage's rank (layout.h).
inline constexpr char kRank[] = "rank";
// Of an update: of which weight, that several stages have, it updates one.
inline constexpr char kTied[] = "tied";

// The graph with each op in the colocation set and with the attribute `rank` of its stage: rank s x tensor of stage s. Stages have as
// many layers, to one more or less; the table of tokens goes with the first, the head with the last. What follows from data and
// constants alone each stage works out for itself; of a weight that several stages read each has one, with an update of its own,
// which reads what the gradient's sum has from its stage. Throws InputError for more stages than layers.
sim::OpGraph CutStages(const sim::OpGraph& graph, std::int64_t stages, std::int64_t tensor);

}  // namespace stowplan::scenarios
