// The graphs of xinyuyao/Doppler (DOPPLER, ICLR 2026), plain text, as the authors' program reads it:
//   line 1  the number of nodes
//   line 2  the inputs of the model, which nobody places: as many as they are, there are fewer nodes in the graph
//   line 3  the edges' sources, counted from 0 over the nodes that are left
//   line 4  their targets
//   then, for each node that is left, "compute, communication" or "compute, communication, type"
// with commas and blanks between numbers. 10^10 of a cost are a millisecond of their simulator, in which an edge between
// two devices takes the communication of its source. Read as:
// - an op per node, "node0" and on, of the type given or "Profiled"; its compute is cost_us on any device;
// - one output of as many bytes as its communication says, read along each edge: on cluster `doppler`, of 10 TB/s, a
//   byte takes what a unit takes there. A node that nobody reads has none.
// Files called gdp_* hold the same graphs with types, not placements; three of the four without types differ from theirs
// in the target of one edge.
#pragma once

#include <string>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

bool RecognisesDopplerGraph(const std::string& content);
sim::OpGraph ImportDopplerGraph(const std::string& content, const std::string& source);

}  // namespace stowplan::scenarios
