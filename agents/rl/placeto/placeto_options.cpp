#include "agents/rl/placeto/placeto_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

namespace {

using Start = PlacetoOptions::Start;
using PlacetoReward = PlacetoOptions::Reward;
using PlacetoBaseline = PlacetoOptions::Baseline;
using Scale = PlacetoOptions::Scale;

// A search from the best placement on.
PlacetoOptions Tuned() {
  PlacetoOptions options;
  options.rounds = 2;
  options.every = 16;
  options.repeats = false;
  options.moves = {2.5, 1, 1};
  options.reach = 1;
  options.offers = true;
  options.learning_rate = {3e-3, 3e-4, 1};
  options.reward = PlacetoReward::kBestLater;
  options.baseline = PlacetoBaseline::kMoves;
  options.greedy = 0;
  options.start = Start::kBest;
  return options;
}

// From a random start to the end, told what devices offer: for graphs that were never searched.
PlacetoOptions Transfer() {
  PlacetoOptions options = Tuned();
  options.rounds = 4;
  options.moves = {};
  options.reach = 0;
  options.entropy.first = 0.01;
  options.reward = PlacetoReward::kDecrease;
  options.baseline = PlacetoBaseline::kStep;
  options.start = Start::kOwn;
  return options;
}

// The paper's walk in our scales; weights for any graph, too.
PlacetoOptions Walk() {
  PlacetoOptions options;
  options.learning_rate = {1e-2, 1e-3, 1};
  options.entropy = {0.01, 0.001, 0.7};
  return options;
}

PlacetoOptions Published() {
  PlacetoOptions options;
  options.learning_rate = {1e-3, 1e-4, 1};
  options.greedy = 999;
  options.greedy_first = true;
  options.scale = Scale::kMax;
  options.entropy_floor = 1e-3;
  options.mean = false;
  options.relative = false;
  options.entropy = {1, 0, 1};
  return options;
}

PlacetoOptions Program() {
  PlacetoOptions options = Published();
  options.reward = PlacetoReward::kBestLater;
  options.entropy = {1, 1, 1};
  options.limit_gb = 8;
  options.cap_s = 10;
  return options;
}

PlacetoOptions Defaults(const std::string& preset) {
  if (preset == "transfer") return Transfer();
  if (preset == "walk") return Walk();
  if (preset == "paper") return Published();
  if (preset == "code") return Program();
  return Tuned();
}

template <typename T>
using Names = std::vector<std::pair<std::string, T>>;

// The name that is chosen in the spec, else that of the value in force.
template <typename T>
void Choose(ParameterReader& read, const std::string& parameter, const Names<T>& names, T& value) {
  std::vector<std::string> choices;
  for (const auto& [name, meaning] : names) {
    choices.insert(meaning == value ? choices.begin() : choices.end(), name);
  }
  const std::string chosen = read.Choice(parameter, choices);
  value = std::find_if(names.begin(), names.end(), [&](const auto& entry) {
            return entry.first == chosen;
          })->second;
}

}  // namespace

PlacetoOptions ReadPlacetoOptions(const Spec& spec) {
  ParameterReader read(spec);
  const std::string preset = read.Choice("preset", {"tuned", "transfer", "walk", "paper", "code"});
  PlacetoOptions options = Defaults(preset);
  options.rounds = static_cast<int>(read.Int("rounds", options.rounds, 0, 1000));
  options.episodes = static_cast<int>(read.Int("episodes", options.episodes, 1, 4096));
  options.passes = static_cast<int>(read.Int("passes", options.passes, 1, 1000));
  options.every = static_cast<int>(read.Int("every", options.every, 1, 1'000'000));
  options.repeats = read.Bool("repeats", options.repeats);
  const LinearSchedule moves = options.moves;
  options.moves.first = read.Double("moves", moves.first, 0, 1e6);
  // A number of one's own holds unless its end is given, too.
  const double last = options.moves.first == moves.first ? moves.last : options.moves.first;
  options.moves.last = read.Double("moves_end", last, 0, 1e6);
  options.reach = read.Double("reach", options.reach, 0, 1000);
  if (preset == "tuned" || preset == "transfer") {
    std::vector<std::string> choices = {"yes", "no"};
    if (preset == "transfer") choices.emplace_back("greedy");  // `tuned` bounds what they count by its reach
    const std::string offers = read.Choice("offers", choices);
    options.offers = offers != "no";
    options.greedy_offers = offers == "greedy";
  }
  options.learning_rate.first = read.Double("lr", options.learning_rate.first, 0, 10);
  options.learning_rate.last = read.Double("lr_end", options.learning_rate.first / 10, 0, 10);
  if (options.greedy_offers && (options.learning_rate.first > 0 || options.learning_rate.last > 0))
    throw InputError("placeto: offers=greedy is a control that learns nothing; expected lr=0 with it");
  options.entropy.first = read.Double("entropy", options.entropy.first, 0, 1000);
  options.entropy.last =
      read.Double("entropy_end", std::min(options.entropy.last, options.entropy.first), 0, 1000);
  options.entropy_floor = read.Double("entropy_floor", options.entropy_floor, 0, 1);
  options.clip = read.Double("clip", options.clip, 1e-9, 1e9);
  Choose(read, "reward",
         Names<PlacetoReward>{{"decrease", PlacetoReward::kDecrease},
                              {"best_later", PlacetoReward::kBestLater},
                              {"final", PlacetoReward::kFinal}},
         options.reward);
  Choose(read, "baseline",
         Names<PlacetoBaseline>{{"step", PlacetoBaseline::kStep}, {"moves", PlacetoBaseline::kMoves}},
         options.baseline);
  options.window = static_cast<int>(read.Int("window", options.window, 1, 1'000'000));
  options.greedy = static_cast<int>(read.Int("greedy", options.greedy, 0, 1'000'000));
  Choose(read, "start",
         Names<Start>{{"own", Start::kOwn},
                      {"random-each", Start::kRandomEach},
                      {"single", Start::kSingle},
                      {"best", Start::kBest}},
         options.start);
  Choose(read, "scale", Names<Scale>{{"range", Scale::kRange}, {"max", Scale::kMax}}, options.scale);
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

}  // namespace stowplan::agents::rl
