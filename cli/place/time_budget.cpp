#include "cli/place/time_budget.h"

#include <algorithm>
#include <chrono>

#include "agents/placements.h"
#include "problem/options.h"
#include "sim/base/parallel.h"

namespace stowplan::cli {

std::int64_t SamplesIn(double seconds, const agents::Task& task, int threads, double work) {
  constexpr double kMeasured = 0.02;
  const auto simulator = sim::MakeSimulator(*task.problem);
  agents::Rng rng(1, "time budget");
  const auto start = std::chrono::steady_clock::now();
  double took = 0;
  int runs = 0;
  // A machine that others use, too, is as fast as it is now.
  for (; took < kMeasured * seconds; ++runs) {
    simulator->Run(agents::Expand(task, agents::BlockPlacement(task, rng)));
    took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  const double samples = seconds * ResolveThreads(threads) * runs / (took * work);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(samples), 1, problem::kMaxSamples);
}

}  // namespace stowplan::cli
