// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983): from the shared random start one unit
// moves, or two swap, at every sample; a worse placement is taken with probability exp(-loss / temperature).
// The loss is the growth of the overflow in capacities of the smallest device where the overflow grows, else
// the growth of the runtime in reference runtimes: overflow first, then runtime (PROTOCOL 4.8). The
// temperature falls geometrically from `hot` to `cold` over the budget. Spends the whole budget.
#include <algorithm>
#include <cmath>

#include "agents/agents.h"
#include "agents/objective.h"
#include "agents/placements.h"

namespace berth::agents {
namespace {

class Annealing final : public Agent {
 public:
  explicit Annealing(const Spec& spec) {
    ParameterReader parameters(spec);
    hot_ = parameters.Double("hot", 0.5, 1e-9, 1e9);
    cold_ = parameters.Double("cold", 0.001, 1e-9, 1e9);
    swaps_ = parameters.Double("swaps", 0.1, 0, 1);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    Rng rng(options.seed, "annealing");
    UnitPlacement current = StartPlacement(task, options.seed);
    evaluator.CountProposal();
    Objective objective = ObjectiveOf(task, evaluator.Evaluate(current));
    if (task.devices.size() == 1 || task.units.size() == 0) return;  // there is only one placement
    const std::int64_t first = evaluator.samples();
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, evaluator.remaining() - 1));
    while (evaluator.remaining() > 0 && !evaluator.stop_requested()) {
      const double progress = static_cast<double>(evaluator.samples() - first) / steps;
      const double temperature = hot_ * std::pow(cold_ / hot_, progress);
      const UnitPlacement candidate = Neighbour(task, current, rng);
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
  UnitPlacement Neighbour(const Task& task, const UnitPlacement& current, Rng& rng) const {
    UnitPlacement candidate = current;
    const auto unit = static_cast<std::size_t>(rng.Below(candidate.size()));
    if (rng.Uniform() < swaps_) {
      std::swap(candidate[unit], candidate[static_cast<std::size_t>(rng.Below(candidate.size()))]);
      return candidate;
    }
    const auto here =
        std::find(task.devices.begin(), task.devices.end(), candidate[unit]) - task.devices.begin();
    const auto step = 1 + rng.Below(task.devices.size() - 1);
    candidate[unit] = task.devices[(static_cast<std::size_t>(here) + step) % task.devices.size()];
    return candidate;
  }

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

  std::string name_;
  double hot_ = 0;
  double cold_ = 0;
  double swaps_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeAnnealing(const Spec& spec) {
  return std::make_unique<Annealing>(spec);
}

}  // namespace berth::agents
