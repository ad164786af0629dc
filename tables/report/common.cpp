#include "tables/report/common.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/spec.h"

namespace stowplan::tables {

const TableBlock& BlockOf(const TableDefinition& table, const std::string& key) {
  const auto block = std::ranges::find(table.blocks, key, &TableBlock::key);
  STOWPLAN_CHECK(block != table.blocks.end());
  return *block;
}

const TableColumn& ColumnOf(const TableBlock& block, const std::string& key) {
  const auto column = std::ranges::find(block.columns, key, &TableColumn::key);
  STOWPLAN_CHECK(column != block.columns.end());
  return *column;
}

bool DifferOnlyIn(const std::string& parameter, const TableColumn& a, const TableColumn& b) {
  const auto all_else = [&](const TableColumn& column) {
    Spec agent = Spec::Parse(column.agent);
    std::erase_if(agent.named, [&](const auto& named) { return named.first == parameter; });
    return std::tuple(agent.ToString(), column.devices, column.grouper, column.samples, column.pass_every,
                      column.trained, column.zero_shot, column.last);
  };
  return all_else(a) == all_else(b);
}

bool HasSearch(const TableBlock& block) {
  return std::any_of(block.columns.begin(), block.columns.end(),
                     [](const TableColumn& column) { return column.sampled; });
}

std::string SharedRow(const TableBlock& block, const TableLine& line) {
  return fmt::format("{} on {}, {}", line.workload, line.cluster, block.rules);
}

std::string SharedKey(const TableBlock& block, const TableLine& line, const TableColumn& column) {
  return fmt::format("{}: {}", SharedRow(block, line), column.title);
}

std::vector<const CellSummary*> CellsThatRan(const TableResults& results, const std::string& block,
                                             const std::string& line, const std::string& except) {
  std::vector<const CellSummary*> cells;
  for (const TableBlock& b : results.table().blocks) {
    if (b.key != block) continue;
    for (const TableColumn& column : b.columns) {
      const CellSummary& cell = results.At(block, line, column.key);
      if (column.key != except && cell.was_run()) cells.push_back(&cell);
    }
  }
  return cells;
}

PairedColumns PairColumns(const TableResults& results, const TableBlock& block, const std::string& ours,
                          const std::string& base) {
  PairedColumns paired;
  for (const TableLine& line : block.lines) {
    const CellSummary& a = results.At(block.key, line.key, ours);
    const CellSummary& b = results.At(block.key, line.key, base);
    if (!a.was_run() || !b.was_run()) paired.not_run = true;
    if (!a.median || !b.median) paired.do_not_fit.push_back(line.title);
    paired.pairs.emplace_back(&a, &b);
  }
  return paired;
}

std::vector<std::string> RandomColumns() {
  return {"random_op", "random_group", "random_block"};
}
std::vector<std::string> LocalSearchColumns() {
  return {"local_search", "local_search_trivial"};
}

std::optional<double> BestMedian(const TableResults& results, const std::string& block,
                                 const std::string& line, const std::vector<std::string>& columns,
                                 std::int64_t samples) {
  std::optional<double> best;
  for (const std::string& column : columns) {
    if (!results.table().HasCell(block, line, column)) continue;
    const CellSummary& cell = results.At(block, line, column);
    if (cell.median && cell.budget() == samples) best = std::min(best.value_or(*cell.median), *cell.median);
  }
  return best;
}

std::string ReductionText(double from, double to) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(from - to) / from, to <= from ? "below" : "above");
}

std::optional<BestFound> FindBest(const TableResults& results, const std::string& block,
                                  const std::string& line, const std::string& except) {
  std::optional<BestFound> best;
  for (const TableColumn& column : BlockOf(results.table(), block).columns) {
    if (column.key == except) continue;
    for (const CellRecord& record : results.At(block, line, column.key).records) {
      if (!record.runtime_us || (best && best->seconds <= *record.runtime_us / 1e6)) continue;
      best = {*record.runtime_us / 1e6,
              column.title + (column.sampled ? fmt::format(", seed {}", record.seed) : "")};
    }
  }
  return best;
}

}  // namespace stowplan::tables
