// stowplan's own search: plans on screens (sim/screen/screen.h), samples what the plan ends at, and goes on from the best placement
// sampled.
//
//  1. `plan` screens of simulated annealing in `chains` chains that move at once, from units on devices by chance. Half of
//     them first move clusters of units that share most (unit_tree.h), large ones before small ones: single units cannot
//     bring a layer of a recurrent model together, since each step on the way is slower than the one before. When they fall
//     to smaller clusters the better half of them goes on twice; for the second half of the plan they make all moves, as
//     the other chains do throughout. `hot` is a relative increase of runtime taken with probability 1/e, divided by
//     clusters / 128 where there are more; it falls to a hundredth. The best that any chain passes is the first sample. Where
//     other agents have sampled before (portfolio), some chains go on from the best of theirs when all moves begin, and the
//     search from the better of the two. Graphs of over 50,000 ops are planned on fewer screens.
//  2. Local search from the best sample: of `screen` neighbours (moves.h) the one with the best screen is sampled, and taken
//     unless it is worse.
//  3. After `patience` samples without anything better: a tenth of the plan again, without levels, from the best placement
//     with a part of it moved at random (`kick` neighbours); what it ends at is sampled and climbed from.
//
// Samples are exact simulations; screens cost no sample and are counted beside them (Evaluator::screens()). The peaks of
// the samples correct those of screens. Spends the whole budget.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include "agents/agents.h"
#include "agents/placements.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"
#include "agents/search/screening.h"
#include "sim/base/error.h"
#include "sim/screen/screen.h"

namespace stowplan::agents {
namespace {

constexpr double kHeated = 128;  // clusters that take all of `hot`: as many as units where it was chosen
constexpr double kCool = 0.1;    // of its heat, at the end of a level of clusters
constexpr double kCold = 0.01;   // and of all moves
constexpr std::int64_t kLevelSteps = 50;  // at least: a level that would get fewer is not worth its turn
constexpr std::int64_t kPlannedOps = 4'000'000'000;  // screened at most, about a minute of a core

struct PilotSettings {
  std::int64_t screen = 0;
  std::int64_t plan = 0;
  std::int64_t chains = 0;
  double hot = 0;
  std::int64_t kick = 0;
  std::int64_t patience = 0;
  bool levels = true;
};

// A placement with its screen.
struct Candidate {
  UnitPlacement placement;
  Screened screened;
  const Objective& objective() const { return screened.objective; }
};

class Flight {
 public:
  Flight(const PilotSettings& settings, const Task& task, Evaluator& evaluator, const SearchOptions& options)
      : settings_(settings),
        task_(task),
        evaluator_(evaluator),
        moves_(task, Moves::Kinds::kWithClusters),
        screening_(task, evaluator, options.threads),
        rng_(options.seed, "pilot") {}

  void Search() {
    std::optional<Candidate> known;
    Objective found;  // of what others sampled
    if (evaluator_.has_best()) {
      known = Screen({evaluator_.best()}).front();
      found = {0, evaluator_.best_runtime()};
      sampled_.insert(HashOf(known->placement));
    }
    const Candidate planned = Plan(known);
    if (!sampled_.contains(HashOf(planned.placement))) Sample(planned);
    if (known && found < objective_) {
      current_ = known->placement;
      objective_ = found;
      KeepBest();
    }
    Climb();
    while (!done()) {
      Kick();
      Climb();
    }
  }

 private:
  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  std::vector<Candidate> Screen(std::vector<UnitPlacement> placements) {
    std::vector<Screened> screened = screening_.Of(placements);
    std::vector<Candidate> candidates;
    candidates.reserve(placements.size());
    for (std::size_t i = 0; i < placements.size(); ++i)
      candidates.push_back({std::move(placements[i]), std::move(screened[i])});
    return candidates;
  }

  static const Candidate& BestOf(const std::vector<Candidate>& candidates) {
    return *std::ranges::min_element(candidates, {}, &Candidate::objective);
  }

  // What a chain does at a step: it moves clusters of the level and above, of level 0 all that Moves::Neighbour() does.
  struct Phase {
    std::size_t level = 0;
    double heat = 0;
  };

  std::int64_t PlanScreens() const {
    return std::min(settings_.plan, kPlannedOps / task_.problem->graph().size());
  }

  // The best that any chain passes.
  Candidate Plan(const std::optional<Candidate>& known) {
    const auto count = static_cast<std::size_t>(settings_.chains);
    const std::int64_t steps = PlanScreens() / settings_.chains;
    const std::size_t top = settings_.levels ? std::min(moves_.tree().LevelOf(task_.devices.size()),
                                                        static_cast<std::size_t>(steps / 2 / kLevelSteps))
                                             : 0;
    const std::size_t coarse = top > 0 ? (count + 1) / 2 : 0;
    std::vector<UnitPlacement> placements;
    for (std::size_t i = 0; i < count; ++i)
      placements.push_back(moves_.RandomClusters(i < coarse ? top : 0, rng_));
    std::vector<Candidate> chains = Screen(std::move(placements));
    Candidate best = BestOf(chains);
    if (known && known->objective() < best.objective()) best = *known;
    if (task_.devices.size() == 1) return best;
    // Of steps `begin` to `end` the coarse chains are at `level`; the others fall from the first step to the last.
    const auto walk = [&](std::int64_t begin, std::int64_t end, std::size_t level, double falls_to) {
      Walk(end - begin, chains, best, [&](double part) {
        const double done = (static_cast<double>(begin) + part * static_cast<double>(end - begin)) /
                            static_cast<double>(steps);
        std::vector<Phase> phases(count, {0, HeatOf(0) * std::pow(kCold, done)});
        std::fill_n(phases.begin(), coarse, Phase{level, HeatOf(level) * std::pow(falls_to, part)});
        return phases;
      });
    };
    std::int64_t step = 0;
    for (std::size_t level = top; level > 0; --level) {
      const std::int64_t end =
          steps / 2 * static_cast<std::int64_t>(top - level + 1) / static_cast<std::int64_t>(top);
      walk(step, end, level, kCool);
      step = end;
      KeepBetterHalf(std::span(chains).first(coarse));
    }
    const std::size_t all = coarse > 0 ? coarse : count;
    if (known) std::fill_n(chains.begin() + (all / 2), all - all / 2, *known);
    walk(step, steps, 0, kCold);
    return best;
  }

  double HeatOf(std::size_t level) const {
    return settings_.hot * std::min(1.0, kHeated / static_cast<double>(moves_.tree().Clusters(level)));
  }

  static void KeepBetterHalf(std::span<Candidate> chains) {
    std::ranges::stable_sort(chains, {}, &Candidate::objective);
    const std::size_t half = chains.size() / 2;
    std::ranges::copy(chains.first(half), chains.last(half).begin());
  }

  // Simulated annealing on screens. `phases` is asked before each step, when a part of them is done, what each chain does next.
  template <typename Phases>
  void Walk(std::int64_t steps, std::vector<Candidate>& chains, Candidate& best, const Phases& phases) {
    for (std::int64_t step = 0; step < steps && !evaluator_.stop_requested(); ++step) {
      Step(phases(static_cast<double>(step) / static_cast<double>(steps)), chains);
      const Candidate& now = BestOf(chains);
      if (now.objective() < best.objective()) best = now;
    }
  }

  void Step(const std::vector<Phase>& phases, std::vector<Candidate>& chains) {
    std::vector<UnitPlacement> next;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const UnitPlacement& here = chains[i].placement;
      next.push_back(phases[i].level == 0 ? moves_.Neighbour(here, rng_)
                                          : moves_.ClusterNeighbour(here, phases[i].level, rng_));
    }
    std::vector<Candidate> there = Screen(std::move(next));
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (Accepts(phases[i].heat, chains[i].objective(), there[i].objective()))
        chains[i] = std::move(there[i]);
    }
  }

  bool Accepts(double heat, const Objective& here, const Objective& there) {
    if (there <= here) return true;
    if (there.overflow > here.overflow || heat == 0) return false;
    const auto runtime = static_cast<double>(std::max<sim::Picos>(1, here.runtime));
    const double increase = static_cast<double>(there.runtime) / runtime - 1;
    return rng_.Uniform() < std::exp(-increase / heat);
  }

  // Stands on the placement, better or not.
  void Sample(const Candidate& candidate) {
    current_ = candidate.placement;
    objective_ = Evaluate(candidate, std::nullopt);
    KeepBest();
  }

  Objective Evaluate(const Candidate& candidate, std::optional<sim::Picos> cutoff) {
    sampled_.insert(HashOf(candidate.placement));
    evaluator_.CountProposal();
    const Evaluation evaluation = evaluator_.Evaluate(candidate.placement, false, cutoff);
    if (!evaluation.stopped) screening_.CorrectPeaks(candidate.screened, evaluation.peak);
    return ObjectiveOf(task_, evaluation);
  }

  void Climb() {
    for (std::int64_t failures = 0; failures < settings_.patience && !done();) {
      std::vector<UnitPlacement> neighbours;
      for (std::int64_t i = 0; i < settings_.screen; ++i) {
        UnitPlacement neighbour = moves_.Neighbour(current_, rng_);
        if (!sampled_.contains(HashOf(neighbour))) neighbours.push_back(std::move(neighbour));
      }
      if (neighbours.empty()) return;
      const Objective before = objective_;
      Take(BestOf(Screen(std::move(neighbours))));
      failures = objective_ < before ? 0 : failures + 1;
    }
  }

  // Samples the candidate and goes there unless it is worse. What runs longer than a placement that fits is worse, fit
  // or not.
  void Take(const Candidate& candidate) {
    std::optional<sim::Picos> cutoff;
    if (objective_.overflow == 0) cutoff = objective_.runtime;
    const Objective objective = Evaluate(candidate, cutoff);
    if (objective > objective_) return;
    current_ = candidate.placement;
    objective_ = objective;
    KeepBest();
  }

  void Kick() {
    UnitPlacement placement = best_;
    for (std::int64_t i = 0; i < settings_.kick; ++i) placement = moves_.Neighbour(placement, rng_);
    const Candidate kicked = Screen({placement}).front();
    std::vector<Candidate> chains(static_cast<std::size_t>(settings_.chains), kicked);
    Candidate planned = kicked;
    Walk(PlanScreens() / 10 / settings_.chains, chains, planned, [&](double done) {
      return std::vector<Phase>(chains.size(), {0, HeatOf(0) * std::pow(kCold, done)});
    });
    Sample(sampled_.contains(HashOf(planned.placement)) ? kicked : planned);
  }

  void KeepBest() {
    if (objective_ > best_objective_) return;
    best_ = current_;
    best_objective_ = objective_;
  }

  const PilotSettings& settings_;
  const Task& task_;
  Evaluator& evaluator_;
  Moves moves_;
  Screening screening_;
  Rng rng_;
  std::unordered_set<std::uint64_t> sampled_;  // by HashOf
  UnitPlacement current_;
  Objective objective_;
  UnitPlacement best_;
  Objective best_objective_;
};

class Pilot final : public Agent {
 public:
  explicit Pilot(const Settings& read) : Agent(read.Canonical()) {
    settings_.screen = read.Int("screen");
    settings_.plan = read.Int("plan");
    settings_.chains = read.Int("chains");
    settings_.hot = read.Double("hot");
    settings_.kick = read.Int("kick");
    settings_.patience = read.Int("patience");
    settings_.levels = read.Bool("levels");
  }

  void Require(const Task& task) override {
    if (task.devices.size() <= sim::Screen::kMostDevices) return;
    throw InputError(
        fmt::format("pilot evaluates placements approximately, which takes at most {} devices, and here are "
                    "{}; --devices chooses some",
                    sim::Screen::kMostDevices, task.devices.size()));
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    Require(task);
    Flight(settings_, task, evaluator, options).Search();
  }

 private:
  PilotSettings settings_;
};

}  // namespace

std::unique_ptr<Agent> MakePilot(const Settings& read) {
  return std::make_unique<Pilot>(read);
}

}  // namespace stowplan::agents
