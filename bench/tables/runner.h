// Runs the cells of a table: plans them, spreads them over threads, hands each finished one to the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agents/ranks.h"
#include "agents/task.h"
#include "bench/tables/record.h"
#include "bench/tables/table.h"
#include "bench/tables/testbed.h"

namespace stowplan::bench {

struct CellPlan {
  const TableBlock* block = nullptr;
  const TableLine* line = nullptr;
  const TableColumn* column = nullptr;
  std::int64_t seed = 1;
  std::int64_t budget = 1;
  std::int64_t training = 0;  // samples that the policy of a trained or zero-shot cell has behind it
  std::string grouper;        // its units
  BudgetSize size = BudgetSize::kStandard;
};

// A pattern of --cells: * stands for any characters, all others for themselves.
bool MatchesGlob(std::string_view pattern, std::string_view text);

struct PlanOptions {
  std::vector<std::string> cells;  // patterns [BLOCK:]ROW/COLUMN with *; empty = all of `size`
  BudgetSize size = BudgetSize::kStandard;
  int seeds = 0;             // of sampled cells, 1..seeds; 0 = those of `size`
  std::int64_t samples = 0;  // budget of sampled cells; 0 = that of `size`
};

// In the order they are run: cells without a budget first, then classical search, then learners; of each all
// rows for seed 1, then for seed 2, ... so that whole rows are ready after any interruption. Throws
// InputError for a pattern that matches nothing.
std::vector<CellPlan> PlanCells(const TableDefinition& table, const PlanOptions& options);

// The part of a table that is planned: blocks, rows and columns without a cell in `plans` are left out, and with them
// what speaks of the whole table (claims, outcome, sections, charts of its own). The table itself where all is planned.
TableDefinition PlannedPart(const TableDefinition& table, const std::vector<CellPlan>& plans);

// The cells that one of several processes runs: every size()-th, but cells of one trained policy stay
// together.
std::vector<CellPlan> ShareOfRank(const std::vector<CellPlan>& plans, const agents::Ranks& ranks);

// Where cells get their problems: a table's testbed, or what a user named. Used by many threads at a time.
class CellSource {
 public:
  virtual ~CellSource() = default;
  // Why cells of a row cannot be run in this build; empty if they can.
  virtual std::string CannotRun(const TableLine&) const { return {}; }
  virtual std::unique_ptr<LoadedProblem> Load(const TableBlock& block, const TableLine& line) const = 0;
  // What an agent is shown in this cell.
  virtual agents::Task MakeTask(const LoadedProblem& loaded, const CellPlan& plan) const;
  // The command that makes the cell again.
  virtual std::string RepeatCommand(const CellPlan& plan) const = 0;
  virtual bool calibrated() const { return false; }  // whether cells that a row calls fitted were
};

class TableCells : public CellSource {
 public:
  TableCells(const TableDefinition& table, const Testbed& testbed) : table_(table), testbed_(testbed) {}
  std::string CannotRun(const TableLine& line) const override;
  std::unique_ptr<LoadedProblem> Load(const TableBlock& block, const TableLine& line) const override;
  std::string RepeatCommand(const CellPlan& plan) const override;
  bool calibrated() const override { return testbed_.calibrated(); }

 private:
  const TableDefinition& table_;
  const Testbed& testbed_;
};

struct RunOptions {
  int threads = 0;          // 0 = one per core
  std::string checkpoints;  // folder where learners keep their state and policies; empty = none
  std::string name;         // of the table, in the names of checkpoints
  bool resume = false;      // skip cells that are in `done`, go on from checkpoints
  bool only_done = false;   // with resume: run nothing, return the cells that are in `done`
  std::vector<CellRecord> done;
  const std::atomic<bool>* stop = nullptr;
  // Told of each finished cell (new or skipped), one at a time, from any thread.
  std::function<void(const CellRecord& record, bool skipped)> on_cell;
  // Told after each sample or batch of a cell that runs, from any thread, several at a time; may be empty.
  std::function<void(const CellPlan& plan, std::int64_t samples)> on_samples;
  // Told before and while a policy is trained, one at a time, from any thread; may be empty.
  std::function<void(const std::string& policy, std::int64_t samples, std::int64_t budget)> on_training;
};

// Returns the records of all plans that were finished, skipped ones included. A cell that was interrupted is
// in none.
std::vector<CellRecord> RunCells(const CellSource& source, const std::vector<CellPlan>& plans,
                                 const RunOptions& options);
std::vector<CellRecord> RunCells(const TableDefinition& table, const Testbed& testbed,
                                 const std::vector<CellPlan>& plans, const RunOptions& options);

}  // namespace stowplan::bench
