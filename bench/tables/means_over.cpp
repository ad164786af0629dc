#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bench/tables/bootstrap.h"
#include "bench/tables/common.h"
#include "bench/tables/rendered_table.h"

namespace berth::bench {
namespace {

constexpr double kLast = std::numeric_limits<double>::infinity();  // of lines without a mean

RenderedCell MeanOver(const TableResults& results, const TableBlock& block, const TableColumn& column,
                      const TableColumn& base) {
  RenderedCell cell;
  cell.ours = "–";
  const PairedColumns paired = PairColumns(results, block, column.key, base.key);
  if (paired.not_run) return cell;
  if (!paired.do_not_fit.empty()) {
    cell.ours = fmt::format("OOM in {} of {}", paired.do_not_fit.size(), paired.pairs.size());
    return cell;
  }
  const Estimate mean = EstimateMeanRatio(paired.pairs, !block.training.workloads.empty());
  if (mean.unpaired()) return cell;
  cell.ours = RatioText(mean.value);
  cell.ours_seconds = mean.value;
  if (mean.sampled && !mean.open() && column.key != base.key) {
    cell.low = mean.low, cell.high = mean.high;
    cell.spread = fmt::format("[{}, {}]", RatioText(mean.low), RatioText(mean.high));
  }
  cell.tip = fmt::format("{} over {}: {} rows{}", column.title, base.title, paired.pairs.size(),
                         IntervalText(mean));
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
  summary.shows = fmt::format("Times as long as another takes, geometric mean over {} rows, 90 % intervals",
                              block.lines.size());
  summary.dots = false;
  std::vector<const TableColumn*> bases;
  for (const std::string& key : table.over) {
    const auto base = std::ranges::find(block.columns, key, &TableColumn::key);
    bases.push_back(&*base);
    summary.columns.push_back({"over " + base->title, GroupOf(*base), true});
  }
  for (const TableColumn& column : block.columns) {
    RenderedLine line;
    line.title = column.title;
    for (const TableColumn* base : bases) line.cells.push_back(MeanOver(results, block, column, *base));
    const bool says = std::ranges::any_of(line.cells, [](const RenderedCell& cell) { return cell.ours != "–"; });
    if (says) summary.lines.push_back(std::move(line));
  }
  std::ranges::stable_sort(summary.lines, {}, [](const RenderedLine& line) {
    return line.cells.front().ours_seconds.value_or(kLast);
  });
  return summary;
}

}  // namespace berth::bench
