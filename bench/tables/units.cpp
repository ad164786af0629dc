// Table units: how much of a result is the unit that is placed, and how much who places it. Each block is a unit, each cell of
// the summary the geometric mean, over rows, of a column's time over the best of the row in any block.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bench/tables/analyses.h"
#include "bench/tables/bootstrap.h"
#include "bench/tables/common.h"
#include "bench/tables/rendered_table.h"
#include "bench/tables/results.h"

namespace berth::bench {
namespace {

// Columns that every block ran on the same rows, fixed placements aside: those move no units.
class UnitMeans {
 public:
  explicit UnitMeans(const TableResults& results) : results_(results) {
    const std::vector<TableBlock>& blocks = results.table().blocks;
    for (const TableColumn& column : blocks.front().columns) {
      if (column.kind != CellKind::kSearched) continue;
      const std::set<std::string> lines = LinesOf(column.key);
      if (!lines.empty()) rows_.emplace_back(&column, lines);
    }
    for (const TableBlock& block : blocks) {
      for (const auto& [column, lines] : rows_)
        means_[{block.key, column->key}] = MeanOf(block, column->key, lines);
    }
  }

  using Rows = std::vector<std::pair<const TableColumn*, std::set<std::string>>>;
  const Rows& columns() const { return rows_; }
  double At(const std::string& block, const std::string& column) const { return means_.at({block, column}); }

  // How many times as long the worst takes as the best: over units for each agent, over agents for each unit.
  double OverUnits() const {
    std::vector<double> spreads;
    for (const TableColumn* column : Compared()) {
      std::vector<double> means;
      for (const TableBlock& block : results_.table().blocks) means.push_back(At(block.key, column->key));
      spreads.push_back(*std::ranges::max_element(means) / *std::ranges::min_element(means));
    }
    return GeometricMean(spreads);
  }
  double OverAgents() const {
    std::vector<double> spreads;
    for (const TableBlock& block : results_.table().blocks) {
      std::vector<double> means;
      for (const TableColumn* column : Compared()) means.push_back(At(block.key, column->key));
      spreads.push_back(*std::ranges::max_element(means) / *std::ranges::min_element(means));
    }
    return GeometricMean(spreads);
  }

 private:
  // Those with the most rows: means over other rows say something else.
  std::vector<const TableColumn*> Compared() const {
    std::size_t most = 0;
    for (const auto& [column, lines] : rows_) most = std::max(most, lines.size());
    std::vector<const TableColumn*> compared;
    for (const auto& [column, lines] : rows_) {
      if (lines.size() == most) compared.push_back(column);
    }
    return compared;
  }

  // Where the column found something that fits in every block.
  std::set<std::string> LinesOf(const std::string& column) const {
    std::set<std::string> lines;
    for (const TableLine& line : results_.table().blocks.front().lines) {
      const bool everywhere = std::ranges::all_of(results_.table().blocks, [&](const TableBlock& block) {
        return results_.At(block.key, line.key, column).median.has_value();
      });
      if (everywhere) lines.insert(line.key);
    }
    return lines;
  }

  double BestOf(const std::string& line) const {
    double best = std::numeric_limits<double>::infinity();
    for (const TableBlock& block : results_.table().blocks) {
      if (const auto found = FindBest(results_, block.key, line)) best = std::min(best, found->seconds);
    }
    return best;
  }

  double MeanOf(const TableBlock& block, const std::string& column,
                const std::set<std::string>& lines) const {
    std::vector<double> ratios;
    for (const std::string& line : lines)
      ratios.push_back(*results_.At(block.key, line, column).median / BestOf(line));
    return GeometricMean(ratios);
  }

  const TableResults& results_;
  Rows rows_;
  std::map<std::pair<std::string, std::string>, double> means_;
};

RenderedBlock Summary(const TableResults& results) {
  const UnitMeans means(results);
  const std::vector<TableBlock>& blocks = results.table().blocks;
  RenderedBlock summary;
  summary.key = "units";
  summary.title = "Units and agents";
  summary.row_title = "unit";
  summary.shows = "Times as long as the row's best found with any unit, geometric mean over rows";
  summary.dots = false;
  for (const auto& [column, lines] : means.columns()) {
    RenderedColumn shown = DescribeColumn(blocks.front(), *column);
    shown.shown = true;
    if (lines.size() < blocks.front().lines.size())
      shown.title += fmt::format(", {} row{}", lines.size(), lines.size() == 1 ? "" : "s");
    summary.columns.push_back(std::move(shown));
  }
  for (const TableBlock& block : blocks) {
    if (means.columns().empty()) break;
    RenderedLine& line = summary.lines.emplace_back();
    line.title = block.title;
    line.what = block.note;
    for (const auto& [column, lines] : means.columns()) {
      RenderedCell& cell = line.cells.emplace_back();
      cell.ours_seconds = means.At(block.key, column->key);
      cell.ours = RatioText(*cell.ours_seconds);
      cell.tip = fmt::format("{}, {}: {} rows", block.title, column->title, lines.size());
    }
  }
  return summary;
}

std::vector<std::string> Outcome(const TableResults& results) {
  const UnitMeans means(results);
  if (means.columns().empty()) return {};
  return {fmt::format(
      "One agent with its worst unit takes {:.2f} times as long as with its best, one unit with its worst "
      "agent {:.2f} times as long as with its best (geometric means): {}.",
      means.OverUnits(), means.OverAgents(),
      means.OverUnits() > means.OverAgents() ? "the unit explains more than the agent"
                                             : "the agent explains more than the unit")};
}

}  // namespace

const TableAnalysis kUnits{.name = "units", .outcome = Outcome, .summary = Summary};

}  // namespace berth::bench
