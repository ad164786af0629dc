// Random placements that keep colocation sets together: the load of the speed benchmark.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/placement.h"

namespace stowplan::problem {

// `count` different ones, uniform over devices, the same for a seed on every machine. Throws InputError where
// the graph and cluster have fewer.
std::vector<sim::Placement> DrawPlacements(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                           std::int64_t count, std::uint64_t seed);

}  // namespace stowplan::problem
