// Memory of a graph that one device runs op by op, by the rules of docs/model.md section 5 without rounding:
// a second, much simpler account than the engine's, for the sizes of docs/protocol_rules.md.
#pragma once

#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct SerialMemory {
  sim::Bytes persistent = 0;
  sim::Bytes peak = 0;  // with persistent
};

// `accumulate`: the summands of an AddN of weight gradients share its storage, as if they were added in
// place.
SerialMemory SerialPeak(const sim::OpGraph& graph, bool accumulate = false);

}  // namespace stowplan::scenarios
