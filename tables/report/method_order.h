// Whether the methods of a row stand in the paper's order: Kendall's tau, the goal of searched cells, which are never
// compared by closeness (docs/protocol.md#order).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "output/report_page.h"
#include "tables/results.h"

namespace stowplan::tables {

inline constexpr double kOrderGoal = 0.6;

// Of a block: rows with three methods or more that have a number of ours and one of the paper. OOM is slower than any
// number, pairs that the paper does not order do not count.
struct MethodOrder {
  std::string key, title;
  double tau = 0;  // mean over rows
  int rows = 0;
  int pairs = 0,
      otherwise = 0;   // over all rows; those that the paper orders, and those of them that stand otherwise
  std::string column;  // title of the one that most of these pairs are with
  int with_column = 0;
  std::optional<double> without;  // tau without it, where rows with three methods are left
};

// Of each block that has such rows.
std::vector<MethodOrder> OrdersOfMethods(const TableResults& results);

// "0.27 over 14 rows, goal 0.6: missed; 21 of the 33 pairs that stand otherwise (of 84) are with METIS, without it 0.45"
std::string OrderText(const MethodOrder& order);

// A sentence for each block that has any; none where no block has.
output::ReportSection OrderSection(const TableResults& results);

}  // namespace stowplan::tables
