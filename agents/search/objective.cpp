#include "agents/search/objective.h"

#include <cmath>

namespace stowplan::agents {

Objective ObjectiveOf(const Task& task, const Evaluation& evaluation) {
  if (evaluation.stopped) return {};
  Objective objective{0, evaluation.runtime};
  if (evaluation.feasible) return objective;
  for (std::size_t d = 0; d < evaluation.peak.size(); ++d) {
    const sim::Bytes capacity = task.device(static_cast<sim::DeviceIndex>(d)).capacity();
    objective.overflow += std::max<sim::Bytes>(0, evaluation.peak[d] - capacity);
  }
  return objective;
}

double ShapedReward(const Task& task, const Evaluation& evaluation) {
  const double reward =
      -std::sqrt(static_cast<double>(evaluation.runtime) / static_cast<double>(task.reference_runtime));
  if (evaluation.feasible) return reward;
  double overflow = 0;
  for (std::size_t d = 0; d < evaluation.peak.size(); ++d) {
    const auto capacity = static_cast<double>(task.device(static_cast<sim::DeviceIndex>(d)).capacity());
    overflow += std::max(0.0, static_cast<double>(evaluation.peak[d]) / std::max(capacity, 1.0) - 1);
  }
  return reward - 1 - overflow;
}

}  // namespace stowplan::agents
