// What a graph amounts to, counted as the papers count it.
#pragma once

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Forward multiply-adds of contractions.
double ForwardMultiplyAdds(const sim::OpGraph& graph);

// Bytes of all outputs of all forward ops, whoever owns the storage, without views: "activations"
// (docs/protocol_rules.md#memory). Live peaks are smaller.
sim::Bytes SumOfForwardOutputs(const sim::OpGraph& graph);

}  // namespace stowplan::scenarios
