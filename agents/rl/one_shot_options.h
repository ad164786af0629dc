// The settings that all one-shot learners share, as parameters of their names.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "agents/rl/reinforce.h"
#include "agents/rl/rewards.h"
#include "sim/base/spec.h"

namespace stowplan::agents::rl {

// The default values are what `tuned` has in common (docs/protocol.md#tuned), with REINFORCE; Tuned() adds
// what was tuned.
struct OneShotOptions {
  enum class Algorithm : std::uint8_t { kReinforce, kPpo };
  static constexpr double kLeastEntropyWeight = 1e-3;  // of a held entropy, so that it can grow again

  Algorithm algorithm = Algorithm::kReinforce;
  int batch = 16;  // placements per update
  Reward reward = Reward::kShaped;
  Baseline baseline = Baseline::kLeaveOneOut;
  double decay = 0.9;       // of a moving average
  bool standardise = true;  // advantages are divided by their standard deviation in the batch
  bool mean = true;       // log-probability and entropy are averaged over the decisions of a kind, not summed
  double valid_part = 1;  // only feasible draws are learned from once this part of the budget is spent
  int valid_update = 0;   // or after so many updates; 0 = never
  LinearSchedule learning_rate{3e-3, 3e-4, 1};
  double step_factor = 1;  // after `step_from` updates the learning rate is multiplied by this
  int step_from = 0;       // once every
  int step_every = 1;      // `step_every` updates
  LinearSchedule entropy{0.02, 0, 0.7};
  LinearSchedule target{
      0, 0, 1};  // the entropy to hold, as a part of the fresh policy's; 0 at first = none is held
  // The weight of a held entropy rises no further. None: than 1, and it is no parameter of the agent.
  std::optional<double> entropy_most;
  double clip = 1;      // of the norm of the gradient
  int epochs = 4;       // PPO: passes over a batch
  int minibatches = 1;  // PPO: steps per pass
  double range = 0.2;   // PPO: ratios count within 1 +- range
  int greedy = 50;      // a greedy draw each so many updates of a task; 0 = none

  double LearningRateAt(double part_spent, std::int64_t update) const;
  bool ValidOnlyAt(double part_spent, std::int64_t update) const;
};

// The preset `tuned` of an agent: the learning rate falls to a tenth, the entropy linearly from 0.8 of a fresh policy's to 0.
// Batch and rate were chosen on scenarios that are in no table (results/tuning).
OneShotOptions Tuned(OneShotOptions::Algorithm algorithm, int batch, double learning_rate);

// What ICML'17 and ICLR'18 have in common: root reward, moving average, summed log-probabilities, no entropy
// bonus.
OneShotOptions PublishedReinforce();

// What Mars is recalled to have learned with (low confidence; docs/protocol.md#mars).
OneShotOptions PublishedPpo();

// Reads the parameters learner, batch, reward, baseline, standardise, loss, valid_part, valid_update, lr,
// lr_end, entropy, entropy_end, target, target_end, clip, epochs, minibatches, range and greedy, and entropy_most where the
// defaults have one. `draws_per_row`: the batch and its parts must be multiples of it. Throws InputError for values out of range.
OneShotOptions ReadOneShotOptions(ParameterReader& read, OneShotOptions defaults,
                                  std::int64_t draws_per_row = 1);

}  // namespace stowplan::agents::rl
