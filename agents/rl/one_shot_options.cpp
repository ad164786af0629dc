#include "agents/rl/one_shot_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

template <typename T>
using Names = std::vector<std::pair<const char*, T>>;

// One of `names`, with `fallback` as the default.
template <typename T>
T ReadChoice(ParameterReader& read, const std::string& key, const Names<T>& names, T fallback) {
  std::vector<std::string> choices;
  for (const auto& [name, value] : names)
    choices.insert(value == fallback ? choices.begin() : choices.end(), name);
  const std::string chosen = read.Choice(key, choices);
  return std::find_if(names.begin(), names.end(), [&](const auto& name) { return chosen == name.first; })
      ->second;
}

int ReadCount(ParameterReader& read, const std::string& key, int fallback, int low) {
  return static_cast<int>(read.Int(key, fallback, low, 1'000'000));
}

}  // namespace

double OneShotOptions::LearningRateAt(double part_spent, std::int64_t update) const {
  const std::int64_t steps = std::max<std::int64_t>(update - step_from, 0) / step_every;
  return learning_rate.At(part_spent) * std::pow(step_factor, static_cast<double>(steps));
}

bool OneShotOptions::ValidOnlyAt(double part_spent, std::int64_t update) const {
  return part_spent >= valid_part || (valid_update > 0 && update >= valid_update);
}

OneShotOptions Tuned(OneShotOptions::Algorithm algorithm, int batch, double learning_rate) {
  OneShotOptions options;
  options.algorithm = algorithm;
  options.batch = batch;
  options.learning_rate = {learning_rate, learning_rate / 10, 1};
  options.entropy = {0.1, 0, 0.7};
  options.target = {0.8, 0, 1};
  return options;
}

OneShotOptions PublishedReinforce() {
  OneShotOptions options;
  options.reward = Reward::kRoot;
  options.baseline = Baseline::kMovingAverage;
  options.standardise = options.mean = false;
  options.entropy = {0, 0, 1};
  return options;
}

OneShotOptions PublishedPpo() {
  OneShotOptions options;
  options.algorithm = OneShotOptions::Algorithm::kPpo;
  options.reward = Reward::kRoot;
  options.baseline = Baseline::kMovingAverage;
  options.standardise = false;
  options.learning_rate = {3e-4, 3e-4, 1};
  options.entropy = {1e-3, 1e-3, 1};
  return options;
}

OneShotOptions ReadOneShotOptions(ParameterReader& read, OneShotOptions options, std::int64_t draws_per_row) {
  using Algorithm = OneShotOptions::Algorithm;
  options.algorithm = ReadChoice<Algorithm>(
      read, "learner", {{"reinforce", Algorithm::kReinforce}, {"ppo", Algorithm::kPpo}}, options.algorithm);
  options.batch = ReadCount(read, "batch", options.batch, 1);
  options.reward = ReadChoice<Reward>(read, "reward", {{"shaped", Reward::kShaped}, {"root", Reward::kRoot}},
                                      options.reward);
  options.baseline = ReadChoice<Baseline>(read, "baseline",
                                          {{"others", Baseline::kLeaveOneOut},
                                           {"average", Baseline::kMovingAverage},
                                           {"failing", Baseline::kFromFailing},
                                           {"mean", Baseline::kRunningMean}},
                                          options.baseline);
  options.standardise = read.Bool("standardise", options.standardise);
  options.mean = ReadChoice<bool>(read, "loss", {{"mean", true}, {"sum", false}}, options.mean);
  options.valid_part = read.Double("valid_part", options.valid_part, 0, 1);
  options.valid_update = ReadCount(read, "valid_update", options.valid_update, 0);
  options.learning_rate.first = read.Double("lr", options.learning_rate.first, 0, 10);
  const double fall = options.learning_rate.last / std::max(options.learning_rate.first, 1e-300);
  options.learning_rate.last = read.Double(
      "lr_end", std::min(options.learning_rate.last, options.learning_rate.first * std::min(fall, 1.0)), 0,
      10);
  options.entropy.first = read.Double("entropy", options.entropy.first, 0, 1000);
  options.entropy.last =
      read.Double("entropy_end", std::min(options.entropy.last, options.entropy.first), 0, 1000);
  options.target.first = read.Double("target", options.target.first, 0, 1);
  options.target.last = read.Double("target_end", std::min(options.target.last, options.target.first), 0, 1);
  if (options.entropy_most) {
    options.entropy_most =
        read.Double("entropy_most", *options.entropy_most, OneShotOptions::kLeastEntropyWeight, 1000);
  }
  options.clip = read.Double("clip", options.clip, 1e-9, 1e9);
  options.epochs = ReadCount(read, "epochs", options.epochs, 1);
  options.minibatches = ReadCount(read, "minibatches", options.minibatches, 1);
  options.range = read.Double("range", options.range, 0, 1);
  options.greedy = ReadCount(read, "greedy", options.greedy, 0);
  if (options.batch % (options.minibatches * draws_per_row) != 0) {
    throw InputError("batch=" + std::to_string(options.batch) + " cannot be split into minibatches=" +
                     std::to_string(options.minibatches) + " equal parts; expected a multiple of " +
                     std::to_string(options.minibatches * draws_per_row));
  }
  return options;
}

}  // namespace stowplan::agents::rl
