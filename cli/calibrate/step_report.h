// What `stowplan calibrate --steps TRACE…` tells of recorded steps, where nothing was measured to hold against them.
#pragma once

#include <string>

#include "cost_models/calibration/step_ops.h"

namespace stowplan::cli {

// Where the device's time went, and the ops that took most of it. source: what the user calls the recording.
std::string PrintStepOps(const std::string& source, const cost_models::StepOps& steps);

}  // namespace stowplan::cli
