// One outcome for people: verdict, runtime, what each device and link did, what the time was spent on, the
// longest ops.
#pragma once

#include <string>
#include <vector>

#include "sim/outcome.h"
#include "sim/simulator.h"

namespace stowplan::problem {

// Needs RunOptions::Record::kTimeline.
std::string PrintReport(const sim::Outcome& outcome, const sim::Problem& problem,
                        const sim::Placement& placement);

// At most so many, the longest first; of equal ones the first in the graph.
std::vector<sim::OpIndex> LongestOps(const sim::Outcome& outcome, std::size_t most);

// "fits, 1.184 s" or "out of memory on gpu0 at op conv0 (output) after 12.0 ms: needs 9.13 GB of 8.00 GB;
// without limit it would take 1.184 s".
std::string VerdictText(const sim::Outcome& outcome, const sim::Problem& problem);

// "prices: 12.0 % of the time measured, …": how well they are founded, by shares of the time of all ops where they run.
std::string PricesText(const sim::Problem& problem, const sim::Placement& placement);

}  // namespace stowplan::problem
