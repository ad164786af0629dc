// Op times of one device kind from its probes: table entries (tier A), a curve for each op class and number format
// over the structural model (tier B; on a CPU a line for each family, cpu_line.h), and the efficiency of each class (tier C outside of the curves).
#pragma once

#include <string>

#include "cost_models/calibration/op_points.h"

namespace stowplan::cost_models {

// Ops of `device_class` alone. `observed` may hold none of them: the fit is empty then.
OpFit FitOps(const Observations& observed, sim::DeviceClass device_class, const std::string& kind,
             const Catalogue& catalogue, const OpFitOptions& options);

}  // namespace stowplan::cost_models
