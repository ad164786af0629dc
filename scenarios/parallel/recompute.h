// Activations that are not kept but worked out again when the backward pass needs them (Chen et al. 2016; selective: Korthikanti
// et al. 2022).
#pragma once

#include "scenarios/parallel/layout.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

// kFull: the forward ops of each layer are done again before its backward ops, all of them, as Megatron-LM does, so that what is
// kept is the layer's input. kSelective: those from the product of queries and keys to that with the values. Finish()ed.
sim::OpGraph RecomputeLayers(const sim::OpGraph& graph, Recompute what);

}  // namespace stowplan::scenarios
