// stowplan.fit (docs/schema/fit.json): what `stowplan calibrate` fitted to what, and how far predictions are from measurements,
// for scripts.
#pragma once

#include <string>

#include "cost_models/calibration/calibration.h"
#include "cost_models/calibration/table_fit.h"

namespace stowplan::cli {

// `parameters`: the file that was written.
std::string PrintFitJson(const std::string& parameters, const cost_models::CalibrationResult& result);
std::string PrintFitJson(const std::string& parameters, const std::string& table,
                         const cost_models::TableFit& fit);

}  // namespace stowplan::cli
