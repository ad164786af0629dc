// Runs the cells of a table: spreads them over threads, hands each finished one to the store.
#pragma once

#include <vector>

#include "tables/run/cell_source.h"

namespace stowplan::tables {

// Returns the records of all plans that were finished, skipped ones included. A cell that was interrupted is
// in none.
std::vector<CellRecord> RunCells(const CellSource& source, const std::vector<CellPlan>& plans,
                                 const RunOptions& options);
std::vector<CellRecord> RunCells(const TableDefinition& table, const Testbed& testbed,
                                 const std::vector<CellPlan>& plans, const RunOptions& options);

}  // namespace stowplan::tables
