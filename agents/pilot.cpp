// berth's own search: plans on a quick estimate of the schedule (schedule_estimate.h), samples what the plan ends at, and
// goes on from the best placement sampled.
//
//  1. From the shared random start, `plan` screens of simulated annealing on the estimate, from `hot` (a relative
//     increase of runtime taken with probability 1/e) down to a hundredth of it. What it ends at is the first sample.
//  2. Local search from the best sample: of `screen` neighbours (moves.h) the one with the best estimate is sampled, and
//     taken unless it is worse.
//  3. After `patience` samples without anything better: a tenth of the plan again, from the best placement with a part
//     of it moved at random (`kick` neighbours); what it ends at is sampled and climbed from.
//
// Samples are exact simulations; screens cost no sample and are counted beside them (Evaluator::screens()). The peaks of
// every sample correct the estimate's. Spends the whole budget.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "agents/agents.h"
#include "agents/moves.h"
#include "agents/objective.h"
#include "agents/placements.h"
#include "agents/schedule_estimate.h"

namespace berth::agents {
namespace {

struct Settings {
  std::int64_t screen = 0;
  std::int64_t plan = 0;
  double hot = 0;
  std::int64_t kick = 0;
  std::int64_t patience = 0;
};

class Flight {
 public:
  Flight(const Settings& settings, const Task& task, Evaluator& evaluator, std::uint64_t seed)
      : settings_(settings),
        task_(task),
        evaluator_(evaluator),
        moves_(task),
        estimate_(task),
        rng_(seed, "pilot") {}

  void Search(const UnitPlacement& start) {
    Sample(Plan(start, settings_.plan));
    Climb();
    while (!done()) {
      Kick();
      Climb();
    }
  }

 private:
  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  Objective Screen(const UnitPlacement& placement) {
    evaluator_.CountScreen();
    return estimate_.Of(placement);
  }

  // Simulated annealing on the estimate; the best that it passes.
  UnitPlacement Plan(UnitPlacement placement, std::int64_t screens) {
    constexpr double kCold = 0.01;  // of `hot`, at the end
    if (task_.devices.size() == 1) return placement;
    Objective objective = Screen(placement);
    UnitPlacement best = placement;
    Objective best_objective = objective;
    for (std::int64_t i = 0; i < screens && !evaluator_.stop_requested(); ++i) {
      UnitPlacement next = moves_.Neighbour(placement, rng_);
      const Objective there = Screen(next);
      if (there > objective) {
        const double heat =
            settings_.hot * std::pow(kCold, static_cast<double>(i) / static_cast<double>(screens));
        const double increase = static_cast<double>(there.runtime) /
                                    static_cast<double>(std::max<sim::Picos>(1, objective.runtime)) -
                                1;
        if (there.overflow > objective.overflow || heat == 0 || rng_.Uniform() >= std::exp(-increase / heat))
          continue;
      }
      placement = std::move(next);
      objective = there;
      if (objective < best_objective) {
        best = placement;
        best_objective = objective;
      }
    }
    return best;
  }

  // Stands on the placement, better or not.
  void Sample(const UnitPlacement& placement) {
    sampled_.insert(HashOf(placement));
    current_ = placement;
    objective_ = Evaluate(placement, std::nullopt);
    KeepBest();
  }

  Objective Evaluate(const UnitPlacement& placement, std::optional<sim::Picos> cutoff) {
    evaluator_.CountProposal();
    const Evaluation evaluation = evaluator_.Evaluate(placement, false, cutoff);
    if (!evaluation.stopped) estimate_.CorrectPeaks(placement, evaluation.peak);
    return ObjectiveOf(task_, evaluation);
  }

  void Climb() {
    for (std::int64_t failures = 0; failures < settings_.patience && !done();) {
      const UnitPlacement candidate = MostPromising();
      if (candidate.empty()) return;
      const Objective before = objective_;
      Take(candidate);
      failures = objective_ < before ? 0 : failures + 1;
    }
  }

  // Of new neighbours, by the estimate; empty where there is none.
  UnitPlacement MostPromising() {
    UnitPlacement candidate;
    Objective least;
    for (std::int64_t i = 0; i < settings_.screen; ++i) {
      UnitPlacement neighbour = moves_.Neighbour(current_, rng_);
      if (sampled_.contains(HashOf(neighbour))) continue;
      const Objective objective = settings_.screen > 1 ? Screen(neighbour) : Objective{};
      if (!candidate.empty() && objective >= least) continue;
      candidate = std::move(neighbour);
      least = objective;
    }
    return candidate;
  }

  // Samples the candidate and goes there unless it is worse. What runs longer than a placement that fits is worse, fit
  // or not.
  void Take(const UnitPlacement& candidate) {
    sampled_.insert(HashOf(candidate));
    std::optional<sim::Picos> cutoff;
    if (objective_.overflow == 0) cutoff = objective_.runtime;
    const Objective objective = Evaluate(candidate, cutoff);
    if (objective > objective_) return;
    current_ = candidate;
    objective_ = objective;
    KeepBest();
  }

  void Kick() {
    UnitPlacement placement = best_;
    for (std::int64_t i = 0; i < settings_.kick; ++i) placement = moves_.Neighbour(placement, rng_);
    const UnitPlacement planned = Plan(placement, settings_.plan / 10);
    Sample(sampled_.contains(HashOf(planned)) ? placement : planned);
  }

  void KeepBest() {
    if (objective_ > best_objective_) return;
    best_ = current_;
    best_objective_ = objective_;
  }

  const Settings& settings_;
  const Task& task_;
  Evaluator& evaluator_;
  Moves moves_;
  ScheduleEstimate estimate_;
  Rng rng_;
  std::unordered_set<std::uint64_t> sampled_;  // by HashOf
  UnitPlacement current_;
  Objective objective_;
  UnitPlacement best_;
  Objective best_objective_;
};

class Pilot final : public Agent {
 public:
  explicit Pilot(const Spec& spec) {
    ParameterReader parameters(spec);
    settings_.screen = parameters.Int("screen", 20, 1, 1'000'000);
    settings_.plan = parameters.Int("plan", 10'000, 0, 1'000'000'000);
    settings_.hot = parameters.Double("hot", 0.02, 0, 1);
    settings_.kick = parameters.Int("kick", 3, 1, 1'000'000);
    settings_.patience = parameters.Int("patience", 200, 1, 1'000'000'000);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    Flight(settings_, task, evaluator, options.seed).Search(StartPlacement(task, options.seed));
  }

 private:
  std::string name_;
  Settings settings_;
};

}  // namespace

std::unique_ptr<Agent> MakePilot(const Spec& spec) {
  return std::make_unique<Pilot>(spec);
}

}  // namespace berth::agents
