// The groupers of the table in registry.cpp, one file each.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

std::vector<std::int32_t> GroupByColocation(ParameterReader& parameters, const sim::Problem& problem);
std::vector<std::int32_t> GroupByModule(ParameterReader& parameters, const sim::Problem& problem);
std::vector<std::int32_t> GroupByNeighbour(ParameterReader& parameters, const sim::Problem& problem);
std::vector<std::int32_t> GroupByStage(ParameterReader& parameters, const sim::Problem& problem);
std::vector<std::int32_t> GroupByTies(ParameterReader& parameters, const sim::Problem& problem);

}  // namespace stowplan::agents
