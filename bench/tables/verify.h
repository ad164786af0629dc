// Whether rows are what this build computes: which of them are cells of today, which of those are drawn to be run again, and
// where two results of one cell differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/tables/runner.h"

namespace berth::bench {

// Which rows are cells of today's table: graph, machine, agent with all its settings, units, seed and budget agree.
struct TodaysRows {
  std::vector<CellPlan> plans;    // of those that are
  std::vector<CellRecord> other;  // which are not
};
// Of the rows of these cells (as --cells has them; empty = all) that were run.
TodaysRows FindTodaysRows(const TableDefinition& table, const Testbed& testbed,
                          const std::vector<CellRecord>& rows, const std::vector<std::string>& cells,
                          int threads);

// `count` of them: one of each column of each block in turn, which one decided by a hash of its key, so that a smaller draw
// is the beginning of a larger one and every build draws the same.
std::vector<CellPlan> DrawPlans(const std::vector<CellPlan>& plans, std::size_t count);

// "runtime_us was 1200, is 1300": the first field of the result that differs, empty where none does. Times, machine and
// revision are no results, nor is the proven bound, which a later build may raise.
std::string DifferenceOf(const CellRecord& was, const CellRecord& is);

// What was run again beside the row of the same cell and seed: a line for each.
struct Comparison {
  std::string text;
  int equal = 0, different = 0;
  int not_run = 0;  // this build cannot
};
Comparison CompareRows(const std::vector<CellRecord>& rows, const std::vector<CellRecord>& again);

// "native:nmt_2/scotch, seed 1"
std::string NameOf(const CellRecord& record);

}  // namespace berth::bench
