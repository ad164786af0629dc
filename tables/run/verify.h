// Whether rows are what this build computes: which are drawn to be run again, as which cells, and where two results differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tables/results.h"
#include "tables/run/runner.h"

namespace stowplan::tables {

struct DrawnRows {
  std::vector<CellRecord> rows;
  std::size_t before = 0;  // rows of settings before today's, which the page names; none is drawn
};
// `count` of the rows of these cells (as --cells has them; empty = all) that were run: one of each column of each block in
// turn, which one decided by a hash, so that a smaller draw is the beginning of a larger one and every build draws the same.
DrawnRows DrawRows(const TableResults& results, const std::vector<CellRecord>& rows,
                   const std::vector<std::string>& cells, std::size_t count);

// The cell of today's table that a row is of, with its seed; of several budgets that of the row where there is one. The table
// has the cell.
CellPlan PlanOfRow(const TableDefinition& table, const CellRecord& row);

// "runtime_us was 1200, is 1300": the first field that differs, from where it does, and how many more do; empty where none
// does. Times, machine, revision and the cost model's file are not compared, nor is the proven bound, which a later build may
// raise.
std::string DifferenceOf(const CellRecord& was, const CellRecord& is);

// What was run again beside its row: a line for each. `again`: of `rows`, in their order; some may be missing.
struct Comparison {
  std::string text;
  int equal = 0, different = 0;
  int not_run = 0;  // this build cannot
};
Comparison CompareRows(const std::vector<CellRecord>& rows, const std::vector<CellRecord>& again);

}  // namespace stowplan::tables
