// Proven lower bounds on the runtime of any placement of a problem (docs/protocol.md#lower-bound).
#pragma once

#include <algorithm>
#include <vector>

#include "sim/simulator.h"

namespace berth::agents {

// Each part holds for every placement under the cluster's rules; `memory` for those that fit. The proofs are
// in bounds.cpp and work_bound.cpp.
struct LowerBound {
  sim::Picos critical_path =
      0;  // the longest path of ops, dispatch and lone transfers, each op where that suits it best
  sim::Picos work = 0;        // all work spread over all devices and host threads, divisible at will
  sim::Picos memory = 0;      // both again with what fits nowhere ruled out and persistent bytes within the
                              // capacities; 0 = memory adds nothing
  bool nothing_fits = false;  // proven: no placement fits
  sim::Picos best() const { return std::max({critical_path, work, memory}); }
};

// Over placements on `devices` (empty = all). Seconds for a graph of 50,000 ops.
LowerBound ComputeLowerBound(const sim::Problem& problem, const std::vector<sim::DeviceIndex>& devices = {});

}  // namespace berth::agents
