// What `berth calibrate TRACE…` tells of a fit: how far predictions are from measurements that they have not seen, by
// op class, size and path of copies; what was fitted to what; what was left out. As text and as one page of HTML
// with drawings, which fetches nothing.
#pragma once

#include <string>
#include <vector>

#include "cost_models/calibration/calibration.h"

namespace berth::bench {

// A table with sentences above it, or sentences alone.
struct ReportSection {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::size_t left_columns = 1;  // text; the others are numbers
};

struct FitReport {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // machine, driver, …
  std::vector<ReportSection> sections;
};
FitReport MakeFitReport(const cost_models::CalibrationResult& result);

std::string PrintFitReport(const FitReport& report);
// With the plots of `result`.
std::string PrintFitReportHtml(const FitReport& report, const cost_models::CalibrationResult& result);

}  // namespace berth::bench
