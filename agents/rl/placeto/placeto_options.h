// The settings of Placeto (agents/learner_settings.cpp, docs/protocol_rules.md#placeto).
#pragma once

#include <cstdint>
#include <string>

#include "agents/rl/reinforce.h"
#include "sim/base/settings.h"

namespace stowplan::agents::rl {

struct PlacetoOptions {
  enum class Start : std::uint8_t {
    kOwn,         // random, one for each parallel episode, kept for the whole run
    kRandomEach,  // random, another one for each episode
    kSingle,      // all on one device
    kBest,        // the best placement so far
  };
  // What step t is paid for, returns included; f is the cost of a placement, p_T the last one.
  enum class Reward : std::uint8_t {
    kDecrease,   // f(p_t) - f(p_t+1): its returns are f(p_t) - f(p_T)
    kBestLater,  // return f(p_t) - the smallest f of all later placements
    kFinal,      // return -f(p_T)
  };
  enum class Baseline : std::uint8_t {
    kStep,  // the mean return at that step over the last `window` updates
    kMoves,  // over the steps of the update that moved a unit; the others teach nothing. Then in standard deviations
  };
  enum class Scale : std::uint8_t { kRange, kMax };

  std::string name;     // canonical spec: all parameters with the values in force
  int rounds = 8;       // of message passing
  int episodes = 4;     // in parallel, per update
  int passes = 1;       // over the units, per episode
  int every = 1;        // units that get their devices between two evaluations
  bool repeats = true;  // false: what is known is not evaluated again, placeto_learner.h
  // Units that a pass is expected to move: a logit for staying is steered by it; 0 at first = without.
  LinearSchedule moves;
  double reach = 0;            // the network's logits are kept within it by a tanh; 0 = without
  bool offers = false;         // it sees what a list schedule offers the unit in turn, placeto_state.h
  bool greedy_offers = false;  // and takes the best of it: a control, at rate 0
  LinearSchedule learning_rate;
  LinearSchedule entropy;    // weight
  double entropy_floor = 0;  // reinforce.h, TermsOfActions
  double clip = 1.25;        // of the norm of the summed gradient
  Reward reward = Reward::kDecrease;
  Baseline baseline = Baseline::kStep;
  int window = 10;            // updates in the baseline
  int greedy = 25;            // a greedy pass each so many episodes of a graph; 0 = none
  bool greedy_first = false;  // and one before the first episode
  Start start = Start::kOwn;
  Scale scale = Scale::kRange;  // of start times, placeto_state.h
  bool mean = true;             // the network takes means over neighbours and pools, not sums
  bool graph = true;            // false: the network does not see edges
  bool starts = true;           // false: nor start times
  bool memory = false;          // true: one more feature, the bytes of a unit

  // Cost of a placement: min(t + penalty * max(0, M), cap), t in s, M in GB by which the fullest device is above
  // its limit.
  double penalty = 2;    // [s/GB]
  double limit_gb = 0;   // of every device; 0 = the capacity of each
  double cap_s = 0;      // 0 = 10 x the task's reference runtime
  bool relative = true;  // costs are divided by the reference runtime
};

// Throws InputError for the control that learns, offers=greedy with a learning rate.
PlacetoOptions ReadPlacetoOptions(const Settings& read);

}  // namespace stowplan::agents::rl
