// Where a learned grouper starts: connected pieces of about equal work (docs/protocol.md#blocks). Ours, in no paper.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/task.h"
#include "agents/unit_graph.h"

namespace berth::agents::rl {

// By unit its block, in [0, min(blocks, units)), numbered in the order in which `graph` first comes to them. Units that
// exchange data are joined, most bytes first, while what is joined is at most half as long again as an equal part of the
// whole; then neighbours in the order, the shortest pair first, until `blocks` are left. With no more units than blocks each
// unit is a block.
std::vector<std::int64_t> BlocksOf(const Task& task, const UnitGraph& graph, std::int64_t blocks);

}  // namespace berth::agents::rl
