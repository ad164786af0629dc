// Tensor parallelism: what each of t ranks does of a graph (Shoeybi et al. 2019; with sequence parallelism Korthikanti et al. 2022).
#pragma once

#include "scenarios/parallel/shards.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Of an update: its gradient is a term, whose sum over the tensor ranks is due once a step (gradients.h).
inline constexpr char kIsTerm[] = "is_term";

struct TensorRank {
  sim::OpGraph graph;    // of one rank, in the symmetric form (layout.h); Finish()ed
  double flops = 0;      // of the whole graph
  double cut_flops = 0;  // of its products that are cut; each rank does the others whole
};

// Sums of terms are an AllReduce, which with sequence parallelism is a ReduceScatter and an AllGather; rows of classes that are cut
// exchange their maxima and their sums. FLOPs, bytes, measured times and persistent bytes are those of a rank's part. `graph` is
// Finish()ed. Throws InputError as FindShards() does.
TensorRank CutTensors(const sim::OpGraph& graph, const ShardOptions& options);

}  // namespace stowplan::scenarios
