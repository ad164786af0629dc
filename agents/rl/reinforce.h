// REINFORCE, in pieces that every learner of this folder shares: returns, per-step baseline, schedules, loss.
// Williams 1992; the per-step baseline and the summed gradient are those of Placeto's published program.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "agents/rl/nn/byte_state.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// Straight from `first` to `last` while progress goes from 0 to `until`, then `last`. Progress is the part of
// the budget that is spent, in [0, 1].
struct LinearSchedule {
  double first = 0;
  double last = 0;
  double until = 1;

  double At(double progress) const;
};

// Returns of an episode whose reward at step t is the decrease costs[t] - costs[t + 1]: undiscounted they
// telescope to costs[t] - costs.back(). One fewer than the costs.
std::vector<double> ReturnsOfDecreases(std::span<const double> costs);
// costs[t] less the smallest of all later costs. One fewer than the costs.
std::vector<double> ReturnsToTheBestLater(std::span<const double> costs);

// For each step of an episode, the mean over the last `window` updates of the return at that step, the
// current update included; an update counts with the mean over its parallel episodes. One baseline belongs to
// one graph.
class StepBaseline {
 public:
  explicit StepBaseline(std::size_t window) : window_(window) {}

  // Adds the returns [episode][step] of one update (equal lengths, at least one episode) and gives the
  // baseline by step.
  std::vector<double> Update(const std::vector<std::vector<double>>& returns);

  void Save(StateWriter& out) const;
  void Load(StateReader& in, std::int64_t steps);  // of that many steps, InputError

 private:
  std::size_t window_;
  std::deque<std::vector<double>> means_;  // [update][step], newest last
};

// Log-probability of the action taken in each row of `logits` [..., choices], and the entropy of the row.
// `actions` [...] are integers. `floor` is added to the probability inside the logarithm of the entropy (1e-3
// in the published code of Placeto).
struct ActionTerms {
  at::Tensor log_probability;  // [...]
  at::Tensor entropy;          // [...]
};
ActionTerms TermsOfActions(const at::Tensor& logits, const at::Tensor& actions, double floor = 0);

// sum over states of -advantage * log-probability - entropy weight * entropy; not divided by anything.
at::Tensor PolicyLoss(const ActionTerms& terms, const std::vector<double>& advantages, double entropy_weight);

}  // namespace stowplan::agents::rl
