// Which units belong together, at every size.
//
// Units are matched in pairs along what they share most, the pairs again, and so on, as multilevel partitioners
// coarsen a graph (Karypis, Kumar: A fast and high quality multilevel scheme, SIAM J. Sci. Comput. 1998; rated by
// weight over the product of sizes). A tensor that many units read ties them one to the next, not each to its
// producer: it goes to a device once for all of them, so the steps of a recurrent layer are tied by its weights.
#pragma once

#include <cstddef>
#include <vector>

#include "agents/task.h"

namespace berth::agents {

struct UnitTree {
  // Units; those of one cluster stand side by side.
  std::vector<std::size_t> order;
  // By level, from single units to the whole graph or its unconnected parts: where the clusters begin in `order`,
  // and last its size. A level's clusters are unions of those of the level before.
  std::vector<std::vector<std::size_t>> levels;
};

UnitTree MakeUnitTree(const Task& task);

}  // namespace berth::agents
