// Which cells of a table are run, and in which order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agents/ranks.h"
#include "tables/table.h"

namespace stowplan::tables {

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

// The cells that one of several processes runs: every size()-th, but cells of one trained policy stay
// together.
std::vector<CellPlan> ShareOfRank(const std::vector<CellPlan>& plans, const agents::Ranks& ranks);

}  // namespace stowplan::tables
