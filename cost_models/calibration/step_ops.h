// Ops of a recording of whole steps (profiler.activity, Kineto), as if each had been probed: a framework's ops with
// their kernels, told by name, shapes and types of their markers (framework_ops.h). What is in no such op is accounted for.
//
// In a step an op finds caches as the op before left them and its kernels may run beside others: such times are no
// probes and make no curves. They may stand in the table, where the user asks for it, or be what predictions are
// held against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "profiler/traces/sanitiser.h"

namespace stowplan::cost_models {

// One op, phase, format and shape over its calls.
struct StepOp {
  // `hot` over its calls: their kernels, each with a transition to the next, as in the times of probes (op_fit.h).
  ObservedOp op;
  std::optional<ObservedOp> second;  // that the same calls do, too: the filter's gradient behind the images'
};

// Device time that is in nothing told.
struct UntoldTime {
  std::string
      why;  // "collectives without bytes", "aten::mm, without shapes", "aten::max_pool2d_with_indices"
  double us = 0;
  std::int64_t records = 0;  // on the device
};

struct StepOps {
  std::string workload;  // the source's name without folder and suffix
  std::string verdict;   // the sanitiser's sentence
  std::vector<StepOp> ops;
  double told_us = 0;         // device time of those, without transitions
  double copies_us = 0;       // of it, copies to and from elsewhere, by ends and bytes
  double collectives_us = 0;  // of it, collectives, by name and bytes; with the wait for the slowest rank
  double device_us = 0;       // of everything
  double unshaped_us = 0;     // of what would be told, had shapes been recorded
  std::vector<UntoldTime> untold;  // the rest, by falling time
};

// Throws InputError: a trace that the sanitiser refuses, or one without a record of a device.
// transition_us: from a kernel to the next of a full queue.
StepOps OpsOfSteps(const std::string& source, const profiler::ActivityTrace& trace, double transition_us);

// "88.0 % told; collectives without bytes 10.1 %; aten::max_pool2d_with_indices 1.2 %; 6 others 0.7 %": where the
// device's time went.
std::string AccountOf(const StepOps& steps);

}  // namespace stowplan::cost_models
