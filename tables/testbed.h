// The machine of a table: what its cells are simulated with. Parameters come from
// results/<table>/testbed.json, which `stowplan calibrate --table` writes; without that file the catalogue's
// numbers hold.
#pragma once

#include <memory>
#include <string>

#include "problem/loaded_problem.h"
#include "sim/hardware.h"
#include "tables/table.h"

namespace stowplan::tables {

// results/<table>/testbed.json, of the table whose testbed holds.
std::string TestbedPath(const TableDefinition& table);

// Whether a workload is a file below the folder of other people's data, which the environment names: "$STOWPLAN_DATA/x".
bool IsOfDataFolder(const std::string& workload);

class Testbed {
 public:
  // `path` of a testbed.json; empty or missing file = the catalogue alone. Throws InputError for a damaged
  // file.
  explicit Testbed(const std::string& path);
  ~Testbed();

  bool calibrated() const { return calibrated_; }
  const sim::CostModel& cost_model() const { return *cost_model_; }

  // The problem of a row. Throws InputError where the workload or cluster is wrong.
  std::unique_ptr<problem::LoadedProblem> Load(const TableBlock& block, const TableLine& line) const;

 private:
  std::unique_ptr<sim::CostModel> cost_model_;
  std::unique_ptr<sim::HardwareCatalogue> catalogue_;
  bool calibrated_ = false;
};

// Why a row cannot be run here ("workload bert is not built", its file is not there); empty if it can.
std::string CannotRun(const TableLine& line);

}  // namespace stowplan::tables
