#include "agents/search/team.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/placements.h"
#include "agents/search/bandit.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"
#include "agents/search/rescheduling.h"
#include "agents/search/screened_annealing.h"
#include "agents/search/screening.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/base/statistics.h"
#include "sim/screen/screen.h"

namespace stowplan::agents {
namespace {

constexpr std::size_t kPart = 4;          // placements that one thread proposes
constexpr std::size_t kRightPart = 2;     // and of those that screens choose, where they are right
constexpr std::int64_t kDescent = 8;      // steps of a descent
constexpr std::int64_t kMostTried = 16;   // moves screened for one sample, where screens are right
constexpr std::int64_t kKicks = 3;        // moves of a kick
constexpr std::int64_t kReplans = 5;      // parts of a plan that a later one has
constexpr double kTrusted = 0.6;          // tau from which on screens are asked
constexpr double kRight = 0.9;            // and from which on they are asked as much as is any use
constexpr std::size_t kControls = 48;     // moves that nobody chose, the last of them
constexpr std::int64_t kFlight = 40'000;  // screens of a plan that is worth a thread of its own
constexpr std::int64_t kMostFlights = 4;
constexpr std::int64_t kScreensOfSample = 80;  // planned for each sample of the budget

constexpr const char* kTurnNames[] = {"neighbours", "screened", "descent", "reschedule"};
constexpr const char* kAwayNames[] = {"plan", "kick", "reschedule"};

// Of all ops in the order in which they started.
std::vector<sim::OpIndex> OrderOf(const sim::OpGraph& graph, const std::vector<sim::Picos>& start) {
  std::vector<sim::OpIndex> order = graph.topological_order();
  std::ranges::stable_sort(order, {}, [&](sim::OpIndex op) { return start[static_cast<std::size_t>(op)]; });
  return order;
}

double Number(const Objective& objective) {
  return objective.overflow > 0 ? 1e18 + static_cast<double>(objective.overflow)
                                : static_cast<double>(objective.runtime);
}

}  // namespace

class Team::Impl {
 public:
  Impl(const Settings& settings, const Task& task, Evaluator& evaluator, const SearchOptions& options,
       Listener listener)
      : settings_(settings),
        task_(task),
        evaluator_(evaluator),
        options_(options),
        listener_(std::move(listener)),
        moves_(task, Moves::Kinds::kWithClusters),
        rng_(options.seed, "portfolio"),
        batch_(evaluator.budget() < 2000 ? 2 * kPart : 4 * kPart) {
    for (std::size_t part = 0; part < std::max<std::size_t>(batch_ / kPart, kMostFlights); ++part)
      parts_.emplace_back(options.seed, fmt::format("portfolio {}", part));
    MakeScreening(program_, {});
    if (!Rescheduling::Takes(task)) {
      listener_.left_out("list schedules", fmt::format("too much work for {} devices and {} units",
                                                       task.devices.size(), task.units.size()));
    } else {
      rescheduling_.emplace(task, moves_.tree());
    }
  }

  void Search() {
    Begin();
    if (program_ && evaluator_.remaining() >= kLeastProbed) Probe();
    if (program_) FirstPlan();
    while (!done()) {
      Climb();
      if (!done()) GoAway();
    }
  }

 private:
  enum Turn : std::size_t { kNeighbours, kScreened, kDescents, kReschedules, kTurns };
  enum Away : std::size_t { kReplan, kKick, kRescheduled, kAways };
  static constexpr std::int64_t kLeastProbed =
      64;  // samples that are left, for any to be spent on how right screens are

  struct Sampled {
    UnitPlacement placement;
    Objective objective;
  };

  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  void MakeScreening(std::optional<Screening>& screening, std::span<const sim::OpIndex> order) {
    try {
      screening.emplace(task_, evaluator_, options_.threads, order);
    } catch (const InputError& error) {
      listener_.left_out("screens", error.what());
      trust_ = 0;
    }
  }
  Screening& screening() { return ran_ && ran_trust_ > program_trust_ ? *ran_ : *program_; }

  void Begin() {
    if (evaluator_.has_best()) {
      best_ = {evaluator_.best(), {0, evaluator_.best_runtime()}};
      sampled_.insert(HashOf(best_.placement));
    } else {
      const std::vector<UnitPlacement> starts = moves_.TrivialPlacements();
      Evaluate(std::span(starts).first(std::min(starts.size(), batch_)), "trivial placements");
    }
    here_ = best_;
  }

  // ---- samples

  // In one batch; all of them count as `who`.
  std::vector<Objective> Evaluate(std::span<const UnitPlacement> placements, const char* who) {
    std::vector<Objective> objectives;
    for (const UnitPlacement& placement : placements) sampled_.insert(HashOf(placement));
    const std::vector<Evaluation> evaluations = evaluator_.EvaluateBatch(placements);
    for (std::size_t i = 0; i < evaluations.size(); ++i) {
      evaluator_.CountProposal();
      objectives.push_back(ObjectiveOf(task_, evaluations[i]));
      if (objectives[i] < best_.objective) best_ = {placements[i], objectives[i]};
    }
    listener_.sampled(who);
    return objectives;
  }

  // ---- trust

  void Probe() {
    const std::int64_t most = std::clamp<std::int64_t>(evaluator_.budget() / 32, 16, kControls);
    for (std::int64_t probed = 0; probed < most && !done(); probed += static_cast<std::int64_t>(batch_))
      TakeTurn(kNeighbours);
    Judge();
  }

  // How right screens are on the last controls.
  void Judge() {
    judged_ = evaluator_.samples();
    fresh_controls_ = 0;
    if (!program_) return;
    program_trust_ = TauOf(*program_);
    if (program_trust_ < kRight && evaluator_.remaining() > 0) {
      if (!ran_ || ran_from_ != HashOf(best_.placement)) ScreenAsRan();
      if (ran_) ran_trust_ = TauOf(*ran_);
    }
    trust_ = std::max(program_trust_, ran_ ? ran_trust_ : 0.0);
  }

  // In the order in which the best placement ran, which takes a sample.
  void ScreenAsRan() {
    ran_from_ = HashOf(best_.placement);
    const Evaluation evaluation = evaluator_.Evaluate(best_.placement, /*want_starts=*/true);
    listener_.sampled("neighbours");
    ran_.reset();
    MakeScreening(ran_, OrderOf(task_.problem->graph(), evaluation.start));
  }

  double TauOf(Screening& screening) {
    std::vector<UnitPlacement> placements;
    std::vector<double> simulated, screened;
    for (const Sampled& control : controls_) {
      placements.push_back(control.placement);
      simulated.push_back(Number(control.objective));
    }
    if (placements.empty()) return trust_;
    for (const Screened& one : screening.Of(placements)) screened.push_back(Number(one.objective));
    return KendallTauB(simulated, screened).tau_b;
  }

  void KeepControl(const UnitPlacement& placement, const Objective& objective) {
    if (controls_.size() >= kControls) controls_.erase(controls_.begin());
    controls_.push_back({placement, objective});
    ++fresh_controls_;
  }

  // ---- plans

  std::int64_t PlanScreens() const {
    const std::int64_t most = std::min(settings_.plan, kScreensOfSample * evaluator_.budget());
    return std::min(most, ScreenedAnnealing::MostScreens(task_.problem->graph()));
  }

  // Each on a thread of its own; where they end is sampled. Screens that are wrong where the rules left the search may order all
  // placements well, and those few samples tell: what they led to is where they are judged then.
  void FirstPlan() {
    const std::int64_t flights = std::clamp<std::int64_t>(PlanScreens() / kFlight, 1, kMostFlights);
    const Candidate known = screening().Candidates({best_.placement}).front();
    Land(static_cast<std::size_t>(flights), "plan", [&](ScreenedAnnealing& annealing, std::size_t) {
      return annealing.Plan(known, PlanScreens() / flights);
    });
    if (trust_ >= kTrusted || done()) return;
    if (here_.objective > best_.objective) {
      here_ = best_;
    } else {
      controls_.clear();
      Probe();
    }
  }

  template <typename Fly>
  void Land(std::size_t flights, const char* who, const Fly& fly) {
    std::vector<UnitPlacement> ends(flights);
    Screening& screens = screening();
    ParallelFor(flights, options_.threads, [&](std::size_t flight, int slot) {
      ScreenedAnnealing annealing = Annealing(screens, flight, slot);
      ends[flight] = fly(annealing, flight).placement;
    });
    StandOnBestOf(ends, who);
  }

  ScreenedAnnealing Annealing(Screening& screens, std::size_t part, int slot) {
    return {{}, task_, moves_, screens, parts_[part], [this] { return evaluator_.stop_requested(); }, slot};
  }

  // Better or not.
  void StandOnBestOf(std::vector<UnitPlacement> placements, const char* who) {
    if (done()) return;
    const std::vector<Objective> objectives = Evaluate(placements, who);
    const auto best = std::ranges::min_element(objectives) - objectives.begin();
    here_ = {std::move(placements[static_cast<std::size_t>(best)]),
             objectives[static_cast<std::size_t>(best)]};
    together_.reset();
  }

  // ---- turns

  void Climb() {
    for (std::int64_t failed = 0; failed < settings_.patience && !done();) {
      const Objective before = here_.objective;
      const std::int64_t samples = evaluator_.samples();
      TakeTurn(static_cast<Turn>(turns_.Choose(OpenTurns(), rng_)));
      if (fresh_controls_ >= kControls / 2) Judge();
      failed =
          here_.objective < before ? 0 : failed + std::max<std::int64_t>(1, evaluator_.samples() - samples);
    }
  }

  std::vector<bool> OpenTurns() const {
    const bool trusted = trust_ >= kTrusted;
    return {true, trusted, trusted, rescheduling_.has_value()};
  }

  void TakeTurn(Turn turn) {
    std::vector<UnitPlacement> proposed = Propose(turn);
    if (proposed.empty()) return;
    const Sampled before = here_;
    const bool tried_together = together_.has_value();
    if (together_) proposed.insert(proposed.begin(), *std::exchange(together_, std::nullopt));
    if (proposed.size() > batch_) proposed.resize(batch_);
    const std::vector<Objective> objectives = Evaluate(proposed, kTurnNames[turn]);
    proposed.resize(objectives.size());
    if (turn == kNeighbours) {
      for (std::size_t i = tried_together ? 1 : 0; i < proposed.size(); ++i)
        KeepControl(proposed[i], objectives[i]);
    }
    GoOn(proposed, objectives);
    turns_.Credit(turn, GainSince(before.objective));
  }

  double GainSince(const Objective& before) const {
    if (here_.objective >= before) return 0;
    if (before.overflow > 0) return 1;
    return std::log(static_cast<double>(std::max<sim::Picos>(1, before.runtime)) /
                    static_cast<double>(std::max<sim::Picos>(1, here_.objective.runtime)));
  }

  // To the best of them, unless it is worse. What else gained is kept to be tried together with that.
  void GoOn(const std::vector<UnitPlacement>& proposed, const std::vector<Objective>& objectives) {
    std::vector<std::size_t> order(proposed.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return objectives[i]; });
    const std::size_t best = order.front();
    if (objectives[best] > here_.objective) return;
    UnitPlacement together = proposed[best];
    for (const std::size_t i : order) {
      if (objectives[i] < here_.objective) Adopt(proposed[i], together);
    }
    if (together != proposed[best] && !sampled_.contains(HashOf(together))) together_ = std::move(together);
    here_ = {proposed[best], objectives[best]};
  }

  // What one changes of where the search stands, unless the other changes any of that, too.
  void Adopt(const UnitPlacement& one, UnitPlacement& other) const {
    const UnitPlacement& here = here_.placement;
    for (std::size_t unit = 0; unit < here.size(); ++unit) {
      if (one[unit] != here[unit] && other[unit] != here[unit]) return;
    }
    for (std::size_t unit = 0; unit < here.size(); ++unit) {
      if (one[unit] != here[unit]) other[unit] = one[unit];
    }
  }

  // New ones, a batch at most.
  std::vector<UnitPlacement> Propose(Turn turn) {
    std::vector<std::vector<UnitPlacement>> by_part(batch_ / kPart);
    const Candidate here = turn == kDescents ? screening().Candidates({here_.placement}).front()
                                             : Candidate{here_.placement, {}};
    Screening* const screens = program_ ? &screening() : nullptr;
    ParallelFor(by_part.size(), options_.threads, [&](std::size_t part, int slot) {
      by_part[part] = ProposePart(turn, here, screens, part, slot);
    });
    std::vector<UnitPlacement> proposed;
    std::unordered_set<std::uint64_t> seen;
    for (std::vector<UnitPlacement>& of_part : by_part) {
      for (UnitPlacement& placement : of_part) {
        const std::uint64_t hash = HashOf(placement);
        if (!sampled_.contains(hash) && seen.insert(hash).second) proposed.push_back(std::move(placement));
      }
    }
    return proposed;
  }

  std::vector<UnitPlacement> ProposePart(Turn turn, const Candidate& here, Screening* screens,
                                         std::size_t part, int slot) {
    Rng& rng = parts_[part];
    switch (turn) {
      case kScreened:
        return BestOfMoves(here.placement, *screens, rng, slot);
      case kDescents:
        return BestEnds(Annealing(*screens, part, slot).Descend(here, kDescent), here);
      case kReschedules: {
        std::vector<UnitPlacement> placements;
        for (std::size_t i = 0; i < kPart; ++i)
          placements.push_back(rescheduling_->OfCluster(here.placement, rng));
        return placements;
      }
      default: {
        std::vector<UnitPlacement> placements;
        for (std::size_t i = 0; i < kPart; ++i) placements.push_back(moves_.Neighbour(here.placement, rng));
        return placements;
      }
    }
  }

  std::vector<UnitPlacement> BestOfMoves(const UnitPlacement& here, Screening& screens, Rng& rng, int slot) {
    const auto tried = 1 + static_cast<std::int64_t>(Rightness() * static_cast<double>(kMostTried - 1));
    std::vector<UnitPlacement> moved;
    for (std::int64_t i = 0; i < tried * static_cast<std::int64_t>(kPart); ++i) {
      UnitPlacement placement = moves_.Neighbour(here, rng);
      if (!sampled_.contains(HashOf(placement))) moved.push_back(std::move(placement));
    }
    if (moved.empty()) return {};
    return Fastest(screens.Candidates(std::move(moved), slot));
  }

  std::vector<UnitPlacement> BestEnds(std::vector<Candidate> ends, const Candidate& here) const {
    std::erase_if(ends, [&](const Candidate& end) { return end.placement == here.placement; });
    return Fastest(std::move(ends));
  }

  // From 0, where screens are hardly trusted, to 1.
  double Rightness() const { return std::clamp((trust_ - kTrusted) / (kRight - kTrusted), 0.0, 1.0); }

  // Different ones; the fewer, the surer it is which of them is the fastest.
  std::vector<UnitPlacement> Fastest(std::vector<Candidate> candidates) const {
    std::ranges::stable_sort(candidates, {}, &Candidate::objective);
    const auto most = kPart - static_cast<std::size_t>(Rightness() * static_cast<double>(kPart - kRightPart));
    std::vector<UnitPlacement> fastest;
    for (Candidate& candidate : candidates) {
      if (fastest.size() < most && std::ranges::find(fastest, candidate.placement) == fastest.end())
        fastest.push_back(std::move(candidate.placement));
    }
    return fastest;
  }

  // ---- away

  // From the best that was found to somewhere near it; credited with what the climb before found from where it led.
  void GoAway() {
    if (away_) aways_.Credit(*away_, left_ > best_.objective ? 1 : 0);
    left_ = best_.objective;
    away_ = static_cast<Away>(aways_.Choose({trust_ >= kTrusted, true, rescheduling_.has_value()}, rng_));
    const auto kicked = [&](Rng& rng) {
      UnitPlacement placement = best_.placement;
      for (std::int64_t i = 0; i < kKicks; ++i) placement = moves_.Neighbour(placement, rng);
      return placement;
    };
    if (*away_ == kReplan) {
      return Land(batch_ / kPart, "plan", [&](ScreenedAnnealing& annealing, std::size_t part) {
        const Candidate start = annealing.ScreenOf(kicked(parts_[part]));
        return annealing.From(start, PlanScreens() / kReplans);
      });
    }
    std::vector<UnitPlacement> placements;
    for (std::size_t part = 0; part < batch_ / kPart; ++part)
      placements.push_back(*away_ == kKick ? kicked(rng_) : rescheduling_->OfMany(best_.placement, rng_));
    StandOnBestOf(std::move(placements), kAwayNames[*away_]);
  }

  const Settings settings_;
  const Task& task_;
  Evaluator& evaluator_;
  const SearchOptions& options_;
  Listener listener_;
  Moves moves_;
  Rng rng_;
  std::size_t batch_;
  std::vector<Rng> parts_;                  // of what is proposed side by side
  std::optional<Screening> program_, ran_;  // in the program's order, and as the best placement ran
  std::optional<Rescheduling> rescheduling_;
  double trust_ = kRight, program_trust_ = kRight, ran_trust_ = 0;  // taken for right until it is known
  std::uint64_t ran_from_ = 0;
  std::int64_t judged_ = 0;
  std::size_t fresh_controls_ = 0;
  std::vector<Sampled> controls_;
  std::unordered_set<std::uint64_t> sampled_;  // by HashOf
  Sampled here_, best_;
  std::optional<UnitPlacement> together_;
  Bandit turns_{kTurns}, aways_{kAways};
  std::optional<Away> away_;
  Objective left_;
};

Team::Team(const Settings& settings, const Task& task, Evaluator& evaluator, const SearchOptions& options,
           Listener listener)
    : impl_(std::make_unique<Impl>(settings, task, evaluator, options, std::move(listener))) {}
Team::~Team() = default;
void Team::Search() {
  impl_->Search();
}

}  // namespace stowplan::agents
