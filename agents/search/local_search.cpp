// Iterated local search, first improvement: neighbours (moves.h) are drawn at random and taken unless they
// are worse. After `patience` draws without anything better the search goes back to the best placement,
// changes it by `kick` neighbours at once, better or not, and climbs again. It begins at the best of `start`
// (StartsOf). Placements that do not fit are compared by overflow bytes first.
//
// No placement is sampled twice: what was tried is remembered, and a draw that was tried counts as one without
// success. Where a kick of all units' number finds only what was tried, the first untried placement in the
// order of an odometer is taken, and the search ends when there is none. Else it spends the whole budget.
//
// Weak where good placements are finely mixed: there few moves but those of single units help
// (results/agents/classical.md).
//
// Lourenço, Martin, Stützle: Iterated local search, Handbook of Metaheuristics, 2003.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "agents/agents.h"
#include "agents/placements.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"

namespace stowplan::agents {
namespace {

// One run: the placement that it stands on, the best that it has stood on, and all that it has tried.
class Climber {
 public:
  Climber(const Task& task, Evaluator& evaluator, std::uint64_t seed)
      : task_(task),
        evaluator_(evaluator),
        moves_(task),
        rng_(seed, "local_search"),
        cursor_(task.units.ops.size(), task.devices.front()) {}

  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  void Begin(const std::string& start, std::uint64_t seed) {
    for (const UnitPlacement& placement : StartsOf(start, task_, moves_, seed)) {
      if (!done()) StandOn(placement);
    }
    GoBack();
  }

  void Climb(std::int64_t patience) {
    for (std::int64_t failures = 0; failures < patience && !done();) {
      const Objective before = objective_;
      Consider(moves_.Neighbour(current_, rng_));
      failures = objective_ < before ? 0 : failures + 1;
    }
  }

  // Onto a placement that was not tried, `moves` neighbours or more from the best. False if there is none left.
  bool Kick(std::int64_t moves) {
    GoBack();
    UnitPlacement placement = best_;
    const std::int64_t most = moves + task_.units.size();
    for (std::int64_t i = 1; i <= most; ++i) {
      placement = moves_.Neighbour(placement, rng_);
      if (i >= moves && StandOn(placement)) return true;
    }
    while (!StandOn(cursor_)) {
      if (!Advance(cursor_)) return false;
    }
    return true;
  }

 private:
  // False if it was tried before.
  bool StandOn(const UnitPlacement& placement) {
    if (!tried_.insert(HashOf(placement)).second) return false;
    current_ = placement;
    evaluator_.CountProposal();
    objective_ = ObjectiveOf(task_, evaluator_.Evaluate(placement));
    KeepBest();
    return true;
  }

  void GoBack() {
    current_ = best_;
    objective_ = best_objective_;
  }

  // Takes the candidate if it is new and no worse. What runs longer than a placement that fits is worse, fit
  // or not.
  void Consider(const UnitPlacement& candidate) {
    if (!tried_.insert(HashOf(candidate)).second) return;
    std::optional<sim::Picos> cutoff;
    if (objective_.overflow == 0) cutoff = objective_.runtime;
    evaluator_.CountProposal();
    const Objective objective = ObjectiveOf(task_, evaluator_.Evaluate(candidate, false, cutoff));
    if (objective > objective_) return;
    current_ = candidate;
    objective_ = objective;
    KeepBest();
  }

  void KeepBest() {
    if (objective_ > best_objective_) return;
    best_ = current_;
    best_objective_ = objective_;
  }

  // The next of all placements, the last unit turning fastest; false behind the last one.
  bool Advance(UnitPlacement& placement) const {
    for (auto device = placement.rbegin(); device != placement.rend(); ++device) {
      const auto next = std::upper_bound(task_.devices.begin(), task_.devices.end(), *device);
      if (next != task_.devices.end()) {
        *device = *next;
        return true;
      }
      *device = task_.devices.front();
    }
    return false;
  }

  const Task& task_;
  Evaluator& evaluator_;
  Moves moves_;
  Rng rng_;
  std::unordered_set<std::uint64_t> tried_;  // by HashOf
  UnitPlacement cursor_;                     // all before it in the order of Advance() were tried
  UnitPlacement current_;
  Objective objective_;
  UnitPlacement best_;
  Objective best_objective_;
};

class LocalSearch final : public Agent {
 public:
  explicit LocalSearch(const Settings& read) : Agent(read.Canonical()) {
    start_ = read.Text("start");
    kick_ = read.Int("kick");
    patience_ = read.Int("patience");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    Climber climber(task, evaluator, options.seed);
    if (climber.done()) return;
    climber.Begin(start_, options.seed);
    climber.Climb(patience_);
    while (!climber.done() && climber.Kick(kick_)) climber.Climb(patience_);
  }

 private:
  std::string start_;
  std::int64_t kick_ = 0;
  std::int64_t patience_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeLocalSearch(const Settings& read) {
  return std::make_unique<LocalSearch>(read);
}

}  // namespace stowplan::agents
