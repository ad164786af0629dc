// What must hold for any graph of the builder, checked from the graph alone and not through the builder. Each
// returns the first fault as a sentence, or an empty string.
#pragma once

#include <string>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Shapes of inputs and outputs fit together by op type, bytes are those of the shape, contractions have FLOPs
// and nothing else has. Unknown op types are a fault.
std::string FaultInShapes(const sim::OpGraph& graph);

// An output that took over an input's storage (an alias that is no Reshape or Identity) has destroyed it: nobody else may
// read that tensor or any other that shares its storage, and it must be the producer's own.
std::string FaultInPlace(const sim::OpGraph& graph);

// Every variable is updated once, from one gradient of its shape (rows for a table); the update is on the
// variable's device and after every op that reads the variable. No op reads what is computed later in the
// file.
std::string FaultInTraining(const sim::OpGraph& graph);

}  // namespace stowplan::scenarios
