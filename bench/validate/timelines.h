// The measured and the simulated timeline of a recording's traced step, side by side: where the simulator goes
// wrong, op by op.
#pragma once

#include <string>

#include "bench/validate/recording.h"

namespace berth::bench {

struct Timelines {
  std::string measured_trace;   // Chrome/Perfetto JSON, as `berth simulate --trace` writes it
  std::string simulated_trace;  // of the same placement
  std::string difference;       // text, for people
};

// `costs_path`: the berth.cost_model beside the recording. Throws InputError if no step was traced.
Timelines CompareTimelines(const Recording& recording, const std::string& costs_path);

}  // namespace berth::bench
