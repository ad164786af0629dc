// The P of `stowplan simulate --placement P`: a placement file, a human-expert file of
// msr-fiddle/dnn-partitioning, or an agent that needs no search.
#pragma once

#include <string>

#include "agents/task.h"
#include "problem/loaded_problem.h"
#include "sim/placement.h"
#include "sim/simulator.h"

namespace stowplan::problem {

// The required options --graph, --cluster and --placement.
void DeclarePlacedProblem(CLI::App& app, ProblemSource& source, std::string& placement);

// "-" is a file on standard input. Throws InputError for a file of neither format, an unknown agent, an agent that searches, and an agent that
// makes no placement of this problem.
sim::Placement LoadPlacement(const std::string& name_or_path, const sim::Problem& problem);

// With an agent that places the task's units on the task's devices; above, sets of colocation on all.
sim::Placement LoadPlacement(const std::string& name_or_path, const agents::Task& task);

// Throws InputError where more than one of graph, cluster and placement is to be read from standard input.
void CheckStandardInput(const ProblemSource& source, const std::string& placement);

}  // namespace stowplan::problem
