// What a placement would take on a machine that is better in one thing: each answer is a run of its own, with nothing
// else changed. A run with something faster can take longer (an op that is ready sooner takes the place of a more
// urgent one); the answer is then what the simulation says.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/simulator.h"

namespace stowplan::sim {

struct WhatIf {
  enum class Change : std::uint8_t {
    kDevice,  // its ops take 1/faster of their time; dispatch and gaps stay
    kLink,  // `faster` times the bandwidth; the latency stays; routes are chosen anew, as the cluster's rule says
    kTransfers,  // what is sent arrives at once: no links
    kLatency,    // no link has any
    kDispatch,   // issuing an op costs nothing
    kMemory,     // no limit; takes as long, but fits
  };
  Change change = Change::kDevice;
  std::int32_t index = -1;  // device or link
  Picos runtime = 0;        // without memory limit, as Outcome::runtime
  bool feasible = true;
};
const char* ToString(WhatIf::Change change);  // "device", "link", "transfers", …

inline constexpr double kMostFaster = 1000;

struct WhatIfOptions {
  double faster = 2;                 // above 1, at most kMostFaster
  std::vector<DeviceIndex> devices;  // which are made faster, one at a time
  std::vector<std::int32_t> links;   // as well
  int threads = 1;                   // runs at a time; 0 = one per core
};

// Shortest run first, equal ones in the order of Change and index. Changes that the problem has no place for are left
// out: dispatch where none is charged, links, transfers and latency where there are none, and under the published rules
// all but devices.
std::vector<WhatIf> RunWhatIfs(const Problem& problem, const Placement& placement,
                               const WhatIfOptions& options);

}  // namespace stowplan::sim
