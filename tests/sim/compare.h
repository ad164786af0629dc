// Says where two outcomes first differ, event by event.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"
#include "sim/simulator.h"
#include "tests/sim/random_case.h"

namespace stowplan::sim {

// Empty where they are equal: runtime, verdict, devices, links, every op, every transfer in queue order, and
// the memory points of each device in order. Frees of one device at one instant without an allocation between
// them have no order (docs/model.md, section 6), so they are compared as a set, summed by what they free.
std::string FirstDifference(const Outcome& expected, const Outcome& actual, const OpGraph& graph,
                            const Cluster& cluster);

// What a cutoff promises: a run is given up if and only if it takes longer, and one that is not is the run without a
// cutoff. `full`: all that is recorded of the case's placement. Empty, or what is not so.
std::string DifferenceOfCutoffs(Simulator& simulator, const RandomCase& c, const Outcome& full);

}  // namespace stowplan::sim
