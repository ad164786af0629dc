#include "bench/tables/verify.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/tables/fingerprint.h"
#include "sim/error.h"

namespace berth::bench {
namespace {

// The part of the key that a plan knows.
using Key = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t>;

Key KeyOf(const CellPlan& plan) {
  return {plan.block->key, plan.line->key, plan.column->key, plan.seed, plan.budget};
}

Key KeyOf(const CellRecord& record) {
  return {record.block, record.row, record.column, record.seed, record.budget};
}

std::string HashOf(const CellPlan& plan) {
  Fingerprint hash;
  for (const std::string& text : {plan.block->key, plan.line->key, plan.column->key}) hash.Add(text);
  hash.Add(plan.seed);
  hash.Add(plan.budget);
  return hash.ToString();
}

std::string RuntimeText(const CellRecord& record) {
  return record.runtime_us ? SecondsDigits(*record.runtime_us / 1e6) + " s" : record.status;
}

}  // namespace

TodaysRows FindTodaysRows(const TableDefinition& table, const Testbed& testbed,
                          const std::vector<CellRecord>& rows, const std::vector<std::string>& cells,
                          int threads) {
  PlanOptions all;
  all.cells = cells.empty() ? std::vector<std::string>{"*/*"} : cells;
  std::set<std::tuple<std::string, std::string, std::string>> asked;
  for (const CellPlan& plan : PlanCells(table, all))
    asked.insert({plan.block->key, plan.line->key, plan.column->key});
  std::set<std::int64_t, std::greater<>> budgets;  // most rows have the largest, or take any
  std::map<Key, CellRecord> left;
  for (const CellRecord& row : rows) {
    if (!row.note.empty() || (!cells.empty() && !asked.contains({row.block, row.row, row.column}))) continue;
    budgets.insert(row.budget);
    all.seeds = std::max(all.seeds, static_cast<int>(row.seed));
    left.emplace(KeyOf(row), row);
  }
  RunOptions options;
  options.threads = threads;
  options.resume = options.only_done = true;
  options.done = rows;
  TodaysRows today;
  for (const BudgetSize size : BudgetSizes()) {
    all.size = size;
    for (const std::int64_t samples : budgets) {
      if (left.empty()) return today;
      all.samples = samples;
      std::map<Key, CellPlan> plans;
      std::vector<CellPlan> wanted;
      for (const CellPlan& plan : PlanCells(table, all)) {
        if (left.contains(KeyOf(plan)) && plans.emplace(KeyOf(plan), plan).second) wanted.push_back(plan);
      }
      for (const CellRecord& record : RunCells(table, testbed, wanted, options)) {
        if (left.erase(KeyOf(record)) > 0) today.plans.push_back(plans.at(KeyOf(record)));
      }
    }
  }
  for (auto& [key, row] : left) today.other.push_back(std::move(row));
  return today;
}

std::vector<CellPlan> DrawPlans(const std::vector<CellPlan>& plans, std::size_t count) {
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, const CellPlan*>>> columns;
  for (const CellPlan& plan : plans)
    columns[{plan.block->key, plan.column->key}].emplace_back(HashOf(plan), &plan);
  // By turns, then by hash: first one of each column.
  std::vector<std::tuple<std::size_t, std::string, const CellPlan*>> order;
  for (auto& [column, cells] : columns) {
    std::ranges::sort(cells);
    for (std::size_t turn = 0; turn < cells.size(); ++turn)
      order.emplace_back(turn, cells[turn].first, cells[turn].second);
  }
  std::ranges::sort(order);
  std::vector<CellPlan> drawn;
  for (const auto& [turn, hash, plan] : order) {
    if (drawn.size() < count) drawn.push_back(*plan);
  }
  return drawn;
}

std::string DifferenceOf(const CellRecord& was, const CellRecord& is) {
  const std::vector<std::string>& names = RecordFields();
  const std::vector<std::string> before = ToFields(was), now = ToFields(is);
  bool result = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result = result && names[i] != "command";  // what follows says where it comes from
    if (names[i] == "lower_bound_us" || (!result && names[i] != "screens") || before[i] == now[i]) continue;
    constexpr std::size_t kMost = 40;  // of a curve or a placement
    return fmt::format("{} was {}, is {}", names[i], before[i].substr(0, kMost), now[i].substr(0, kMost));
  }
  return {};
}

Comparison CompareRows(const std::vector<CellRecord>& rows, const std::vector<CellRecord>& again) {
  Comparison compared;
  TextTable table;
  for (const char* title : {"cell", "seed", "in rows.csv", "run again", ""}) table.AddColumn(title);
  for (const CellRecord& is : again) {
    const auto was =
        std::ranges::find_if(rows, [&](const CellRecord& row) { return KeyOf(row) == KeyOf(is); });
    BERTH_CHECK(was != rows.end());
    std::string said = is.note;
    if (is.note.empty()) said = DifferenceOf(*was, is);
    ++(!is.note.empty() ? compared.not_run : said.empty() ? compared.equal : compared.different);
    table.AddRow({fmt::format("{}:{}/{}", is.block, is.row, is.column), std::to_string(is.seed),
                  RuntimeText(*was), RuntimeText(is), said.empty() ? "equal" : said});
  }
  compared.text = table.ToString();
  return compared;
}

std::string NameOf(const CellRecord& record) {
  return fmt::format("{}:{}/{}, seed {}", record.block, record.row, record.column, record.seed);
}

}  // namespace berth::bench
