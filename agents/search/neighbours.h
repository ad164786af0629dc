// Which earlier unit a unit exchanges most with.
#pragma once

#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

// By position in `order`, a permutation of the units: the position of the earlier unit with which the unit there
// exchanges most bytes, both ways together; the earliest of equals; -1 = it exchanges nothing with an earlier one.
std::vector<UnitIndex> HeaviestEarlierNeighbours(const Task& task, const std::vector<UnitIndex>& order);

}  // namespace stowplan::agents
