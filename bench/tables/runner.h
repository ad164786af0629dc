// Runs the cells of a table: plans them, spreads them over threads, hands each finished one to the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/tables/record.h"
#include "bench/tables/table.h"
#include "bench/tables/testbed.h"

namespace berth::bench {

struct CellPlan {
  const TableBlock* block = nullptr;
  const TableLine* line = nullptr;
  const TableColumn* column = nullptr;
  std::int64_t seed = 1;
  std::int64_t budget = 1;
};

struct PlanOptions {
  std::vector<std::string> cells;  // patterns [BLOCK:]ROW/COLUMN with *; empty = all that run by default
  int seeds = 0;                   // of sampled cells, 1..seeds; 0 = the table's
  std::int64_t samples = 0;        // budget of sampled cells; 0 = the table's
  bool quick = false;              // the table's quick budget, one seed
};

// In the order they are run: cells without a budget first, then all rows for seed 1, then for seed 2, ... so that whole
// rows are ready after any interruption. Throws InputError for a pattern that matches nothing.
std::vector<CellPlan> PlanCells(const TableDefinition& table, const PlanOptions& options);

// The command that repeats a cell.
std::string RepeatCommand(const TableDefinition& table, const CellPlan& plan);

struct RunOptions {
  int threads = 0;                        // 0 = one per core
  std::string checkpoints;                // folder where learners keep their state; empty = none
  bool resume = false;                    // skip cells that are in `done`, go on from checkpoints
  bool only_done = false;                 // with resume: run nothing, return the cells that are in `done`
  std::vector<CellRecord> done;
  const std::atomic<bool>* stop = nullptr;
  // Told of each finished cell (new or skipped), one at a time, from any thread.
  std::function<void(const CellRecord& record, bool skipped)> on_cell;
};

// Returns the records of all plans that were finished, skipped ones included. A cell that was interrupted is in none.
std::vector<CellRecord> RunCells(const TableDefinition& table, const Testbed& testbed, const std::vector<CellPlan>& plans,
                                 const RunOptions& options);

}  // namespace berth::bench
