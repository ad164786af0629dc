// Puts the ops of an execution trace into the order in which a Kineto trace of the same run saw them begin, with the host's time for
// each, its waits, and what their streams keep in order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scenarios/importers/trace/timeline.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios::trace {

// `owner`: by piece of work, the node it is done for, as the timeline was read with; kNobody: of none, whose time on the host is that
// of the next op. `node_of`: by op, likewise. Ops of no work stand before the next one that has some, those
// that take no time before the first that reads them. The graph is not yet finished.
void FollowTimeline(const Timeline& timeline, std::span<const std::ptrdiff_t> owner,
                    std::vector<std::ptrdiff_t> node_of, sim::OpGraph& graph);

}  // namespace stowplan::scenarios::trace
