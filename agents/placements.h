// Placements that several agents know.
#pragma once

#include "agents/random_numbers.h"
#include "agents/task.h"

namespace stowplan::agents {

// Every unit on a device of task.devices, drawn uniformly and independently.
UnitPlacement UniformPlacement(const Task& task, Rng& rng);

// The start of every agent that starts at random: one seed gives all agents of a row the same one
// (docs/protocol.md#seeds).
UnitPlacement StartPlacement(const Task& task, std::uint64_t seed);

// What the agent `expert` places by its rule=auto (expert.cpp).
UnitPlacement ExpertByRule(const Task& task);

// Contiguous blocks of units, in unit order, each on a device of its own draw: between 1 and 4 per device.
UnitPlacement BlockPlacement(const Task& task, Rng& rng);

// Placements are told apart by this number; two of 10^6 different ones fall together with a probability below
// 10^-7.
std::uint64_t HashOf(const UnitPlacement& placement);

}  // namespace stowplan::agents
