// A placement as rows.csv keeps it, so that it can be evaluated again under other assumptions: for each unit
// in order the letter of its device (a = 0, ..., z, A, ..., Z), a run of one device with its length:
// "a120bc3".
#pragma once

#include <string>

#include "agents/task.h"

namespace stowplan::tables {

// Empty where a device has no letter (clusters of more than 52 devices).
std::string KeepPlacement(const agents::UnitPlacement& placement);

// Whether a kept placement has all units on one device; false for an empty text.
bool IsOnOneDevice(const std::string& text);

// Throws InputError naming `where` for a text that does not give each of the task's units one of its devices.
agents::UnitPlacement ReadKeptPlacement(const std::string& text, const agents::Task& task,
                                        const std::string& where);

}  // namespace stowplan::tables
