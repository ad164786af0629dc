// What ranks exchange once a step, between the backward pass and the updates of the weights.
#pragma once

#include <cstdint>

#include "scenarios/parallel/collective.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct GradientExchange {
  RankGroup tensor{}, data{};
  int zero =
      0;  // 0: AllReduce; 1: ReduceScatter, the update of a rank's part, AllGather (Rajbhandari et al. 2020)
  std::int64_t bucket = 0;  // bytes
};

// Over micro-batches the sum of all is exchanged. First the terms that tensor ranks have (kIsTerm), all of a stage together; then
// those of a weight that several stages have (kTied); then the data ranks' in buckets, in the order in which gradients are made, each as
// soon as its last one is: the first of 1 MiB, as torch's DistributedDataParallel makes them. A bucket is a view of gradients that stand
// together (gradient_as_bucket_view, Megatron-LM's buffers). Optimizer state that is divided leaves the variable, whose persistent
// bytes behind those of its output it is. Finish()ed.
sim::OpGraph ExchangeGradients(const sim::OpGraph& graph, const GradientExchange& exchange);

}  // namespace stowplan::scenarios
