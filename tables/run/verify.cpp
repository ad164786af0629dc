#include "tables/run/verify.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "agents/task.h"
#include "output/console.h"
#include "problem/fingerprint.h"
#include "sim/base/error.h"
#include "tables/run/policies.h"
#include "tables/settings_before.h"

namespace stowplan::tables {
namespace {

using Cell = std::tuple<std::string, std::string, std::string>;

std::string HashOf(const CellRecord& row) {
  problem::Fingerprint hash;
  for (const std::string& text : {row.block, row.row, row.column}) hash.Add(text);
  hash.Add(row.seed);
  hash.Add(row.budget);
  return hash.ToString();
}

std::string RuntimeText(const CellRecord& record) {
  return record.runtime_us ? output::SecondsDigits(*record.runtime_us / 1e6) + " s" : record.status;
}

// Numbers and words of a field stand between blanks; long ones are told from the first that differs.
std::pair<std::string, std::string> FromWhereTheyDiffer(const std::string& was, const std::string& is) {
  constexpr std::size_t kMost = 30;
  const auto differs = std::ranges::mismatch(was, is);
  const auto at = static_cast<std::size_t>(differs.in1 - was.begin());
  const std::size_t blank = at == 0 ? std::string::npos : was.rfind(' ', at - 1);
  const std::size_t start =
      std::max(was.size(), is.size()) <= kMost || blank == std::string::npos ? 0 : blank + 1;
  const auto shown = [&](const std::string& text) {
    if (text.empty()) return std::string("nothing");
    const std::string part = start < text.size() ? text.substr(start, kMost) : "the end";
    return (start > 0 ? "… " : "") + part + (start + kMost < text.size() ? " …" : "");
  };
  return {shown(was), shown(is)};
}

bool IsOf(const CellRecord& again, const CellRecord& row) {
  return again.block == row.block && again.row == row.row && again.column == row.column &&
         again.seed == row.seed;
}

}  // namespace

DrawnRows DrawRows(const TableResults& results, const std::vector<CellRecord>& rows,
                   const std::vector<std::string>& cells, std::size_t count) {
  const std::set<const CellSummary*> all_before = CellsBefore(results);
  std::map<Cell, bool> before;  // of the cells asked for
  const std::vector<std::string> all = {"*:*/*"};
  for (const CellPlan& plan :
       PlanCells(results.table(), {.cells = cells.empty() ? all : cells, .seeds = 1})) {
    const Cell cell = {plan.block->key, plan.line->key, plan.column->key};
    before[cell] = all_before.contains(&results.At(plan.block->key, plan.line->key, plan.column->key));
  }
  DrawnRows drawn;
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, const CellRecord*>>>
      columns;
  for (const CellRecord& row : rows) {
    const auto cell = before.find({row.block, row.row, row.column});
    if (!row.note.empty() || cell == before.end()) continue;
    if (cell->second) {
      ++drawn.before;
    } else {
      columns[{row.block, row.column}].emplace_back(HashOf(row), &row);
    }
  }
  // By turns, then by hash: first one of each column.
  std::vector<std::tuple<std::size_t, std::string, const CellRecord*>> order;
  for (auto& [column, of_column] : columns) {
    std::ranges::sort(of_column);
    for (std::size_t turn = 0; turn < of_column.size(); ++turn)
      order.emplace_back(turn, of_column[turn].first, of_column[turn].second);
  }
  std::ranges::sort(order);
  for (const auto& [turn, hash, row] : order) {
    if (drawn.rows.size() < count) drawn.rows.push_back(*row);
  }
  return drawn;
}

CellPlan PlanOfRow(const TableDefinition& table, const CellRecord& row) {
  PlanOptions options;
  options.cells = {fmt::format("{}:{}/{}", row.block, row.row, row.column)};
  options.seeds = 1;
  options.samples = row.budget;
  std::vector<CellPlan> plans;
  for (const BudgetSize size : BudgetSizes()) {
    options.size = size;
    plans.push_back(PlanCells(table, options).front());
  }
  const auto same = std::ranges::find_if(plans, [&](const CellPlan& plan) {
    return plan.budget == row.budget && agents::GrouperSettings(plan.grouper).Canonical() == row.units &&
           (!plan.column->trained || row.agent.ends_with(TrainingText(plan)));
  });
  CellPlan plan = same != plans.end() ? *same : plans[static_cast<std::size_t>(BudgetSize::kStandard)];
  plan.seed = row.seed;
  return plan;
}

std::string DifferenceOf(const CellRecord& was, const CellRecord& is) {
  const std::vector<std::string>& names = RecordFields();
  const std::vector<std::string> before = ToFields(was), now = ToFields(is);
  bool result = true;
  std::string first;
  int more = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result = result && names[i] != "command";  // what follows says where it comes from
    // The cost model is named by its file; what it says is part of the scenario.
    const bool left_out = names[i] == "lower_bound_us" || names[i] == "cost_model";
    if (left_out || (!result && names[i] != "screens") || before[i] == now[i]) continue;
    if (!first.empty()) {
      ++more;
      continue;
    }
    const auto [then, today] = FromWhereTheyDiffer(before[i], now[i]);
    first = fmt::format("{} was {}, is {}", names[i], then, today);
  }
  return more > 0 ? fmt::format("{}; so {} more", first, more) : first;
}

Comparison CompareRows(const std::vector<CellRecord>& rows, const std::vector<CellRecord>& again) {
  Comparison compared;
  std::string elsewhere;
  output::TextTable table("lllll", {"cell", "seed", "in rows.csv", "run again", ""});
  auto was = rows.begin();
  for (const CellRecord& is : again) {
    was = std::find_if(was, rows.end(), [&](const CellRecord& row) { return IsOf(is, row); });
    STOWPLAN_CHECK(was != rows.end());
    std::string said = is.note;
    if (is.note.empty()) said = DifferenceOf(*was, is);
    ++(!is.note.empty() ? compared.not_run : said.empty() ? compared.equal : compared.different);
    if (is.note.empty() && !said.empty() && is.machine != was->machine)
      elsewhere = fmt::format(
          "Rows that differ were run on another machine ({}; this is {}): what learners draw may depend on "
          "it\n"
          "(docs/reproducing.md#another-machine).\n",
          was->machine, is.machine);
    table.AddRow({fmt::format("{}:{}/{}", is.block, is.row, is.column), std::to_string(is.seed),
                  RuntimeText(*was), RuntimeText(is), said.empty() ? "equal" : said});
    ++was;
  }
  compared.text = table.ToString() + elsewhere;
  return compared;
}

}  // namespace stowplan::tables
