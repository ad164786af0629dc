// How long the nodes of an execution trace took, by a Kineto trace of the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/traces/correlation.h"
#include "profiler/traces/kineto.h"
#include "scenarios/importers/trace/matching.h"
#include "scenarios/importers/trace/nodes.h"

namespace stowplan::scenarios::trace {

bool HasDeviceWork(const profiler::ActivityTrace& trace);

// Leaves out device records that cannot be true, and returns what there is to say of that. Throws InputError where too many are not, or
// launches have no record of any device.
std::string Sanitise(profiler::KinetoTrace& read, const std::string& source);

struct NodeTime {
  bool is_told = false;  // the Kineto trace has this node
  double host_us = 0;    // from its begin to its end on the host, what it calls included
  double device_us = 0;  // of the kernels, copies and memsets that it asked for itself
  double tf32_us = 0;    // of these the kernels whose names say so
  double f32_us = 0;     // and those that multiply in full f32 by their names
};

struct Times {
  std::vector<NodeTime> nodes;  // as in the execution trace
  std::string gpu;              // as the trace calls it; empty = none
  bool by_order = false;  // nodes are told by the order of their names: the traces number them differently
  profiler::ActivityTrace trace;  // what was read, sanitised where it has device work
  Matching matching;
  profiler::Correlation correlation;  // of the trace
  std::string
      repaired;  // what the sanitiser says of records that it left out or misses; empty where it says nothing
  bool cut = false;      // the Kineto trace ends too early (KinetoTrace)
  double device_us = 0;  // of all device work in the trace, in nodes or not
  double step_us =
      0;  // from the first to the last: of the device work; where there is none, of the nodes on the host

  // kNoNode where the execution trace lacks what asked for it.
  std::size_t NodeOf(const profiler::LinkedWork& linked) const;
};

// Throws InputError where the Kineto trace is of another run, or is not to be trusted.
Times ReadTimes(const std::string& kineto, const std::string& source, const ExecutionTrace& execution,
                const std::string& execution_source);

}  // namespace stowplan::scenarios::trace
