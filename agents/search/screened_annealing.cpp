#include "agents/search/screened_annealing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stowplan::agents {
namespace {

constexpr double kHeated = 128;  // clusters that take all of `hot`: as many as units where it was chosen
constexpr double kCool = 0.1;    // of its heat, at the end of a level of clusters
constexpr double kCold = 0.01;   // and of all moves
constexpr std::int64_t kLevelSteps = 50;  // at least: a level that would get fewer is not worth its turn

}  // namespace

const Candidate& BestOf(const std::vector<Candidate>& candidates) {
  return *std::ranges::min_element(candidates, {}, &Candidate::objective);
}

ScreenedAnnealing::ScreenedAnnealing(const Settings& settings, const Task& task, const Moves& moves,
                                     Screening& screening, Rng& rng, std::function<bool()> stop,
                                     std::optional<int> slot)
    : settings_(settings),
      task_(task),
      moves_(moves),
      screening_(screening),
      rng_(rng),
      stop_(std::move(stop)),
      slot_(slot) {}

std::int64_t ScreenedAnnealing::MostScreens(const sim::OpGraph& graph) {
  constexpr std::int64_t kOps = 4'000'000'000;
  return kOps / graph.size();
}

Candidate ScreenedAnnealing::Plan(const std::optional<Candidate>& known, std::int64_t screens) {
  const auto count = static_cast<std::size_t>(settings_.chains);
  const std::int64_t steps = screens / settings_.chains;
  const std::size_t top = settings_.levels ? std::min(moves_.tree().LevelOf(task_.devices.size()),
                                                      static_cast<std::size_t>(steps / 2 / kLevelSteps))
                                           : 0;
  const std::size_t coarse = top > 0 ? (count + 1) / 2 : 0;
  std::vector<UnitPlacement> placements;
  for (std::size_t i = 0; i < count; ++i)
    placements.push_back(moves_.RandomClusters(i < coarse ? top : 0, rng_));
  std::vector<Candidate> chains = screening_.Candidates(std::move(placements), slot_);
  Candidate best = BestOf(chains);
  if (known && known->objective() < best.objective()) best = *known;
  if (task_.devices.size() == 1) return best;
  // Of steps `begin` to `end` the coarse chains are at `level`; the others fall from the first step to the last.
  const auto walk = [&](std::int64_t begin, std::int64_t end, std::size_t level, double falls_to) {
    Walk(end - begin, chains, best, [&](double part) {
      const double done =
          (static_cast<double>(begin) + part * static_cast<double>(end - begin)) / static_cast<double>(steps);
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

Candidate ScreenedAnnealing::From(const Candidate& start, std::int64_t screens) {
  std::vector<Candidate> chains(static_cast<std::size_t>(settings_.chains), start);
  Candidate best = start;
  Walk(screens / settings_.chains, chains, best, [&](double done) {
    return std::vector<Phase>(chains.size(), {0, HeatOf(0) * std::pow(kCold, done)});
  });
  return best;
}

std::vector<Candidate> ScreenedAnnealing::Descend(const Candidate& start, std::int64_t steps) {
  std::vector<Candidate> chains(static_cast<std::size_t>(settings_.chains), start);
  Candidate best = start;
  Walk(steps, chains, best, [&](double) { return std::vector<Phase>(chains.size()); });
  return chains;
}

double ScreenedAnnealing::HeatOf(std::size_t level) const {
  return settings_.hot * std::min(1.0, kHeated / static_cast<double>(moves_.tree().Clusters(level)));
}

void ScreenedAnnealing::KeepBetterHalf(std::span<Candidate> chains) {
  std::ranges::stable_sort(chains, {}, &Candidate::objective);
  const std::size_t half = chains.size() / 2;
  std::ranges::copy(chains.first(half), chains.last(half).begin());
}

// `phases` is asked before each step, when a part of them is done, what each chain does next.
void ScreenedAnnealing::Walk(std::int64_t steps, std::vector<Candidate>& chains, Candidate& best,
                             const Phases& phases) {
  for (std::int64_t step = 0; step < steps && !stop_(); ++step) {
    Step(phases(static_cast<double>(step) / static_cast<double>(steps)), chains);
    const Candidate& now = BestOf(chains);
    if (now.objective() < best.objective()) best = now;
  }
}

void ScreenedAnnealing::Step(const std::vector<Phase>& phases, std::vector<Candidate>& chains) {
  std::vector<UnitPlacement> next;
  next.reserve(chains.size());
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const UnitPlacement& here = chains[i].placement;
    next.push_back(phases[i].level == 0 ? moves_.Neighbour(here, rng_)
                                        : moves_.ClusterNeighbour(here, phases[i].level, rng_));
  }
  std::vector<Candidate> there = screening_.Candidates(std::move(next), slot_);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (Accepts(phases[i].heat, chains[i].objective(), there[i].objective())) chains[i] = std::move(there[i]);
  }
}

bool ScreenedAnnealing::Accepts(double heat, const Objective& here, const Objective& there) {
  if (there <= here) return true;
  if (there.overflow > here.overflow || heat == 0) return false;
  const auto runtime = static_cast<double>(std::max<sim::Picos>(1, here.runtime));
  const double increase = static_cast<double>(there.runtime) / runtime - 1;
  return rng_.Uniform() < std::exp(-increase / heat);
}

}  // namespace stowplan::agents
