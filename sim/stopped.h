// What a run that is given up at a cutoff says, whatever the rules. Internal to sim/.
#pragma once

#include <cstddef>

#include "sim/outcome.h"

namespace stowplan::sim {

// That it takes longer than the cutoff, however soon that was known: the runtime is the cutoff and a picosecond,
// everything else is empty or 0.
void SetStopped(Picos cutoff, std::size_t devices, std::size_t links, Outcome& outcome);

}  // namespace stowplan::sim
