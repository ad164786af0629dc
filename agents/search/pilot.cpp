// stowplan's own search: plans on screens (sim/screen/screen.h), samples what the plan ends at, and goes on from the best placement
// sampled.
//
//  1. `plan` screens of simulated annealing in `chains` chains that move at once (screened_annealing.h). The best that any
//     chain passes is the first sample. Where other agents have sampled before, some chains go on from the best of theirs, and
//     the search from the better of the two. Graphs of over 50,000 ops are planned on fewer screens.
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
#include "agents/search/screened_annealing.h"
#include "agents/search/screening.h"
#include "sim/base/error.h"
#include "sim/screen/screen.h"

namespace stowplan::agents {
namespace {

struct PilotSettings {
  std::int64_t screen = 0;
  std::int64_t plan = 0;
  ScreenedAnnealing::Settings annealing;
  std::int64_t kick = 0;
  std::int64_t patience = 0;
};

class Flight {
 public:
  Flight(const PilotSettings& settings, const Task& task, Evaluator& evaluator, const SearchOptions& options)
      : settings_(settings),
        task_(task),
        evaluator_(evaluator),
        moves_(task, Moves::Kinds::kWithClusters),
        screening_(task, evaluator, options.threads),
        rng_(options.seed, "pilot"),
        annealing_(settings.annealing, task, moves_, screening_, rng_,
                   [this] { return evaluator_.stop_requested(); }) {}

  void Search() {
    std::optional<Candidate> known;
    Objective found;  // of what others sampled
    if (evaluator_.has_best()) {
      known = screening_.Candidates({evaluator_.best()}).front();
      found = {0, evaluator_.best_runtime()};
      sampled_.insert(HashOf(known->placement));
    }
    const Candidate planned = annealing_.Plan(known, PlanScreens());
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

  std::int64_t PlanScreens() const {
    return std::min(settings_.plan, ScreenedAnnealing::MostScreens(task_.problem->graph()));
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
      Take(BestOf(screening_.Candidates(std::move(neighbours))));
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
    const Candidate kicked = screening_.Candidates({placement}).front();
    const Candidate planned = annealing_.From(kicked, PlanScreens() / 10);
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
  ScreenedAnnealing annealing_;
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
    settings_.annealing.chains = read.Int("chains");
    settings_.annealing.hot = read.Double("hot");
    settings_.kick = read.Int("kick");
    settings_.patience = read.Int("patience");
    settings_.annealing.levels = read.Bool("levels");
  }

  void Require(const Task& task) override {
    try {
      sim::Screen::Require(*task.problem, task.devices.size());
    } catch (const InputError& error) {
      throw InputError(fmt::format(
          "pilot evaluates placements approximately, by screens, but {}; another agent{} can do it",
          error.what(),
          task.devices.size() > sim::Screen::kMostDevices ? ", or fewer devices (--devices)," : ""));
    }
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
