#include "tables/settings_before.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/task.h"
#include "sim/base/error.h"

namespace stowplan::tables {
namespace {

// Of the cell, or of a budget of as many samples that has its own.
bool OfItsUnits(const TableDefinition& table, const TableLine& line, const TableColumn& column,
                const CellSummary& cell) {
  const auto made_by = [](const CellRecord& record, const std::string& grouper) {
    return record.units == agents::GrouperSettings(grouper).Canonical();
  };
  return std::ranges::all_of(cell.records, [&](const CellRecord& record) {
    if (record.units.empty() || made_by(record, line.GrouperOf(column))) return true;
    return column.grouper.empty() && std::ranges::any_of(BudgetSizes(), [&](BudgetSize size) {
             const TableBudget& budget = table.BudgetOf(size);
             return !budget.grouper.empty() && budget.samples == record.budget &&
                    made_by(record, budget.grouper);
           });
  });
}

class Today {
 public:
  // Whether the agent of today made these rows, as far as this build can say.
  bool Made(const CellSummary& cell, const TableColumn& column, const std::string& agent) {
    const std::optional<std::string>& name = NameOf(agent);
    // A bare name tells no settings; behind a trained agent's name stands what it was trained on.
    return !name || std::ranges::all_of(cell.records, [&](const CellRecord& record) {
      return record.agent.find('(') == std::string::npos || record.agent == *name ||
             (column.trained && record.agent.starts_with(*name + " "));
    });
  }

 private:
  // The name with all parameters in force; nothing where this build cannot make it.
  const std::optional<std::string>& NameOf(const std::string& agent) {
    const auto [name, is_new] = names_.try_emplace(agent);
    if (is_new) {
      try {
        name->second = agents::MakeAgent(agent)->name();
      } catch (const RunError&) {
      }
    }
    return name->second;
  }

  std::map<std::string, std::optional<std::string>> names_;
};

}  // namespace

std::set<const CellSummary*> CellsBefore(const TableResults& results) {
  Today today;
  std::set<const CellSummary*> before;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableColumn& column : block.columns) {
      for (const TableLine& line : block.lines) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (cell.was_run() && (!today.Made(cell, column, line.AgentOf(column)) ||
                               !OfItsUnits(results.table(), line, column, cell)))
          before.insert(&cell);
      }
    }
  }
  return before;
}

}  // namespace stowplan::tables
