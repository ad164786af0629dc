// A layout's graph of one rank of each group (layout.h) written out for all ranks.
#pragma once

#include "scenarios/parallel/layout.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Each op once for each tensor and data rank, "data1/tensor0/NAME", in the colocation set and with the attribute `rank` of its rank; each
// collective once for each group, with a tensor of each rank. Collectives become what formats::SplitCollectives() makes of them.
// Finish()ed. Throws InputError for more ops than a graph may have.
sim::OpGraph WriteAllRanks(const sim::OpGraph& graph, const Layout& layout);

}  // namespace stowplan::scenarios
