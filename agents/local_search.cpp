// Iterated local search, first improvement: from the shared random start every move of one unit to another
// device is tried in random order until none helps, then as many swaps of two units as there are units, then
// a `kick` share of the best placement's units (two at least) goes elsewhere and all begins again (kick=1: a
// fresh random start). Placements that do not fit are compared by overflow bytes first.
//
// No placement is sampled twice: what was tried is remembered with what was seen. A kick that lands on a
// tried placement moves one unit more the next time; where even a random start is an old one, the first
// untried placement in the order of an odometer is taken, and the search ends when there is none. Else it
// spends the whole budget.
//
// Lourenço, Martin, Stützle: Iterated local search, Handbook of Metaheuristics, 2003.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "agents/agents.h"
#include "agents/objective.h"
#include "agents/placements.h"

namespace berth::agents {
namespace {

// One run: the placement that it stands on, the best that it has stood on, and all that it has tried.
class Climber {
 public:
  Climber(const Task& task, Evaluator& evaluator, std::uint64_t seed)
      : task_(task),
        evaluator_(evaluator),
        rng_(seed, "local_search"),
        cursor_(task.units.ops.size(), task.devices.front()) {}

  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  // False if it was tried before.
  bool StandOn(UnitPlacement placement) {
    const std::uint64_t hash = HashOf(placement);
    if (tried_.contains(hash)) return false;
    current_ = std::move(placement);
    objective_ = Sample(current_, hash, std::nullopt);
    KeepBest();
    return true;
  }

  void Climb() {
    while (!done() && (ImproveByMoves() || ImproveBySwaps())) {
    }
  }

  // The best with so many units elsewhere; with all of them, a fresh random placement.
  UnitPlacement Kicked(std::size_t units) {
    if (units >= best_.size() || task_.devices.size() == 1) return UniformPlacement(task_, rng_);
    UnitPlacement placement = best_;
    std::vector<std::size_t> order(placement.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    rng_.Shuffle(order);
    for (std::size_t i = 0; i < units; ++i) {
      sim::DeviceIndex& device = placement[order[i]];
      const sim::DeviceIndex before = device;
      while (device == before) device = rng_.Pick(task_.devices);
    }
    return placement;
  }

  // False if every placement was tried.
  bool StandOnUntried() {
    while (!StandOn(cursor_)) {
      if (!Advance(cursor_)) return false;
    }
    return true;
  }

 private:
  struct Move {
    std::size_t unit;
    sim::DeviceIndex device;
  };

  Objective Sample(const UnitPlacement& placement, std::uint64_t hash, std::optional<sim::Picos> cutoff) {
    evaluator_.CountProposal();
    return tried_[hash] = ObjectiveOf(task_, evaluator_.Evaluate(placement, false, cutoff));
  }

  // Takes the candidate if it is better. What runs longer than a placement that fits is no better, fit or
  // not; such a one is remembered as the worst there is.
  bool Try(const UnitPlacement& candidate) {
    std::optional<sim::Picos> cutoff;
    if (objective_.overflow == 0) cutoff = objective_.runtime;
    const std::uint64_t hash = HashOf(candidate);
    const auto known = tried_.find(hash);
    const Objective objective = known == tried_.end() ? Sample(candidate, hash, cutoff) : known->second;
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
  Rng rng_;
  std::unordered_map<std::uint64_t, Objective> tried_;  // by HashOf
  UnitPlacement cursor_;                                // all before it in the order of Advance() were tried
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
    climber.Climb();
    const auto units = static_cast<std::size_t>(task.units.size());
    const std::size_t gentle = std::max<std::size_t>(2, static_cast<std::size_t>(kick_ * task.units.size()));
    for (std::size_t kicked = gentle; !climber.done(); kicked = gentle) {
      while (kicked < units && !climber.StandOn(climber.Kicked(kicked))) ++kicked;
      if (kicked >= units && !climber.StandOn(climber.Kicked(units)) && !climber.StandOnUntried()) return;
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
