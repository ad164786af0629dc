// The measured and the simulated timeline of a recording's traced step, side by side: where the simulator goes
// wrong, op by op.
#pragma once

#include <string>

#include "cli/validate/recording.h"

namespace stowplan::cli {

struct Timelines {
  std::string measured_trace;   // Chrome/Perfetto JSON, as `stowplan simulate --trace` writes it
  std::string simulated_trace;  // of the same placement
  std::string difference;       // text, for people
};

// Of the first traced step. `costs_path`: what prices its ops, a stowplan.cost_model or a name; folder: where a workload
// that is a graph file is looked for, too. Throws InputError if no step was traced.
Timelines CompareTimelines(const Recording& recording, const std::string& costs_path,
                           const std::string& folder = {});

}  // namespace stowplan::cli
