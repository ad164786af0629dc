// Simulated annealing on screens: what `pilot` and `portfolio` do before they sample.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agents/random_numbers.h"
#include "agents/search/moves.h"
#include "agents/search/screening.h"
#include "agents/task.h"

namespace stowplan::agents {

class ScreenedAnnealing {
 public:
  struct Settings {
    std::int64_t chains = 16;
    double hot = 0.02;   // relative increase of runtime taken with probability 1/e, at first
    bool levels = true;  // half of the chains move large clusters before small ones
  };
  // That one plan makes at most: about a minute of a core.
  static std::int64_t MostScreens(const sim::OpGraph& graph);

  // Keeps references; `moves` has clusters. With a slot all on the caller's thread (Screening::Of). `stop`: asked at every
  // step.
  ScreenedAnnealing(const Settings& settings, const Task& task, const Moves& moves, Screening& screening,
                    Rng& rng, std::function<bool()> stop, std::optional<int> slot = std::nullopt);

  // The best that any chain passes in so many screens, from units on devices by chance. Half of the chains first move clusters
  // of units that share most (unit_tree.h), large ones before small ones: single units cannot bring a layer of a recurrent
  // model together, since each step on the way is slower than the one before. When they fall to smaller clusters the better
  // half of them goes on twice; for the second half of the plan they make all moves, as the other chains do throughout. The
  // heat, divided by clusters / 128 where there are more, falls to a hundredth. Where a placement is `known`, some chains go on
  // from that when all moves begin.
  Candidate Plan(const std::optional<Candidate>& known, std::int64_t screens);
  // The same from one placement, without levels.
  Candidate From(const Candidate& start, std::int64_t screens);
  Candidate ScreenOf(UnitPlacement placement) {
    return screening_.Candidates({std::move(placement)}, slot_).front();
  }
  // So many steps of all chains without heat; where they stand then.
  std::vector<Candidate> Descend(const Candidate& start, std::int64_t steps);

 private:
  // What a chain does at a step: it moves clusters of the level and above, of level 0 all that Moves::Neighbour() does.
  struct Phase {
    std::size_t level = 0;
    double heat = 0;
  };
  using Phases = std::function<std::vector<Phase>(double done)>;

  double HeatOf(std::size_t level) const;
  static void KeepBetterHalf(std::span<Candidate> chains);
  void Walk(std::int64_t steps, std::vector<Candidate>& chains, Candidate& best, const Phases& phases);
  void Step(const std::vector<Phase>& phases, std::vector<Candidate>& chains);
  bool Accepts(double heat, const Objective& here, const Objective& there);

  const Settings settings_;
  const Task& task_;
  const Moves& moves_;
  Screening& screening_;
  Rng& rng_;
  std::function<bool()> stop_;
  std::optional<int> slot_;
};

const Candidate& BestOf(const std::vector<Candidate>& candidates);

}  // namespace stowplan::agents
