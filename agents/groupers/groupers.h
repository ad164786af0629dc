// The groupers of the table in registry.cpp, one file each.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

std::vector<std::int32_t> GroupByChain(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByColocation(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByLayerPart(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByModule(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByNeighbour(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByStage(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByTies(const Settings& read, const sim::Problem& problem);
std::vector<std::int32_t> GroupByWholeModule(const Settings& read, const sim::Problem& problem);

}  // namespace stowplan::agents
