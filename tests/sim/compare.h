// Says where two outcomes first differ, event by event.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"

namespace berth::sim {

// Empty where they are equal: runtime, verdict, devices, links, every op, every transfer in queue order, and
// the memory points of each device in order. Frees of one device at one instant without an allocation between
// them have no order (docs/model.md, section 6), so they are compared as a set, summed by what they free.
std::string FirstDifference(const Outcome& expected, const Outcome& actual, const OpGraph& graph,
                            const Cluster& cluster);

}  // namespace berth::sim
