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

// A column in all blocks that have it.
struct Column {
  explicit Column(std::string t) : title(std::move(t)) {}
  std::string title;
  int run = 0, before = 0;
  std::vector<std::string> where;  // there are rows of settings before
};

struct Counted {
  int run = 0, before = 0;
};

Counted Count(const TableResults& results, const TableBlock& block, const std::vector<std::string>& rows,
              const TableColumn& column, Today& today) {
  Counted counted;
  for (const TableLine& line : block.lines) {
    if (!rows.empty() && std::ranges::find(rows, line.key) == rows.end()) continue;
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if (!cell.was_run()) continue;
    ++counted.run;
    if (!today.Made(cell, column, line.AgentOf(column)) || !OfItsUnits(results.table(), line, column, cell))
      ++counted.before;
  }
  return counted;
}

}  // namespace

std::string SettingsBefore(const TableResults& results) {
  Today today;
  std::vector<Column> columns;
  const bool several = results.table().blocks.size() > 1;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableColumn& column : block.columns) {
      const auto [run, before] = Count(results, block, {}, column, today);
      if (run == 0) continue;
      const auto known = std::ranges::find(columns, column.title, &Column::title);
      Column& all = known == columns.end() ? columns.emplace_back(column.title) : *known;
      all.run += run;
      all.before += before;
      if (before == run) all.where.push_back(block.key);
      if (0 < before && before < run)
        all.where.push_back(fmt::format("{}{} of {} rows", several ? block.key + " " : "", before, run));
    }
  }
  std::vector<std::string> texts;
  for (const Column& column : columns) {
    if (column.before == column.run) texts.push_back(column.title);
    if (0 < column.before && column.before < column.run)
      texts.push_back(fmt::format("{} ({})", column.title, fmt::join(column.where, "; ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

bool AnyBefore(const TableResults& results, const std::string& block_key,
               const std::vector<std::string>& rows, const std::string& column_key) {
  Today today;
  return std::ranges::any_of(results.table().blocks, [&](const TableBlock& block) {
    const auto column = std::ranges::find(block.columns, column_key, &TableColumn::key);
    if ((!block_key.empty() && block.key != block_key) || column == block.columns.end()) return false;
    return Count(results, block, rows, *column, today).before > 0;
  });
}

std::set<const CellSummary*> CellsBefore(const TableResults& results) {
  Today today;
  std::set<const CellSummary*> before;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableColumn& column : block.columns) {
      for (const TableLine& line : block.lines) {
        if (Count(results, block, {line.key}, column, today).before > 0)
          before.insert(&results.At(block.key, line.key, column.key));
      }
    }
  }
  return before;
}

}  // namespace stowplan::tables
