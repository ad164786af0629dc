#pragma once

#include <optional>
#include <vector>

#include "sim/outcome.h"

namespace stowplan::agents {

// What an agent is told about one placement.
struct Evaluation {
  sim::Picos runtime = 0;  // without memory limit
  bool feasible = true;
  bool stopped = false;          // given up: the runtime is beyond the cutoff, the rest is not known
  std::vector<sim::Bytes> peak;  // by device
  std::optional<sim::OutOfMemory> oom;
  std::vector<sim::Picos> start;  // by op; only if asked for
};

}  // namespace stowplan::agents
