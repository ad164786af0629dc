// berth's own search: plans on screens (sim/screen.h), samples what the plan ends at, and goes on from the best placement
// sampled.
//
//  1. From the shared random start, `plan` screens of simulated annealing in `chains` chains that move at once, from `hot`
//     (a relative increase of runtime taken with probability 1/e) down to a hundredth of it. The best that any of them
//     passes is the first sample. Where other agents have sampled before (portfolio), half of the chains begin at the best
//     of theirs, and the search goes on from the better of the two.
//  2. Local search from the best sample: of `screen` neighbours (moves.h) the one with the best screen is sampled, and taken
//     unless it is worse.
//  3. After `patience` samples without anything better: a tenth of the plan again, from the best placement with a part
//     of it moved at random (`kick` neighbours); what it ends at is sampled and climbed from.
//
// Samples are exact simulations; screens cost no sample and are counted beside them (Evaluator::screens()). The peaks of
// the samples correct those of screens. Spends the whole budget.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "agents/agents.h"
#include "agents/moves.h"
#include "agents/objective.h"
#include "agents/placements.h"
#include "agents/screening.h"

namespace berth::agents {
namespace {

struct Settings {
  std::int64_t screen = 0;
  std::int64_t plan = 0;
  std::int64_t chains = 0;
  double hot = 0;
  std::int64_t kick = 0;
  std::int64_t patience = 0;
  bool tied = true;
};

// A placement with its screen.
struct Candidate {
  UnitPlacement placement;
  Screened screened;
  const Objective& objective() const { return screened.objective; }
};

class Flight {
 public:
  Flight(const Settings& settings, const Task& task, Evaluator& evaluator, const SearchOptions& options)
      : settings_(settings),
        task_(task),
        evaluator_(evaluator),
        moves_(task, settings.tied),
        screening_(task, evaluator, options.threads),
        rng_(options.seed, "pilot") {}

  void Search(const UnitPlacement& start) {
    std::vector<UnitPlacement> starts = {start};
    Objective found;  // of what others sampled
    if (evaluator_.has_best()) {
      starts.insert(starts.begin(), evaluator_.best());
      found = {0, evaluator_.best_runtime()};
      sampled_.insert(HashOf(starts.front()));
    }
    const Candidate planned = Plan(starts, settings_.plan);
    if (!sampled_.contains(HashOf(planned.placement))) Sample(planned);
    if (found < objective_) {
      current_ = starts.front();
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

  // Simulated annealing on screens; the best that it passes.
  Candidate Plan(const std::vector<UnitPlacement>& starts, std::int64_t screens) {
    constexpr double kCold = 0.01;  // of `hot`, at the end
    std::vector<Candidate> chains = Screen(starts);
    Candidate best = BestOf(chains);
    if (task_.devices.size() == 1) return best;
    const auto wanted = static_cast<std::size_t>(settings_.chains);
    chains.resize(std::min(chains.size(), wanted), best);
    for (std::size_t i = 0; chains.size() < wanted; ++i) chains.push_back(chains[i]);
    const std::int64_t steps = screens / settings_.chains;
    for (std::int64_t step = 0; step < steps && !evaluator_.stop_requested(); ++step) {
      const double done = static_cast<double>(step) / static_cast<double>(steps);
      Step(settings_.hot * std::pow(kCold, done), chains);
      const Candidate& now = BestOf(chains);
      if (now.objective() < best.objective()) best = now;
    }
    return best;
  }

  // Of each chain.
  void Step(double heat, std::vector<Candidate>& chains) {
    std::vector<UnitPlacement> next;
    for (const Candidate& chain : chains) next.push_back(moves_.Neighbour(chain.placement, rng_));
    std::vector<Candidate> there = Screen(std::move(next));
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (Accepts(heat, chains[i].objective(), there[i].objective())) chains[i] = std::move(there[i]);
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
    const Candidate planned = Plan({placement}, settings_.plan / 10);
    Sample(sampled_.contains(HashOf(planned.placement)) ? Screen({placement}).front() : planned);
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
  explicit Pilot(const Spec& spec) {
    ParameterReader parameters(spec);
    settings_.screen = parameters.Int("screen", 32, 1, 1'000'000);
    settings_.plan = parameters.Int("plan", 40'000, 0, 1'000'000'000);
    settings_.chains = parameters.Int("chains", 16, 1, 100'000);
    settings_.hot = parameters.Double("hot", 0.02, 0, 1);
    settings_.kick = parameters.Int("kick", 3, 1, 1'000'000);
    settings_.patience = parameters.Int("patience", 200, 1, 1'000'000'000);
    settings_.tied = parameters.Bool("tied", true);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    Flight(settings_, task, evaluator, options).Search(StartPlacement(task, options.seed));
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
