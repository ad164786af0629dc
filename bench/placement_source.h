// The P of `berth simulate --placement P`: a placement file, a human-expert file of msr-fiddle/dnn-partitioning, or an
// agent that needs no search.
#pragma once

#include <string>

#include "sim/placement.h"
#include "sim/simulator.h"

namespace berth::bench {

// Throws InputError for a file of neither format, an unknown agent, an agent that searches, and an agent that makes
// no placement of this problem.
sim::Placement LoadPlacement(const std::string& name_or_path, const sim::Problem& problem);

}  // namespace berth::bench
