#include "bench/tables/settings_before.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/agent.h"
#include "sim/error.h"

namespace berth::bench {
namespace {

class Today {
 public:
  // Whether the agent of today made these rows, as far as this build can say.
  bool Made(const CellSummary& cell, const TableColumn& column, const std::string& agent) {
    const std::optional<std::string>& name = NameOf(agent);
    // Behind a zero-shot agent's name stands what it was trained on.
    return !name || std::ranges::all_of(cell.records, [&](const CellRecord& record) {
      return record.agent == *name || (column.zero_shot && record.agent.starts_with(*name + " "));
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

}  // namespace

std::string SettingsBefore(const TableResults& results) {
  Today today;
  std::vector<Column> columns;
  const bool several = results.table().blocks.size() > 1;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableColumn& column : block.columns) {
      int run = 0, before = 0;
      for (const TableLine& line : block.lines) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (!cell.was_run()) continue;
        ++run;
        if (!today.Made(cell, column, line.AgentOf(column))) ++before;
      }
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

}  // namespace berth::bench
