// Collectives as what their ranks do, step by step: the reference that rings are priced by (docs/model.md section 11,
// "Prices").
#pragma once

#include "sim/op_graph.h"

namespace stowplan::formats {

// The graph with each collective that names all its ranks replaced in place by the ops and edges of its steps, each a
// transfer between two ranks; consumers read what they make, and each rank's tensor, ops and result share a device. `graph`
// is Finish()ed, and so is what comes back.
sim::OpGraph ExpandCollectives(const sim::OpGraph& graph);

}  // namespace stowplan::formats
