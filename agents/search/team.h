// What `portfolio` does after the rules: searches that share the placement they stand on and what they find. A bandit says
// whose turn it is, by what each has gained of late; a turn is a batch of samples, which threads share.
//
//  neighbours   moves of moves.h, by chance
//  screened     of several such moves the one with the best screen
//  descent      a few moves that each lower the screen, of many such walks the best
//  reschedule   a cluster of units, placed anew by a list schedule with the others where they are
//
// Who gains in one batch is also tried together in the next. After `patience` samples without a gain the search goes back to
// the best and is moved away: by moves (kick), by a list schedule of a part of the units (reschedule), or by annealing on
// screens (plan).
//
// Screens are trusted as far as they are right: Kendall's tau of screens and samples, over moves that nobody chose, near where
// the search stands. Below 0.6 nobody asks them but the first plan, which shows by a few samples what they are worth. Where ops do not run in the program's order screens in the order in which the
// best placement ran are compared with those, too.
//
// What a turn does is counted in samples and screens, never in seconds, and shared out in parts of fixed size: the same bits
// for any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agents/agent.h"

namespace stowplan::agents {

class Team {
 public:
  struct Settings {
    std::int64_t plan =
        0;  // screens of the first plan at most, 80 for each sample of the budget where that is less
    std::int64_t patience = 120;  // samples without a gain that end a climb
  };
  // Who is left out and why; who made the samples since the last call.
  struct Listener {
    std::function<void(const std::string& who, const std::string& why)> left_out;
    std::function<void(const std::string& who)> sampled;
  };
  // Keeps references.
  Team(const Settings& settings, const Task& task, Evaluator& evaluator, const SearchOptions& options,
       Listener listener);
  ~Team();
  // Goes on from the best that the evaluator has, and spends the budget.
  void Search();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stowplan::agents
