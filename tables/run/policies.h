// The policies that trained and zero-shot cells start from (docs/protocol_rules.md#generalisation): each is trained once, however
// many cells want it, and kept in a file.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "problem/fingerprint.h"
#include "tables/run/cell_source.h"

namespace stowplan::tables {

class Policies {
 public:
  // Both must outlive it. options.checkpoints is where the policies are kept; it must be given where cells
  // start from policies.
  Policies(const CellSource& source, const RunOptions& options) : source_(source), options_(options) {}

  // What decides the policy of such a cell, for the hash of its scenario: agent (its canonical name),
  // graphs, budget, seed.
  std::string Scenario(const CellPlan& plan, const std::string& agent);
  // Trains what these cells need, several at a time. False where it was stopped; what was learned by then is kept and
  // options.resume goes on from it.
  bool Train(const std::vector<const CellPlan*>& plans);
  // Of a cell that was among those of Train().
  std::string PathOf(const CellPlan& plan);

 private:
  bool TrainOne(const CellPlan& plan, const std::string& path);

  const CellSource& source_;
  const RunOptions& options_;
  std::map<std::tuple<const TableBlock*, const TableColumn*, std::string>, problem::Fingerprint> trained_on_;
};

// "after 100000 samples on 16 other graphs": what such a cell's agent has behind it.
std::string TrainingText(const CellPlan& plan);

}  // namespace stowplan::tables
