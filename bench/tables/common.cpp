#include "bench/tables/common.h"

#include <fmt/format.h>

#include "bench/console.h"

namespace berth::bench {

std::vector<TableColumn> ExtraColumns(const std::string& devices) {
  const auto sampled = [&](const char* key, const char* title, const char* agent, const char* grouper) {
    TableColumn column;
    column.key = key;
    column.title = title;
    column.agent = agent;
    column.sampled = true;
    column.devices = devices;
    column.grouper = grouper;
    return column;
  };
  TableColumn round_robin;
  round_robin.key = "round_robin";
  round_robin.title = "round robin";
  round_robin.agent = "round_robin";
  round_robin.kind = CellKind::kPredicted;
  round_robin.devices = devices;
  round_robin.grouper = "colocation";
  return {round_robin, sampled("random_op", "random, ops", "random", "colocation"), sampled("random_group", "random, groups", "random", ""),
          sampled("random_block", "random, blocks", "random(unit=block)", "colocation"),
          sampled("local_search", "local search", "local_search", "")};
}

const CellSummary* FastestOf(const TableResults& results, const std::string& block, const std::string& line, const std::string& except) {
  const CellSummary* fastest = nullptr;
  for (const TableBlock& b : results.table().blocks) {
    if (b.key != block) continue;
    for (const TableColumn& column : b.columns) {
      if (column.key == except) continue;
      const CellSummary& cell = results.At(block, line, column.key);
      if (cell.median && (fastest == nullptr || *cell.median < *fastest->median)) fastest = &cell;
    }
  }
  return fastest;
}

std::string ReductionText(double from, double to) { return fmt::format("{:.1f} %", 100 * (from - to) / from); }

ClaimReading ReductionClaim(const TableResults& results, const std::string& block, const std::string& line,
                            const std::string& baseline, double claimed, const std::string& text) {
  ClaimReading reading{text, "not run", ClaimWord::kCannotBeTested};
  const CellSummary& base = results.At(block, line, baseline);
  const CellSummary* fastest = FastestOf(results, block, line, baseline);
  if (!base.median || fastest == nullptr) return reading;
  reading.ours = fmt::format("{} s against {} s: {} below", SecondsDigits(*fastest->median), SecondsDigits(*base.median),
                             ReductionText(*base.median, *fastest->median));
  if (*fastest->median <= (1 - claimed) * *base.median) {
    reading.word = ClaimWord::kHolds;
  } else {
    const bool excluded = base.bound && *base.bound > (1 - claimed) * *base.median;
    reading.word = excluded ? ClaimWord::kDoesNotHold : ClaimWord::kUndecided;
  }
  return reading;
}

}  // namespace berth::bench
