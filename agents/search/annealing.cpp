// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983): from the best of `start` (StartsOf) a
// neighbour (moves.h) is drawn at every sample; a worse placement is taken with probability
// exp(-loss / temperature). The loss is the growth of the overflow in capacities of the smallest device where
// the overflow grows, else the growth of the runtime in reference runtimes: overflow first, then runtime
// (docs/protocol_rules.md#infeasible-rewards). The temperature falls geometrically from `hot` to `cold` over the
// budget; the defaults are tuned (results/tuning). Spends the whole budget.
#include <algorithm>
#include <cmath>

#include "agents/agents.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"

namespace stowplan::agents {
namespace {

class Annealing final : public Agent {
 public:
  explicit Annealing(const Settings& read) : Agent(read.Canonical()) {
    start_ = read.Text("start");
    hot_ = read.Double("hot");
    cold_ = read.Double("cold");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    const auto done = [&] { return evaluator.remaining() == 0 || evaluator.stop_requested(); };
    Rng rng(options.seed, "annealing");
    const Moves moves(task);
    UnitPlacement current;
    Objective objective;
    for (const UnitPlacement& placement : StartsOf(start_, task, moves, options.seed)) {
      if (done()) return;
      evaluator.CountProposal();
      const Objective value = ObjectiveOf(task, evaluator.Evaluate(placement));
      if (value < objective) {
        current = placement;
        objective = value;
      }
    }
    if (task.devices.size() == 1 || task.units.size() == 0) return;  // there is only one placement
    const std::int64_t first = evaluator.samples();
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, evaluator.remaining() - 1));
    while (!done()) {
      const double progress = static_cast<double>(evaluator.samples() - first) / steps;
      const double temperature = hot_ * std::pow(cold_ / hot_, progress);
      const UnitPlacement candidate = moves.Neighbour(current, rng);
      evaluator.CountProposal();
      const Objective value = ObjectiveOf(task, evaluator.Evaluate(candidate));
      const double chance = rng.Uniform();  // drawn whether needed or not: one number a sample
      if (chance < std::exp(-Loss(task, objective, value) / temperature)) {
        current = candidate;
        objective = value;
      }
    }
  }

 private:
  // Negative for what is better.
  static double Loss(const Task& task, const Objective& from, const Objective& to) {
    if (from.overflow == to.overflow) {
      return static_cast<double>(to.runtime - from.runtime) / static_cast<double>(task.reference_runtime);
    }
    sim::Bytes smallest = sim::kMaxBytes;
    for (const sim::DeviceIndex d : task.devices) smallest = std::min(smallest, task.device(d).capacity());
    return static_cast<double>(to.overflow - from.overflow) /
           static_cast<double>(std::max<sim::Bytes>(1, smallest));
  }

  std::string start_;
  double hot_ = 0;
  double cold_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeAnnealing(const Settings& read) {
  return std::make_unique<Annealing>(read);
}

}  // namespace stowplan::agents
