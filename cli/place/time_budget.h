// A budget in seconds, as samples: agents plan by those, and can be repeated by them alone.
#pragma once

#include <cstdint>

#include "agents/task.h"

namespace stowplan::cli {

// What can be simulated in about so long on so many threads (0 = one per core), by runs for a fiftieth of that time, where a
// sample takes the time of `work` simulations with all that is done beside it; at least 1.
std::int64_t SamplesIn(double seconds, const agents::Task& task, int threads, double work);

}  // namespace stowplan::cli
