// Table units: how much of a result is the unit that is placed, and how much who places it. Each block is a unit, each cell of
// the summary the geometric mean, over rows, of a column's time over the best of the row in any block.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/spec.h"
#include "tables/report/analyses.h"
#include "tables/report/bootstrap.h"
#include "tables/report/common.h"
#include "tables/report/rendered_table.h"
#include "tables/results.h"

namespace stowplan::tables {
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

  // Of each row that all compared columns have: how many times as long the worst takes as the best, over units for each agent
  // and over agents for each unit, geometric means.
  struct Spread {
    std::vector<double> over_units, over_agents;  // by row
  };
  Spread SpreadOfRows(bool with_blind) const {
    Spread spread;
    std::vector<const TableColumn*> compared;
    for (const TableColumn* column : Compared()) {
      if (with_blind || !IsBlind(*column)) compared.push_back(column);
    }
    if (compared.size() < 2) return spread;
    for (const std::string& line : LinesOf(compared.front()->key)) {
      const auto seconds = [&](const TableBlock& block, const TableColumn* column) {
        return *results_.At(block.key, line, column->key).median;
      };
      std::vector<double> units, agents;
      for (const TableColumn* column : compared) {
        std::vector<double> of_agent;
        for (const TableBlock& block : results_.table().blocks) of_agent.push_back(seconds(block, column));
        units.push_back(WorstOverBest(of_agent));
      }
      for (const TableBlock& block : results_.table().blocks) {
        std::vector<double> of_unit;
        for (const TableColumn* column : compared) of_unit.push_back(seconds(block, column));
        agents.push_back(WorstOverBest(of_unit));
      }
      spread.over_units.push_back(GeometricMean(units));
      spread.over_agents.push_back(GeometricMean(agents));
    }
    return spread;
  }

 private:
  // Random draws, and the control that learns no more than they know: who would place so?
  static bool IsBlind(const TableColumn& column) {
    const Spec agent = Spec::Parse(column.agent);
    const auto action = std::ranges::find(agent.named, "action", &std::pair<std::string, std::string>::first);
    return agent.name == "random" || (agent.name == "factored" && action == agent.named.end());
  }
  static double WorstOverBest(const std::vector<double>& seconds) {
    return *std::ranges::max_element(seconds) / *std::ranges::min_element(seconds);
  }

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

// How many times more the unit explains than the agent, over rows.
Estimate UnitOverAgent(const UnitMeans::Spread& spread) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < spread.over_units.size(); ++i)
    ratios.push_back(spread.over_units[i] / spread.over_agents[i]);
  return EstimateMean(ratios);
}

std::string AnswerOf(const Estimate& ratio) {
  return fmt::format("{} (ratio {}, 90 % interval [{}, {}])",
                     ratio.low > 1    ? "the unit explains more than the agent"
                     : ratio.high < 1 ? "the agent explains more than the unit"
                                      : "which of them explains more is open",
                     RatioText(ratio.value), RatioText(ratio.low), RatioText(ratio.high));
}

// Which columns are compared decides much, so it is told with and without those that know nothing.
std::vector<std::string> OutcomeOfUnits(const TableResults& results) {
  const UnitMeans means(results);
  const UnitMeans::Spread all = means.SpreadOfRows(true), seeing = means.SpreadOfRows(false);
  if (all.over_units.empty()) return {};
  const Estimate ratio = UnitOverAgent(all);
  std::vector<std::string> outcome = {fmt::format(
      "In a row an agent with its worst unit takes {:.2f} times as long as with its best, a unit with its "
      "worst agent {:.2f} times (geometric means over {} rows): {}.",
      GeometricMean(all.over_units), GeometricMean(all.over_agents), all.over_units.size(), AnswerOf(ratio))};
  if (!seeing.over_units.empty() && seeing.over_units != all.over_units)
    outcome.push_back(
        fmt::format("Without random draws and the plain control, which see nothing, {:.2f} and {:.2f}: {}.",
                    GeometricMean(seeing.over_units), GeometricMean(seeing.over_agents),
                    AnswerOf(UnitOverAgent(seeing))));
  return outcome;
}

}  // namespace

const TableAnalysis kUnits{.name = "units", .outcome = OutcomeOfUnits, .summary = Summary};

}  // namespace stowplan::tables
