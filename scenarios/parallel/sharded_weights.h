// Weights of which each data rank keeps a part and gathers a layer's when they are needed: ZeRO 3 (Rajbhandari et al. 2020), fully
// sharded data parallelism (Zhao et al. 2023).
#pragma once

#include <cstdint>

#include "scenarios/parallel/collective.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Of the graph of one micro-batch. Weights, optimizer state, gradients and updates are a rank's part. The weights of a layer are
// gathered for its forward ops and again for its backward ops, once the ops of the layer `prefetch` + 1 before it are done, and dropped behind
// them; what is in no layer is gathered once and stays. Gradients of a layer are copied together and ReduceScattered once the last one is
// made. What was gathered is read where it stands. Finish()ed.
sim::OpGraph ShardWeights(const sim::OpGraph& graph, const RankGroup& data, std::int64_t prefetch);

}  // namespace stowplan::scenarios
