#include "agents/rl/one_shot_options.h"

#include <algorithm>
#include <cmath>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

double OneShotOptions::LearningRateAt(double part_spent, std::int64_t update) const {
  const std::int64_t steps = std::max<std::int64_t>(update - step_from, 0) / step_every;
  return learning_rate.At(part_spent) * std::pow(step_factor, static_cast<double>(steps));
}

bool OneShotOptions::ValidOnlyAt(double part_spent, std::int64_t update) const {
  return part_spent >= valid_part || (valid_update > 0 && update >= valid_update);
}

OneShotOptions ReadOneShotOptions(const Settings& read, std::int64_t draws_per_row) {
  const bool tuned = read.Is("preset", "tuned");
  OneShotOptions options;
  options.algorithm = read.Choice<OneShotOptions::Algorithm>("learner");
  options.batch = static_cast<int>(read.Int("batch"));
  options.reward = read.Choice<Reward>("reward");
  options.baseline = read.Choice<Baseline>("baseline");
  options.standardise = read.Bool("standardise");
  options.mean = read.Is("loss", "mean");
  options.valid_part = read.Double("valid_part");
  options.valid_update = static_cast<int>(read.Int("valid_update"));
  options.learning_rate = {read.Double("lr"), read.Double("lr_end"), 1};
  if (read.Is("preset", "code")) {  // TensorFlow's open planner: 5 % less every 50 updates from the 400th on
    options.step_factor = 0.95;
    options.step_from = 400;
    options.step_every = 50;
  }
  options.entropy = {read.Double("entropy"), read.Double("entropy_end"), tuned ? 0.7 : 1};
  options.target = {read.Double("target"), read.Double("target_end"), 1};
  if (read.Has("entropy_most")) options.entropy_most = read.Double("entropy_most");
  options.clip = read.Double("clip");
  options.epochs = static_cast<int>(read.Int("epochs"));
  options.minibatches = static_cast<int>(read.Int("minibatches"));
  options.range = read.Double("range");
  options.greedy = static_cast<int>(read.Int("greedy"));
  if (options.batch % (options.minibatches * draws_per_row) != 0) {
    throw InputError("batch=" + std::to_string(options.batch) + " cannot be split into minibatches=" +
                     std::to_string(options.minibatches) + " equal parts; expected a multiple of " +
                     std::to_string(options.minibatches * draws_per_row));
  }
  return options;
}

}  // namespace stowplan::agents::rl
