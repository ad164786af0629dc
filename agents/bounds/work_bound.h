// The bound that says: whatever the placement, the work has to be done somewhere.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::agents {

// Items that are put on devices whole. All devices of a class are alike to every item.
struct WorkProblem {
  struct Load {
    sim::Picos compute = 0;  // keeps the device busy at least that long
    sim::Picos host = 0;     // keeps the device's host thread busy at least that long
    sim::Bytes persistent = 0;
    bool allowed = true;
  };
  std::size_t items = 0;
  std::vector<std::int64_t> devices;  // how many there are, by class
  std::vector<sim::Bytes> capacity;   // of each of them, by class; empty = no limits
  bool one_host = false;              // one host thread serves all devices
  std::vector<Load> loads;            // [item * classes + class]

  const Load& load(std::size_t item, std::size_t c) const { return loads[item * devices.size() + c]; }
};

// A time that no assignment (within the capacities) can beat.
sim::Picos WorkBound(const WorkProblem& problem);

}  // namespace stowplan::agents
