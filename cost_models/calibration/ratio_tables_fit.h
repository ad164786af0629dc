// The tables of ratio_tables.h from measured ops.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost_models/parameters/ratio_tables.h"

namespace stowplan::cost_models {

struct RatioRow {
  std::vector<double> features;  // ShapeFeatures()
  double log_ratio = 0;          // ln(measured / bound)
};

// kRatioSteps steps, each the questions that leave the least squares, at one of at most 48 quantiles of a feature; what
// it adds is a fifth of its rows' mean, pulled towards 0 as if `pull` more rows had 0. Of many rows each step chooses its
// questions by a part, and no row counts for more than a ratio of e^0.3. At least one row. Deterministic; sums, products and
// quotients alone. Fills log_ratio and steps.
inline constexpr int kRatioSteps = 400;
struct RatioFitOptions {
  int steps = kRatioSteps;
  double pull = 1;
};
RatioTables FitRatioTables(std::span<const RatioRow> rows, const RatioFitOptions& options = {});

}  // namespace stowplan::cost_models
