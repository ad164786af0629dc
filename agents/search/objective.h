// How placements are compared where some do not fit (overflow bytes first, then runtime), and what they pay.
#pragma once

#include <compare>
#include <cstddef>
#include <limits>

#include "agents/evaluator.h"
#include "agents/task.h"

namespace stowplan::agents {

struct Objective {
  sim::Bytes overflow = std::numeric_limits<sim::Bytes>::max();  // above the capacities, summed over devices
  sim::Picos runtime = std::numeric_limits<sim::Picos>::max();   // without memory limit
  friend auto operator<=>(const Objective&, const Objective&) = default;
};

// A stopped evaluation is worse than anything: it was given up because it cannot be better than its cutoff.
Objective ObjectiveOf(const Task& task, const Evaluation& evaluation);

// What a learner is paid: -sqrt(runtime / reference runtime); a placement that does not fit also loses 1 and, for
// each device, the part by which its peak is above its capacity.
double ShapedReward(const Task& task, const Evaluation& evaluation);

}  // namespace stowplan::agents
