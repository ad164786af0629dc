// The settings of policies with a sequence placer (agents/learner_settings.cpp).
#pragma once

#include <cstdint>

#include "agents/rl/sequence_placer.h"
#include "sim/base/settings.h"

namespace stowplan::agents::rl {

struct SequenceOptions {
  SequencePlacer::Sizes placer;  // input and choices follow from the task
  double noise = 0;              // on the logits, in parts of their root mean square,
  int noise_updates = 0;         // during the first updates

  double NoiseAt(std::int64_t update) const { return update < noise_updates ? noise : 0; }
};

SequenceOptions ReadSequenceOptions(const Settings& read);

}  // namespace stowplan::agents::rl
