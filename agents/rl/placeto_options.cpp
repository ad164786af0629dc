#include "agents/rl/placeto_options.h"

#include <algorithm>

namespace berth::agents::rl {

namespace {

PlacetoOptions Defaults(const std::string& preset) {
  PlacetoOptions options;
  options.learning_rate = {1e-3, 1e-4, 1};
  if (preset == "tuned") {
    options.learning_rate = {1e-2, 1e-3, 1};  // and the entropy's weight: results/tuning
    options.entropy = {0.01, 0.001, 0.7};
    return options;
  }
  options.greedy = 999;
  options.greedy_first = true;
  options.scale = PlacetoOptions::Scale::kMax;
  options.entropy_floor = 1e-3;
  options.mean = false;
  options.relative = false;
  options.entropy = {1, 0, 1};
  if (preset == "code") {
    options.entropy = {1, 1, 1};
    options.limit_gb = 8;
    options.cap_s = 10;
  }
  return options;
}

PlacetoOptions::Start StartOf(const std::string& name) {
  if (name == "single") return PlacetoOptions::Start::kSingle;
  if (name == "random-each") return PlacetoOptions::Start::kRandomEach;
  if (name == "best") return PlacetoOptions::Start::kBest;
  return PlacetoOptions::Start::kUniform;
}

}  // namespace

PlacetoOptions ReadPlacetoOptions(const Spec& spec) {
  ParameterReader read(spec);
  using Scale = PlacetoOptions::Scale;
  PlacetoOptions options = Defaults(read.Choice("preset", {"tuned", "paper", "code"}));
  options.rounds = static_cast<int>(read.Int("rounds", options.rounds, 0, 1000));
  options.episodes = static_cast<int>(read.Int("episodes", options.episodes, 1, 4096));
  options.passes = static_cast<int>(read.Int("passes", options.passes, 1, 1000));
  options.learning_rate.first = read.Double("lr", options.learning_rate.first, 0, 10);
  options.learning_rate.last = read.Double("lr_end", options.learning_rate.first / 10, 0, 10);
  options.entropy.first = read.Double("entropy", options.entropy.first, 0, 1000);
  options.entropy.last =
      read.Double("entropy_end", std::min(options.entropy.last, options.entropy.first), 0, 1000);
  options.entropy_floor = read.Double("entropy_floor", options.entropy_floor, 0, 1);
  options.clip = read.Double("clip", options.clip, 1e-9, 1e9);
  options.window = static_cast<int>(read.Int("window", options.window, 1, 1'000'000));
  options.greedy = static_cast<int>(read.Int("greedy", options.greedy, 0, 1'000'000));
  options.start = StartOf(read.Choice("start", {"uniform", "single", "random-each", "best"}));
  const bool by_range = options.scale == Scale::kRange;
  const auto scales =
      by_range ? std::vector<std::string>{"range", "max"} : std::vector<std::string>{"max", "range"};
  options.scale = read.Choice("scale", scales) == "max" ? Scale::kMax : Scale::kRange;
  options.mean = read.Bool("mean", options.mean);
  options.graph = read.Bool("graph", options.graph);
  options.starts = read.Bool("starts", options.starts);
  options.memory = read.Bool("memory", options.memory);
  options.penalty = read.Double("penalty", options.penalty, 0, 1e6);
  options.limit_gb = read.Double("limit_gb", options.limit_gb, 0, 1e6);
  options.cap_s = read.Double("cap_s", options.cap_s, 0, 1e6);
  options.relative = read.Bool("relative", options.relative);
  read.Finish();
  options.name = read.Canonical();
  return options;
}

}  // namespace berth::agents::rl
