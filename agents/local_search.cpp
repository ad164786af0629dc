// Iterated local search, first improvement: from the shared random start every move of one unit to another
// device is tried in random order until none helps, then as many swaps of two units as there are units, then
// a `kick` share of the best placement's units is drawn anew and all begins again (kick=1: a fresh random
// start). Placements that do not fit are compared by overflow bytes first. Spends the whole budget.
//
// Lourenço, Martin, Stützle: Iterated local search, Handbook of Metaheuristics, 2003.
#include <algorithm>
#include <optional>

#include "agents/agents.h"
#include "agents/objective.h"
#include "agents/placements.h"

namespace berth::agents {
namespace {

// One run: the placement that it stands on, and the best that it has stood on.
class Climber {
 public:
  Climber(const Task& task, Evaluator& evaluator, std::uint64_t seed)
      : task_(task), evaluator_(evaluator), rng_(seed, "local_search") {}

  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  void StandOn(UnitPlacement placement) {
    current_ = std::move(placement);
    objective_ = Value(current_, std::nullopt);
    KeepBest();
  }

  void Climb() {
    while (!done() && (ImproveByMoves() || ImproveBySwaps())) {
    }
  }

  UnitPlacement KickedBest(double share) {
    UnitPlacement placement = best_;
    const auto units = static_cast<double>(placement.size());
    const auto kicked = std::max<std::int64_t>(2, static_cast<std::int64_t>(share * units));
    if (share >= 1) return UniformPlacement(task_, rng_);
    for (std::int64_t i = 0; i < kicked; ++i) {
      placement[static_cast<std::size_t>(rng_.Below(placement.size()))] = rng_.Pick(task_.devices);
    }
    return placement;
  }

 private:
  struct Move {
    std::size_t unit;
    sim::DeviceIndex device;
  };

  Objective Value(const UnitPlacement& placement, std::optional<sim::Picos> cutoff) {
    evaluator_.CountProposal();
    return ObjectiveOf(task_, evaluator_.Evaluate(placement, false, cutoff));
  }

  // Takes the candidate if it is better. What runs longer than a placement that fits is no better, fit or
  // not.
  bool Try(const UnitPlacement& candidate) {
    std::optional<sim::Picos> cutoff;
    if (objective_.overflow == 0) cutoff = objective_.runtime;
    const Objective objective = Value(candidate, cutoff);
    if (objective >= objective_) return false;
    current_ = candidate;
    objective_ = objective;
    KeepBest();
    return true;
  }

  void KeepBest() {
    if (objective_ >= best_objective_) return;
    best_ = current_;
    best_objective_ = objective_;
  }

  // One pass over all moves; true if any was taken.
  bool ImproveByMoves() {
    std::vector<Move> moves;
    for (std::size_t unit = 0; unit < current_.size(); ++unit) {
      for (const sim::DeviceIndex device : task_.devices) moves.push_back({unit, device});
    }
    rng_.Shuffle(moves);
    bool improved = false;
    for (const Move& move : moves) {
      if (done()) return false;
      if (current_[move.unit] == move.device) continue;
      UnitPlacement candidate = current_;
      candidate[move.unit] = move.device;
      improved |= Try(candidate);
    }
    return improved;
  }

  // Random pairs on different devices; true as soon as one helps.
  bool ImproveBySwaps() {
    for (std::size_t i = 0; i < current_.size() && !done(); ++i) {
      const auto a = static_cast<std::size_t>(rng_.Below(current_.size()));
      const auto b = static_cast<std::size_t>(rng_.Below(current_.size()));
      if (current_[a] == current_[b]) continue;
      UnitPlacement candidate = current_;
      std::swap(candidate[a], candidate[b]);
      if (Try(candidate)) return true;
    }
    return false;
  }

  const Task& task_;
  Evaluator& evaluator_;
  Rng rng_;
  UnitPlacement current_;
  Objective objective_;
  UnitPlacement best_;
  Objective best_objective_;
};

class LocalSearch final : public Agent {
 public:
  explicit LocalSearch(const Spec& spec) {
    ParameterReader parameters(spec);
    kick_ = parameters.Double("kick", 0.1, 0, 1);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    Climber climber(task, evaluator, options.seed);
    if (climber.done()) return;
    climber.StandOn(StartPlacement(task, options.seed));
    if (task.devices.size() == 1 || task.units.size() == 0) return;  // there is only one placement
    climber.Climb();
    while (!climber.done()) {
      climber.StandOn(climber.KickedBest(kick_));
      climber.Climb();
    }
  }

 private:
  std::string name_;
  double kick_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeLocalSearch(const Spec& spec) {
  return std::make_unique<LocalSearch>(spec);
}

}  // namespace berth::agents
