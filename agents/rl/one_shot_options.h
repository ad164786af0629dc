// The settings that all one-shot learners share.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "agents/rl/reinforce.h"
#include "agents/rl/rewards.h"
#include "sim/base/settings.h"

namespace stowplan::agents::rl {

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

// Reads what all of them have (agents/learner_settings.cpp). `draws_per_row`: the batch and its parts must be multiples of it.
// Throws InputError for a batch that is none.
OneShotOptions ReadOneShotOptions(const Settings& read, std::int64_t draws_per_row = 1);

}  // namespace stowplan::agents::rl
