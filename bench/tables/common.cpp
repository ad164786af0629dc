#include "bench/tables/common.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::bench {

bool HasSearch(const TableBlock& block) {
  return std::any_of(block.columns.begin(), block.columns.end(),
                     [](const TableColumn& column) { return column.sampled; });
}

std::string SharedKey(const TableBlock& block, const TableLine& line, const TableColumn& column) {
  return fmt::format("{} on {}, {}: {}", line.workload, line.cluster, block.rules, column.title);
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

}  // namespace berth::bench
