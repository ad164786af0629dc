#include "cli/place/time_budget.h"

#include <algorithm>
#include <chrono>

#include "agents/placements.h"
#include "problem/options.h"
#include "sim/base/parallel.h"

namespace stowplan::cli {

std::int64_t SamplesIn(double seconds, const agents::Task& task, int threads, double work) {
  constexpr int kRuns = 5;
  const auto simulator = sim::MakeSimulator(*task.problem);
  agents::Rng rng(1, "time budget");
  double fastest = seconds;
  for (int run = 0; run < kRuns; ++run) {
    const sim::Placement placement = agents::Expand(task, agents::BlockPlacement(task, rng));
    const auto start = std::chrono::steady_clock::now();
    simulator->Run(placement);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, std::max(took.count(), 1e-7));
    if (took.count() > seconds / kRuns) break;
  }
  const double samples = seconds * ResolveThreads(threads) / (fastest * work);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(samples), 1, problem::kMaxSamples);
}

}  // namespace stowplan::cli
