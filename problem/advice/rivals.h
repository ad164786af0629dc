// The placements that a person would try without a search: what a search has to be worth it beside.
#pragma once

#include <string>
#include <vector>

#include "agents/placements.h"
#include "agents/task.h"

namespace stowplan::problem {

struct Rival {
  std::string name;
  agents::UnitPlacement placement;
  sim::Picos runtime = 0;  // as if memory were unlimited
  bool fits = true;
  std::vector<sim::Bytes> peak;  // by device
  agents::Plainness plainness;
};

// What a run of the placement takes.
Rival Simulated(const agents::Task& task, std::string name, agents::UnitPlacement placement);

// In this order, each where the task's devices and the names of the ops allow it and no rival before it is the same:
//  - everything on one device: of the accelerators, one of each kind, the fastest, of those that fit if any does;
//  - the model's modules in order, cut into parts of equal time, a part for each accelerator;
//  - what `device_map="auto"` of Hugging Face accelerate does (utils/modeling.py, get_balanced_memory and
//    infer_auto_device_map, whole modules): weights alone, in order, each accelerator up to an even share and 1.25 of the largest
//    module, the last one and a single one (of 90 % of its memory) up to what it has; the first keeps room for the
//    largest module; what is left goes to the CPU.
std::vector<Rival> SimplestRivals(const agents::Task& task);

// The modules in order, cut into parts of equal time, on the first so many accelerators; empty where names and stages tell
// of fewer parts.
agents::UnitPlacement EvenSplit(const agents::Task& task, std::size_t accelerators);

}  // namespace stowplan::problem
