#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/base/spec.h"
#include "tables/report/bootstrap.h"
#include "tables/report/common.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

RenderedCell Unsaid(const std::string& why) {
  RenderedCell cell;
  cell.ours = "–";
  cell.tip = why;
  return cell;
}

// Sampled cells are compared at equal samples alone.
bool IsFair(const CellPairs& pairs) {
  return std::ranges::all_of(pairs, [](const auto& pair) {
    const auto& [ours, base] = pair;
    return !ours->sampled || !base->sampled || ours->budget() == base->budget();
  });
}

// In how many rows of the block nothing that fits was found; 0 where it was not run in all of them.
std::int64_t DoesNotFit(const TableResults& results, const TableBlock& block, const TableColumn& column) {
  std::int64_t rows = 0;
  for (const TableLine& line : block.lines) {
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if (!cell.was_run()) return 0;
    rows += cell.median ? 0 : 1;
  }
  return rows;
}

// "; OOM in 1 of 4 rows: single GPU, expert"
std::string OutOfMemoryText(const std::map<std::int64_t, std::vector<std::string>>& out_of_memory,
                            std::size_t rows) {
  std::string text;
  for (const auto& [count, columns] : out_of_memory)
    text += fmt::format("; OOM in {} of {} rows: {}", count, rows, fmt::join(columns, "; "));
  return text;
}

RenderedCell MeanOver(const TableResults& results, const TableBlock& block, const TableColumn& column,
                      const TableColumn& base) {
  const PairedColumns paired = PairColumns(results, block, column.key, base.key);
  if (paired.not_run) return Unsaid("not run in all rows");
  if (!IsFair(paired.pairs)) return Unsaid("not the same number of samples");
  if (!paired.do_not_fit.empty())
    return Unsaid(base.title + " does not fit in " + JoinNames(paired.do_not_fit));
  RenderedCell cell;
  if (column.key == base.key) {
    cell.ours = RatioText(1);
    cell.ours_seconds = 1;
    return cell;
  }
  const Estimate mean = EstimateMeanRatio(paired.pairs, !block.training.workloads.empty());
  if (mean.unpaired() || std::isnan(mean.value)) return Unsaid("no seed that all cells have");
  cell.ours = RatioText(mean.value);
  cell.ours_seconds = mean.value;
  if (mean.sampled && !mean.open())
    cell.spread = fmt::format("[{}, {}]", RatioText(mean.low), RatioText(mean.high));
  cell.tip =
      fmt::format("{} over {}: {} rows{}", column.title, base.title, paired.pairs.size(), IntervalText(mean));
  return cell;
}

}  // namespace

RenderedBlock MeansOver(const TableResults& results) {
  const TableDefinition& table = results.table();
  const TableBlock& block = table.blocks.front();
  RenderedBlock summary;
  summary.key = "summary";
  summary.title = "Beside one another";
  summary.row_title = "placed by";
  summary.dots = false;
  summary.intervals = true;
  std::vector<const TableColumn*> bases;
  for (const std::string& key : table.over) {
    bases.push_back(&ColumnOf(block, key));
    summary.columns.push_back({"over " + bases.back()->title, GroupOf(*bases.back()), true});
  }
  bool sampled = false;
  std::map<std::int64_t, std::vector<std::string>> out_of_memory;  // titles, by how many rows
  for (const TableColumn& column : block.columns) {
    const bool ran = std::ranges::any_of(block.lines, [&](const TableLine& line) {
      return results.At(block.key, line.key, column.key).was_run();
    });
    if (!ran) continue;
    if (const std::int64_t rows = DoesNotFit(results, block, column); rows > 0) {
      out_of_memory[rows].push_back(column.title);
      continue;
    }
    RenderedLine& line = summary.lines.emplace_back();
    line.title = column.title;
    for (const TableColumn* base : bases) {
      line.cells.push_back(MeanOver(results, block, column, *base));
      sampled = sampled || !line.cells.back().spread.empty();
    }
  }
  summary.shows =
      fmt::format("Times as long as another takes, geometric mean over {} rows{}{}", block.lines.size(),
                  sampled ? ", 90 % intervals" : "", OutOfMemoryText(out_of_memory, block.lines.size()));
  // Without a mean last, as the columns stand.
  std::ranges::stable_sort(summary.lines, [](const RenderedLine& a, const RenderedLine& b) {
    const auto &left = a.cells.front().ours_seconds, &right = b.cells.front().ours_seconds;
    return left && (!right || *left < *right);
  });
  return summary;
}

}  // namespace stowplan::tables
