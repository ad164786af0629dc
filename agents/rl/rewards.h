// What a one-shot learner is paid for a placement, and what it compares that with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/evaluator.h"
#include "agents/rl/nn/byte_state.h"
#include "agents/task.h"

namespace stowplan::agents::rl {

enum class Reward : std::uint8_t {
  // -sqrt(runtime in seconds), -10 if infeasible: the papers' (docs/protocol_rules.md#infeasible-rewards).
  kRoot,
  // -sqrt(runtime / reference runtime); an infeasible one also loses 1 and, for each device, the part by
  // which its peak is above its capacity (docs/protocol_rules.md#tuned).
  kShaped,
};
double RewardOf(Reward kind, const Task& task, const Evaluation& evaluation);

// -10 = -sqrt(100 s): the published reward of a placement that fails.
inline constexpr double kFailingReward = -10;

enum class Baseline : std::uint8_t {
  kMovingAverage,  // exponential, started at the mean of the first batch
  kFromFailing,    // the same, started at kFailingReward
  kRunningMean,    // of all rewards so far
  kLeaveOneOut,    // the mean of the others of the batch
};

// Advantages of one task's batches. The averages are those before the batch, so that a draw never answers for
// itself; the first batch of an average that starts at it is compared with its own mean.
class BatchBaseline {
 public:
  BatchBaseline(Baseline kind, double decay) : kind_(kind), decay_(decay) {}

  // `counts`: which rewards are learned from; the others get advantage 0 and enter no average. With fewer
  // than two of them leave-one-out has nothing to compare with: advantage 0.
  std::vector<double> Advantages(const std::vector<double>& rewards, const std::vector<bool>& counts);

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  double Before(double batch_mean) const;

  Baseline kind_;
  double decay_;
  std::int64_t seen_ = 0;  // rewards averaged so far
  double average_ = 0;
};

// Divides by the standard deviation over those that count, at least `floor`.
void Standardise(std::vector<double>& advantages, const std::vector<bool>& counts, double floor = 1e-3);

}  // namespace stowplan::agents::rl
