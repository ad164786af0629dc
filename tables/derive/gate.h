// Runs the sanity suite (gate_cases.h).
#pragma once

#include <string>
#include <vector>

#include "tables/derive/derived.h"
#include "tables/derive/gate_cases.h"

namespace stowplan::tables {

// Runs them, the same numbers with any number of threads. Each finished run is added to options.rows_path at once; with
// options.resume those of the same experiment that are there already are taken, and the others dropped. The file there is
// as it was until the first run has ended. Throws Interrupted, with what is finished kept, and RunError where the file
// cannot be written.
std::vector<GateRun> RunGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents,
                             const DerivedOptions& options);

}  // namespace stowplan::tables
