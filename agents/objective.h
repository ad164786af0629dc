// How searchers compare placements where some do not fit (PROTOCOL 4.8): overflow bytes first, then runtime.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>

#include "agents/evaluator.h"
#include "agents/task.h"

namespace berth::agents {

struct Objective {
  sim::Bytes overflow = std::numeric_limits<sim::Bytes>::max();  // above the capacities, summed over devices
  sim::Picos runtime = std::numeric_limits<sim::Picos>::max();   // without memory limit
  friend auto operator<=>(const Objective&, const Objective&) = default;
};

// A stopped evaluation is worse than anything: it was given up because it cannot be better than its cutoff.
inline Objective ObjectiveOf(const Task& task, const Evaluation& evaluation) {
  if (evaluation.stopped) return {};
  Objective objective{0, evaluation.runtime};
  if (evaluation.feasible) return objective;
  for (std::size_t d = 0; d < evaluation.peak.size(); ++d) {
    const sim::Bytes capacity = task.device(static_cast<sim::DeviceIndex>(d)).capacity();
    objective.overflow += std::max<sim::Bytes>(0, evaluation.peak[d] - capacity);
  }
  return objective;
}

}  // namespace berth::agents
