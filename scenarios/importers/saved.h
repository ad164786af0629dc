// Graphs that were saved earlier, by us or by others.
#pragma once

#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Puts right what captured and traced graphs carry from earlier: FLOPs of products that their shapes contradict (a counter
// left out groups), and backward passes of convolutions by the name of one of their two products. What is not torch's is left
// as it is: it may be counted in another way on purpose. One sentence, without a full stop, for each kind of change.
std::vector<std::string> CountAnew(sim::OpGraph& graph);

}  // namespace stowplan::scenarios
