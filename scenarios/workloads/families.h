// Families: 32 graphs of one rule, NAME(index=0) to NAME(index=31), half of them for training
// (docs/protocol_rules.md#generalisation). Which graph an index stands for and which half it is in depend on the
// family's name alone and never change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/settings.h"
#include "scenarios/workloads/dice.h"

namespace stowplan::scenarios {

enum class Half : std::uint8_t { kTrain, kTest };
const char* ToString(Half half);  // "train", "test": attribute `half` of a member's graph

// Ascending; 16 in each half.
std::vector<int> MembersOf(const std::string& family, Half half);
Half HalfOf(const std::string& family, int index);

// The members that `FAMILY:train`, `FAMILY:test` or `FAMILY:all` names, as workload specs: "ptb(batch=10):train" gives
// "ptb(batch=10,index=1)", ... Throws InputError for another half and for what is no family.
std::vector<std::string> FamilyMembers(const std::string& text);

// What member `index` is drawn with.
Dice DiceOf(const std::string& family, int index);

}  // namespace stowplan::scenarios
