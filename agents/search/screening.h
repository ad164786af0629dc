// Placements compared by screens (sim/screen/screen.h), to choose which of them to sample. Screens are no samples; the evaluator
// counts them beside those.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "agents/evaluator.h"
#include "agents/search/objective.h"
#include "agents/task.h"
#include "sim/screen/screen.h"

namespace stowplan::agents {

// What a screen says of a placement.
struct Screened {
  Objective objective;
  std::vector<sim::Bytes> peak;  // by device, as screened
};

// A placement with its screen.
struct Candidate {
  UnitPlacement placement;
  Screened screened;
  const Objective& objective() const { return screened.objective; }
};

class Screening {
 public:
  // Keeps references. Results do not depend on `threads`. `order`: of ops, as sim::Screen takes it.
  Screening(const Task& task, Evaluator& evaluator, int threads, std::span<const sim::OpIndex> order = {});

  // 16 cost hardly more than one. Under the rules published everything fits. With a slot on the caller's thread alone
  // (sim::Screen::RunOn).
  std::vector<Screened> Of(std::span<const UnitPlacement> placements, std::optional<int> slot = std::nullopt);
  std::vector<Candidate> Candidates(std::vector<UnitPlacement> placements,
                                    std::optional<int> slot = std::nullopt);

  // Told the peaks of a placement that was simulated: from then on screened peaks are scaled by what they fell short of
  // them, so that what does not fit is not preferred again.
  void CorrectPeaks(const Screened& screened, const std::vector<sim::Bytes>& simulated);

 private:
  sim::Bytes OverflowOf(std::span<const sim::Bytes> peak) const;

  const Task& task_;
  Evaluator& evaluator_;
  sim::Screen screen_;
  std::vector<double> peak_scale_;  // by device
};

}  // namespace stowplan::agents
