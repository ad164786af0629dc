// Ops of a recording of whole steps (profiler.activity, Kineto), as if each had been probed: a framework's ops with
// their kernels, told by name, shapes and types of their markers.
//
// In a step an op finds caches as the op before left them and its kernels may run beside others: such times are no
// probes and make no curves. They may stand in the table, where the user asks for it, or be what predictions are
// held against.
#pragma once

#include <string>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "profiler/sanitiser.h"

namespace berth::cost_models {

struct StepOps {
  std::string workload;  // the source's name without folder and suffix
  std::string verdict;   // the sanitiser's sentence
  // One for each op, phase, format and shape. `hot` over its calls: their kernels, each with a transition to the next,
  // as in the times of probes (op_fit.h).
  std::vector<ObservedOp> ops;
  double told_us = 0;       // device time of those, without transitions
  double device_us = 0;     // of everything
  std::int64_t untold = 0;  // ops with device work of other names, or without shapes
};

// Throws InputError: a trace that the sanitiser refuses, or one without ops (no markers, or no shapes with them).
// transition_us: from a kernel to the next of a full queue.
StepOps OpsOfSteps(const std::string& source, const profiler::ActivityTrace& trace, double transition_us);

}  // namespace berth::cost_models
