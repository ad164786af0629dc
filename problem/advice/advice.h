// Which of the placements that a search came by somebody should take.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "agents/evaluator.h"
#include "problem/advice/rivals.h"

namespace stowplan::problem {

// A gain below this is below the error of any prices.
inline constexpr double kWithin = 0.01;

struct Advice {
  agents::FittingPlacement chosen;
  agents::FittingPlacement fastest;  // of all that were seen
  std::string name;                  // of the rival that was chosen; empty = none was
  std::vector<Rival> rivals;
};

// Of the search's samples, the rivals, and what follows from the fastest sample (everything on one of its devices; a device emptied
// onto that which it exchanges most with; even splits over as many devices or fewer), the plainest within the evaluator's
// `within` of the fastest. None of these is a sample. The evaluator must have a best. Where it
// keeps none (`within` below 0) its best is chosen. `stop`: of the samples alone. `allowed`: what else than the samples may be
// chosen; empty = anything.
Advice Advise(const agents::Task& task, const agents::Evaluator& evaluator,
              const std::atomic<bool>* stop = nullptr,
              const std::function<bool(const agents::UnitPlacement&)>& allowed = {});

// For 80 columns: times and peaks. `chosen`: the runtime that they are compared with; 0 = none.
std::string PrintRivals(const std::vector<Rival>& rivals, const agents::Task& task, sim::Picos chosen);

// For 80 columns: the choice and its rivals, with times and peaks.
std::string PrintAdvice(const Advice& advice, const agents::Task& task);

}  // namespace stowplan::problem
