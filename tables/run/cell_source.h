// Where the problems of cells come from, and what a run is told.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/task.h"
#include "tables/record.h"
#include "tables/run/plan.h"
#include "tables/table.h"
#include "tables/testbed.h"

namespace stowplan::tables {

// Where cells get their problems: a table's testbed, or what a user named. Used by many threads at a time.
class CellSource {
 public:
  virtual ~CellSource() = default;
  // Why cells of a row cannot be run in this build; empty if they can.
  virtual std::string CannotRun(const TableLine&) const { return {}; }
  virtual std::unique_ptr<problem::LoadedProblem> Load(const TableBlock& block,
                                                       const TableLine& line) const = 0;
  // What an agent is shown in this cell.
  virtual agents::Task MakeTask(const problem::LoadedProblem& loaded, const CellPlan& plan) const;
  // The command that makes the cell again.
  virtual std::string RepeatCommand(const CellPlan& plan) const = 0;
  virtual bool calibrated() const { return false; }  // whether cells that a row calls fitted were
};

class TableCells : public CellSource {
 public:
  TableCells(const TableDefinition& table, const Testbed& testbed) : table_(table), testbed_(testbed) {}
  std::string CannotRun(const TableLine& line) const override;
  std::unique_ptr<problem::LoadedProblem> Load(const TableBlock& block, const TableLine& line) const override;
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

}  // namespace stowplan::tables
