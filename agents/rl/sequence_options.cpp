#include "agents/rl/sequence_options.h"

#include <utility>

namespace stowplan::agents::rl {

SequenceOptions ReadSequenceOptions(ParameterReader& read, SequenceOptions options) {
  SequencePlacer::Sizes& placer = options.placer;
  placer.width = 2 * (read.Int("width", placer.width, 2, 8192) / 2);
  std::vector<std::string> kinds = {"additive", "dot"};
  if (placer.attention == Attention::Kind::kDot) std::swap(kinds[0], kinds[1]);
  placer.attention =
      read.Choice("attention", kinds) == "dot" ? Attention::Kind::kDot : Attention::Kind::kAdditive;
  placer.aligned = read.Bool("aligned", placer.aligned);
  placer.centred = read.Bool("centred", placer.centred);
  placer.stay = read.Double("stay", placer.stay, 0, 0.999);
  placer.temperature = read.Double("temperature", placer.temperature, 1e-6, 1e6);
  placer.tanh_constant = read.Double("tanh", placer.tanh_constant, 0, 1e6);
  options.noise = read.Double("noise", options.noise, 0, 100);
  options.noise_updates = static_cast<int>(read.Int("noise_updates", options.noise_updates, 0, 1'000'000));
  placer.offers = read.Bool("offers", placer.offers);
  return options;
}

void SetTunedNetwork(SequenceOptions& sequence, bool full) {
  SequencePlacer::Sizes& placer = sequence.placer;
  placer.aligned = placer.centred = placer.offers = true;
  placer.stay = kTunedStay;
  placer.attention = Attention::Kind::kDot;
  if (!full) placer.width = 64;
}

void SetPlannerNetwork(SequenceOptions& sequence) {
  sequence.placer.both_directions = true;
  sequence.placer.biases = false;
}

void SetPlannerDefaults(SequenceOptions& sequence, OneShotOptions& learner) {
  sequence.placer.tanh_constant = 1;
  sequence.noise = 0.5;
  sequence.noise_updates = 750;
  learner = PublishedReinforce();
  learner.batch = 1;
  learner.baseline = Baseline::kFromFailing;
  learner.valid_update = 1000;
  learner.learning_rate = {0.1, 0.1, 1};
  learner.step_factor = 0.95;
  learner.step_from = 400;
  learner.step_every = 50;
}

}  // namespace stowplan::agents::rl
