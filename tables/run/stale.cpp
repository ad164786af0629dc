#include "tables/run/stale.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/formats.h"
#include "tables/run/runner.h"

namespace stowplan::tables {
namespace {

using Cell = std::tuple<std::string, std::string, std::string>;

Cell CellOf(const CellRecord& record) {
  return {record.block, record.row, record.column};
}

// "native:*/rnn (18 rows)", by column.
std::string Named(const std::vector<CellRecord>& rows) {
  std::map<std::string, int> counts;
  for (const CellRecord& row : rows) ++counts[fmt::format("{}:*/{}", row.block, row.column)];
  std::vector<std::string> names;
  for (const auto& [cells, count] : counts)
    names.push_back(fmt::format("{} ({} row{})", cells, count, count == 1 ? "" : "s"));
  return JoinNames(names);
}

}  // namespace

std::vector<CellRecord> WithStale(const TableDefinition& table, std::vector<CellRecord> now,
                                  const std::vector<CellRecord>& before, StaleRows stale,
                                  const std::string& path) {
  if (stale == StaleRows::kDrop) return now;
  std::set<Cell> cells;
  std::set<std::pair<Cell, std::int64_t>> replaced;
  for (const CellRecord& record : now) {
    if (!record.note.empty()) continue;
    cells.insert(CellOf(record));
    replaced.emplace(CellOf(record), record.seed);
  }
  std::vector<CellRecord> whole, part;
  std::set<std::vector<std::string>> seen;  // a row may come from several files
  for (const CellRecord& record : before) {
    if (!record.note.empty() || !table.HasCell(record.block, record.row, record.column)) continue;
    if (replaced.contains({CellOf(record), record.seed})) continue;
    std::vector<std::string> key = ToFields(record);
    key.resize(kKeyFields);
    if (seen.insert(std::move(key)).second) (cells.contains(CellOf(record)) ? part : whole).push_back(record);
  }
  if (!part.empty()) {
    throw InputError(fmt::format(
        "{}: would lose the other seeds of cells that were run anew: {}; run those seeds too (they are "
        "kept in the store), or --stale drop.",
        path, Named(part)));
  }
  if (!whole.empty() && stale == StaleRows::kRefuse) {
    throw InputError(fmt::format(
        "{}: would lose rows of other settings or scenarios than today's: {}; --stale keep leaves them in "
        "place, --stale drop does not.",
        path, Named(whole)));
  }
  std::set<Cell> kept;
  for (const CellRecord& record : whole) kept.insert(CellOf(record));
  std::erase_if(now, [&](const CellRecord& record) { return kept.contains(CellOf(record)); });  // "not run"
  now.insert(now.end(), whole.begin(), whole.end());
  return now;
}

void RefuseOtherCells(const TableDefinition& table, const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  for (const CellRecord& row : ParseRows(formats::ReadFile(path), path)) {
    if (table.HasCell(row.block, row.row, row.column)) continue;
    throw InputError(fmt::format(
        "{}: would lose the rows of {}:{}/{}, which is no cell of table {}; give another --out, or "
        "--stale drop.",
        path, row.block, row.row, row.column, table.name));
  }
}

std::string AnyOfOtherScenarios(const TableDefinition& table, const Testbed& testbed,
                                const std::vector<CellRecord>& rows, int threads) {
  const auto name_of = [](const CellRecord& row) {
    return fmt::format("{}:{}/{}, seed {}", row.block, row.row, row.column, row.seed);
  };
  std::set<std::int64_t, std::greater<>> budgets;  // most rows have the largest, or take any
  std::set<std::string> other;
  PlanOptions all;
  all.cells = {"*:*/*"};
  for (const CellRecord& row : rows) {
    if (!row.note.empty()) continue;
    budgets.insert(row.budget);
    all.seeds = std::max(all.seeds, static_cast<int>(row.seed));
    other.insert(name_of(row));
  }
  RunOptions options;
  options.threads = threads;
  options.resume = options.only_done = true;
  options.done = rows;
  for (const BudgetSize size : BudgetSizes()) {
    all.size = size;
    for (const std::int64_t samples : budgets) {
      all.samples = samples;
      if (other.empty()) return {};
      for (const CellRecord& row : RunCells(table, testbed, PlanCells(table, all), options))
        other.erase(name_of(row));
    }
  }
  return other.empty() ? "" : *other.begin();
}

}  // namespace stowplan::tables
