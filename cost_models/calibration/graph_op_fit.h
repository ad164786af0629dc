// Ops of graphs that were measured each alone: table entries (tier A), and nothing but those.
#pragma once

#include "cost_models/calibration/observations.h"
#include "cost_models/calibration/op_points.h"

namespace stowplan::cost_models {

// Adds the ops of `device_class` whose signature no probe has entered, with notes on what was entered otherwise. Of kernels
// that share a signature the mean over their ops.
void EnterGraphOps(const Observations& observed, sim::DeviceClass device_class, const OpFitOptions& options,
                   OpFit* fit);

}  // namespace stowplan::cost_models
