// Proven lower bounds on the runtime of any placement of a problem (docs/protocol_rules.md#lower-bound).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/simulator.h"

namespace stowplan::agents {

// Each part holds for every placement under the cluster's rules; `memory` for those that fit. The proofs are
// in bounds.cpp and work_bound.cpp.
struct LowerBound {
  // The longest path of ops, dispatch and lone transfers, each op where that suits it best.
  sim::Picos critical_path = 0;
  // All work spread over all devices and host threads, divisible at will.
  sim::Picos work = 0;
  // Both: the time before and behind a segment of the run, and the work that must fall into it; 0 = adds nothing.
  sim::Picos window = 0;
  // The same of what is placed as one, which one device does alone; 0 = adds nothing.
  sim::Picos together = 0;
  // The first two with what fits nowhere ruled out and persistent bytes within the capacities; 0 = adds nothing.
  sim::Picos memory = 0;
  // Proven: no placement fits.
  bool nothing_fits = false;
  sim::Picos best() const { return std::max({critical_path, work, window, together, memory}); }
};

// Over placements on `devices` (empty = all). `unit_of_op`: over those alone that put all ops of one number on one device;
// numbers count from 0 and keep colocation sets together, empty = those sets. Seconds for a graph of 50,000 ops.
LowerBound ComputeLowerBound(const sim::Problem& problem, const std::vector<sim::DeviceIndex>& devices = {},
                             std::span<const std::int32_t> unit_of_op = {});

}  // namespace stowplan::agents
