// Graphs that were saved earlier, by us or by others.
#pragma once

#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Counts the FLOPs of torch's products where none are said, and puts right what captured and traced graphs carry from earlier:
// FLOPs that shapes contradict (a counter left out groups), and backward passes of convolutions by the name of one of their two products. What is not torch's is left
// as it is: it may be counted in another way on purpose. One sentence, without a full stop, for each kind of what was put right.
std::vector<std::string> CountAnew(sim::OpGraph& graph);

}  // namespace stowplan::scenarios
