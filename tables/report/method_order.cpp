#include "tables/report/method_order.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/base/statistics.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

constexpr double kOutOfMemory = 1e30;  // seconds, beyond all
constexpr std::size_t kFewestMethods = 3;

struct Method {
  std::string title;
  double published = 0, ours = 0;
};

std::vector<Method> MethodsOf(const TableResults& results, const TableBlock& block, const TableLine& line,
                              const std::string& except) {
  std::vector<Method> methods;
  for (const TableColumn& column : block.columns) {
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if (!cell.published || !cell.was_run() || column.title == except) continue;
    methods.push_back(
        {column.title, cell.published->value.value_or(kOutOfMemory), cell.median.value_or(kOutOfMemory)});
  }
  return methods;
}

// Pairs that stand otherwise, by each of the two.
void CountPairs(const std::vector<Method>& methods, MethodOrder& order, std::map<std::string, int>& with) {
  for (std::size_t i = 0; i < methods.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Method &a = methods[i], &b = methods[j];
      if (a.published == b.published) continue;
      ++order.pairs;
      if (a.ours != b.ours && (a.published < b.published) == (a.ours < b.ours)) continue;
      ++order.otherwise;
      ++with[a.title], ++with[b.title];
    }
  }
}

MethodOrder OrderOf(const TableResults& results, const TableBlock& block, const std::string& except) {
  MethodOrder order;
  order.key = block.key;
  order.title = block.title;
  std::map<std::string, int> with;
  double sum = 0;
  for (const TableLine& line : block.lines) {
    const std::vector<Method> methods = MethodsOf(results, block, line, except);
    std::vector<double> published, ours;
    for (const Method& method : methods) {
      published.push_back(method.published);
      ours.push_back(method.ours);
    }
    const RankCorrelation row = KendallTauB(published, ours, std::vector<double>(published.size(), 0.0));
    if (methods.size() < kFewestMethods || row.pairs == 0) continue;
    ++order.rows;
    sum += row.tau_b;
    CountPairs(methods, order, with);
  }
  if (order.rows > 0) order.tau = sum / order.rows;
  for (const auto& [title, pairs] : with) {
    if (pairs > order.with_column) order.column = title, order.with_column = pairs;
  }
  return order;
}

}  // namespace

std::vector<MethodOrder> OrdersOfMethods(const TableResults& results) {
  std::vector<MethodOrder> orders;
  for (const TableBlock& block : results.table().blocks) {
    MethodOrder order = OrderOf(results, block, "");
    if (order.rows == 0) continue;
    if (!order.column.empty()) {
      const MethodOrder rest = OrderOf(results, block, order.column);
      if (rest.rows > 0) order.without = rest.tau;
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

std::string OrderText(const MethodOrder& order) {
  std::string text =
      fmt::format("{:.2f} over {} row{}, goal {}{}", order.tau, order.rows, order.rows == 1 ? "" : "s",
                  kOrderGoal, order.tau >= kOrderGoal ? "" : ": missed");
  if (order.otherwise == 0) return text + "; all pairs stand as in the paper";
  text += fmt::format("; {} of the {} pairs that stand otherwise (of {}) are with {}", order.with_column,
                      order.otherwise, order.pairs, order.column);
  if (order.without) text += fmt::format(", without it {:.2f}", *order.without);
  return text;
}

output::ReportSection OrderSection(const TableResults& results) {
  output::ReportSection section;
  section.title = "Order of methods: Kendall's tau against the paper";
  for (const MethodOrder& order : OrdersOfMethods(results))
    section.sentences.push_back(fmt::format("{}: {}.", order.title, OrderText(order)));
  return section;
}

}  // namespace stowplan::tables
