// The settings of policies with a sequence placer, as parameters of their names.
#pragma once

#include "agents/rl/one_shot_options.h"
#include "agents/rl/sequence_placer.h"
#include "sim/base/spec.h"

namespace stowplan::agents::rl {

struct SequenceOptions {
  SequencePlacer::Sizes placer;  // input and choices follow from the task
  double noise = 0;              // on the logits, in parts of their root mean square,
  int noise_updates = 0;         // during the first updates

  double NoiseAt(std::int64_t update) const { return update < noise_updates ? noise : 0; }
};

// Reads width, attention, aligned, centred, stay, temperature, tanh, noise, noise_updates and offers.
SequenceOptions ReadSequenceOptions(ParameterReader& read, SequenceOptions defaults);

// Of preset `tuned` (docs/protocol.md#tuned): aligned, centred, stay, offers, attention by products; width 64 unless `full`.
void SetTunedNetwork(SequenceOptions& sequence, bool full);

// The network of TensorFlow's open planner (read in its program, hierarchical_controller.py): encoder of both
// directions, one shared forget bias.
void SetPlannerNetwork(SequenceOptions& sequence);

// The program's other constants: tanh; one placement an update, moving average from the failing signal, Adam at
// 0.1, 5 % less every 50 updates from the 400th on, noise until the 750th, only feasible draws from the
// 1000th.
void SetPlannerDefaults(SequenceOptions& sequence, OneShotOptions& learner);

}  // namespace stowplan::agents::rl
