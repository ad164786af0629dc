// What `stowplan calibrate TRACE…` tells of a fit: how far predictions are from measurements that they have not seen, by
// op class, size and path of copies; what was fitted to what; what was left out. As text and as one page of HTML
// with drawings, which fetches nothing.
#pragma once

#include <string>

#include "cost_models/calibration/calibration.h"
#include "output/report_page.h"

namespace stowplan::cli {

output::ReportPage MakeFitReport(const cost_models::CalibrationResult& result);

// The plots of `result`, for the page.
std::string FitPlotsHtml(const cost_models::CalibrationResult& result);

}  // namespace stowplan::cli
