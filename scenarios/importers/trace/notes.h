// What one should know of a graph that was read from an execution trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scenarios/importers/trace.h"
#include "scenarios/importers/trace/nodes.h"
#include "scenarios/importers/trace/times.h"

namespace stowplan::scenarios::trace {

inline constexpr char kCutNote[] =
    "the Kineto trace ends in the middle, as a profiler leaves it that was killed: its whole events were "
    "read";

struct Seen {
  double device_us = 0, host_us = 0;                         // that ops take
  std::int64_t untimed = 0;                                  // ops
  std::map<std::string, std::int64_t> unknown, collectives;  // ops by type
  std::size_t variables = 0;
  std::size_t inputs = 0;  // of the variables
};

// `times`: null where there is no Kineto trace.
std::vector<std::string> NotesOf(const Seen& seen, const ExecutionTrace& execution, const Times* times,
                                 const ImportOptions& options);

}  // namespace stowplan::scenarios::trace
