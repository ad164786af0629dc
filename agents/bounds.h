// Proven lower bounds on the runtime of any placement of a problem (DESIGN 7).
#pragma once

#include <string>
#include <vector>

#include "sim/simulator.h"

namespace berth::agents {

struct LowerBound {
  sim::Picos critical_path = 0;  // longest path with each op on its fastest allowed device, no transfers
  sim::Picos work = 0;           // total work over all devices, fractional assignment at best speeds
  sim::Picos memory = 0;    // work bound with as many devices as memory forces to be used; 0 = says nothing
  sim::Picos best() const;  // the largest
};

// Valid for every placement on `devices` (empty = all) under the problem's preset; each part is proven in
// bounds.cpp.
LowerBound ComputeLowerBound(const sim::Problem& problem, const std::vector<sim::DeviceIndex>& devices = {});

}  // namespace berth::agents
