// A model's graph laid out (layout.h).
#pragma once

#include <string>

#include "scenarios/parallel/layout.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct LaidOut {
  sim::OpGraph graph;    // in the symmetric form, Finish()ed
  double cut_share = 1;  // of the FLOPs: those in products that tensor parallelism cuts
};

// `of`: a workload or a graph file, whose batch all data ranks and micro-batches share, or each micro-batch has (of_micro_batch). Throws InputError for what does not divide:
// the batch, heads; and for more stages than layers.
LaidOut LayOut(const std::string& of, const Layout& layout);

// The first steps alone: the graph of one micro-batch (ShareOf(), workloads/micro_batches.h) as a tensor rank does it on one
// accelerator, with what it works out again.
LaidOut LayOutMicroBatch(sim::OpGraph share, const Layout& layout);

}  // namespace stowplan::scenarios
