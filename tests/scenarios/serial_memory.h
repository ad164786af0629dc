// Memory of a graph that one device runs op by op, by the rules of docs/model.md section 5 without rounding:
// a second, much simpler account than the engine's, for the tables of PROTOCOL 6.
#pragma once

#include "sim/op_graph.h"

namespace berth::scenarios {

struct SerialMemory {
  sim::Bytes persistent = 0;
  sim::Bytes peak = 0;  // with persistent
};

// `accumulate`: the summands of an AddN of weight gradients share its storage, as if they were added in
// place.
SerialMemory SerialPeak(const sim::OpGraph& graph, bool accumulate = false);

// Bytes of all outputs of all forward ops, whoever owns the storage, without views (PAPERS section 7, "stored
// forward activations").
sim::Bytes SumOfForwardOutputs(const sim::OpGraph& graph);

// Forward multiply-adds.
double ForwardMultiplyAdds(const sim::OpGraph& graph);

}  // namespace berth::scenarios
