#include "agents/rl/sequence_options.h"

namespace stowplan::agents::rl {

SequenceOptions ReadSequenceOptions(const Settings& read) {
  SequenceOptions options;
  SequencePlacer::Sizes& placer = options.placer;
  placer.width = 2 * (read.Int("width") / 2);
  placer.attention = read.Choice<Attention::Kind>("attention");
  placer.aligned = read.Bool("aligned");
  placer.centred = read.Bool("centred");
  placer.stay = read.Double("stay");
  placer.temperature = read.Double("temperature");
  placer.tanh_constant = read.Double("tanh");
  options.noise = read.Double("noise");
  options.noise_updates = static_cast<int>(read.Int("noise_updates"));
  placer.offers = read.Bool("offers");
  return options;
}

}  // namespace stowplan::agents::rl
