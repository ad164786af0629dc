// The settings of Placeto, as parameters of its name (docs/protocol.md#placeto).
#pragma once

#include <cstdint>
#include <string>

#include "agents/rl/reinforce.h"
#include "sim/spec.h"

namespace berth::agents::rl {

struct PlacetoOptions {
  enum class Start : std::uint8_t { kUniform, kSingle, kRandomEach, kBest };
  enum class Scale : std::uint8_t { kRange, kMax };

  std::string name;  // canonical spec: all parameters with the values in force
  int rounds = 8;    // of message passing
  int episodes = 4;  // in parallel, per update
  int passes = 1;    // over the units, per episode
  LinearSchedule learning_rate;
  LinearSchedule entropy;     // weight
  double entropy_floor = 0;   // reinforce.h, TermsOfActions
  double clip = 1.25;         // of the norm of the summed gradient
  int window = 10;            // updates in the baseline
  int greedy = 25;            // a greedy pass each so many episodes of a graph; 0 = none
  bool greedy_first = false;  // and one before the first episode
  Start start = Start::kUniform;
  Scale scale = Scale::kRange;  // of start times, placeto_state.h
  bool mean = true;             // the network takes means over neighbours and pools, not sums
  bool graph = true;            // false: the network does not see edges
  bool starts = true;           // false: nor start times
  bool memory = false;          // true: one more feature, the bytes of a unit

  // Cost of a placement, whose decrease is the reward: min(t + penalty * max(0, M), cap), t in s, M in GB by
  // which the fullest device is above its limit.
  double penalty = 2;    // [s/GB]
  double limit_gb = 0;   // of every device; 0 = the capacity of each
  double cap_s = 0;      // 0 = 10 x the task's reference runtime
  bool relative = true;  // costs are divided by the reference runtime
};

// Throws InputError for unknown parameters and values out of range.
PlacetoOptions ReadPlacetoOptions(const Spec& spec);

}  // namespace berth::agents::rl
