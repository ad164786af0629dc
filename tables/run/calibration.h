// The fit of a table's testbed (docs/protocol_rules.md#fitted): a handful of efficiencies and dispatch costs
// against the fitted cells, and nothing else. Batch, width and memory are fixed before; no parameter belongs
// to a row.
#pragma once

#include <string>
#include <vector>

#include "cost_models/calibration/table_fit.h"
#include "cost_models/parameters/parameters.h"
#include "tables/table.h"

namespace stowplan::tables {

struct CalibrationOptions {
  int threads = 0;                  // 0 = one per core
  std::string results = "results";  // where the testbeds of other tables are, for TableDefinition::borrowed
};

struct Calibration {
  cost_models::TableFit fit;
  std::vector<cost_models::KindParameters> borrowed;  // as the kinds of this table, dispatch left out
  cost_models::Parameters parameters;                 // what testbed.json holds
  std::vector<std::string> left_out;                  // fitted cells that could not be simulated, and why
};

// Throws InputError where the table has no fitted cell that can be run, or a testbed that it borrows from is
// missing or damaged.
Calibration CalibrateTable(const TableDefinition& table, const CalibrationOptions& options);

// What was fitted to what, with residuals: results/<table>/fit.md and the screen.
std::string PrintCalibration(const TableDefinition& table, const Calibration& calibration);

}  // namespace stowplan::tables
