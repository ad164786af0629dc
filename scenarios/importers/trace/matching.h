// Which record of a Kineto trace is which node of an execution trace of the same run.
#pragma once

#include <cstddef>
#include <vector>

#include "profiler/traces/records.h"
#include "scenarios/importers/trace/nodes.h"

namespace stowplan::scenarios::trace {

struct Matching {
  std::vector<std::size_t> node_of;  // by marker; kNoNode where the execution trace lacks it
  std::size_t matched = 0, ops = 0;  // of PyTorch's ops in the execution trace

  // Half of them at least, so that what happens to be the same does not count.
  bool is_same_run() const { return matched > 0 && 2 * matched >= ops; }
};

// By their numbers, and names.
Matching MatchByNumber(const std::vector<profiler::Marker>& markers, const ExecutionTrace& execution);

// By the names of each thread's ops in their order, where the two traces number their records differently, as old versions did. A
// thread of the one is that of the other where its names stand there one behind the other, in one place alone; else where most of
// them stand in the same order, with others between. Names that are missing on either side are passed over.
Matching MatchByOrder(const std::vector<profiler::Marker>& markers, const ExecutionTrace& execution);

}  // namespace stowplan::scenarios::trace
