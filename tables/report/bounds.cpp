// How far every agent's cells are from the proven lower bound (docs/protocol.md#lower-bound): what no paper
// gives.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tables/report/bootstrap.h"
#include "tables/report/common.h"
#include "tables/report/derived.h"
#include "tables/report/learned.h"

namespace stowplan::tables {
namespace {

std::optional<double> GapOf(const CellSummary& cell) {
  if (!cell.median || !cell.bound || *cell.bound <= 0) return std::nullopt;
  return *cell.median / *cell.bound;
}

RenderedCell GapCell(const CellSummary& cell) {
  RenderedCell rendered;
  if (cell.state == CellSummary::State::kOutOfMemory) rendered.ours = "OOM";
  if (const auto gap = GapOf(cell)) {
    rendered.ours = fmt::format("{:.2f}", *gap);
    if (cell.low < cell.high)
      rendered.spread = fmt::format("[{:.2f}, {:.2f}]", cell.low / *cell.bound, cell.high / *cell.bound);
  }
  if (rendered.ours.empty()) rendered.ours = "–";
  return rendered;
}

RenderedBlock GapsOf(const TableResults& results, const TableBlock& block) {
  RenderedBlock out;
  out.key = results.table().name + "-" + block.key;
  out.title = results.table().name + ": " + block.title;
  out.note = block.note;
  out.shows = "Median runtime / proven lower bound of the cell";
  out.dots = false;
  std::vector<const TableColumn*> columns;
  for (const TableColumn& column : block.columns) {
    if (std::any_of(block.lines.begin(), block.lines.end(), [&](const TableLine& line) {
          return results.At(block.key, line.key, column.key).was_run();
        }))
      columns.push_back(&column);
  }
  for (const TableColumn* column : columns) out.columns.push_back(DescribeColumn(block, *column));
  for (const TableLine& line : block.lines) {
    if (CellsThatRan(results, block.key, line.key).empty()) continue;
    RenderedLine rendered = DescribeLine(results, block, line);
    for (const TableColumn* column : columns)
      rendered.cells.push_back(GapCell(results.At(block.key, line.key, column->key)));
    out.lines.push_back(std::move(rendered));
  }
  return out;
}

// The best column of each kind in each block: what it is on average over the rows, all of which it has.
RenderedBlock Summary(const std::vector<TableResults>& tables) {
  RenderedBlock out;
  out.key = "summary";
  out.title = "The best of each kind";
  out.shows =
      "Geometric mean over rows of runtime / proven bound, of the best column of each kind that fits in "
      "every row";
  out.row_title = "table";
  out.dots = false;
  constexpr ColumnGroup kGroups[] = {ColumnGroup::kRule, ColumnGroup::kScheduler, ColumnGroup::kLearner,
                                     ColumnGroup::kSearch};
  for (const ColumnGroup group : kGroups) out.columns.push_back({TitleOf(group), group, true});
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      // The rows of one that spends what the paper did are those of another block.
      if (!HasSearch(block) || block.paper_budget) continue;
      RenderedLine line;
      line.title = results.table().name + ": " + block.title;
      for (const ColumnGroup group : kGroups) {
        RenderedCell& cell = line.cells.emplace_back();
        cell.ours = "–";
        double best = INFINITY;
        for (const TableColumn& column : block.columns) {
          std::vector<double> gaps;
          for (const TableLine& row : block.lines) {
            if (const auto gap = GapOf(results.At(block.key, row.key, column.key))) gaps.push_back(*gap);
          }
          if (GroupOf(column) != group || (column.learner && IsUntrained(column.agent)) ||
              gaps.size() < block.lines.size() || GeometricMean(gaps) >= best)
            continue;
          best = GeometricMean(gaps);
          cell.ours = fmt::format("{:.2f}", best);
          cell.by = column.title;
          cell.tip = fmt::format("{} over {} rows", column.title, gaps.size());
        }
      }
      out.lines.push_back(std::move(line));
    }
  }
  return out;
}

struct AgentGaps {
  std::vector<double> gaps;
  int oom = 0;
};

using Agents = std::vector<std::pair<std::string, AgentGaps>>;

// By title, because columns of several tables may share a key but not an agent.
Agents OverRows(const std::vector<TableResults>& tables) {
  Agents agents;
  const auto of = [&](const std::string& title) -> AgentGaps& {
    const auto found =
        std::find_if(agents.begin(), agents.end(), [&](const auto& a) { return a.first == title; });
    return found != agents.end() ? found->second : agents.emplace_back(title, AgentGaps{}).second;
  };
  std::set<std::string> counted;
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      if (!HasSearch(block)) continue;
      for (const TableLine& line : block.lines) {
        for (const TableColumn& column : block.columns) {
          const CellSummary& cell = results.At(block.key, line.key, column.key);
          if (!cell.was_run() || !counted.insert(SharedKey(block, line, column)).second) continue;
          AgentGaps& agent = of(column.title);
          if (const auto gap = GapOf(cell)) agent.gaps.push_back(*gap);
          agent.oom += cell.state == CellSummary::State::kOutOfMemory;
        }
      }
    }
  }
  std::erase_if(agents, [](const auto& agent) { return agent.second.gaps.empty(); });
  return agents;
}

output::ReportSection AgentsSection(const Agents& agents) {
  output::ReportSection section;
  section.title = "Every agent over all rows";
  section.sentences = {
      "Geometric mean of the gaps with its 90 % bootstrap interval over rows. Rows differ between agents, so "
      "the "
      "means say how far an agent is from proven, not which agent is best (table budget does). At the bound: "
      "within "
      "1 %, which proves the placement optimal to 1 %. Rows that two tables share count once, blocks of "
      "fixed "
      "placements alone not at all."};
  section.header = {"agent",   "mean gap", "interval",     "least",
                    "largest", "rows",     "at the bound", "out of memory"};
  for (const auto& [title, agent] : agents) {
    const Estimate mean = EstimateMean(agent.gaps);
    const auto [least, largest] = std::minmax_element(agent.gaps.begin(), agent.gaps.end());
    section.rows.push_back(
        {title, fmt::format("{:.2f}", mean.value), fmt::format("[{:.2f}, {:.2f}]", mean.low, mean.high),
         fmt::format("{:.2f}", *least), fmt::format("{:.2f}", *largest), std::to_string(agent.gaps.size()),
         std::to_string(
             std::count_if(agent.gaps.begin(), agent.gaps.end(), [](double g) { return g <= 1.01; })),
         std::to_string(agent.oom)});
  }
  return section;
}

// The least gap of each row, by whomever.
std::vector<double> LeastGaps(const std::vector<TableResults>& tables) {
  std::map<std::string, double> least;  // rows that two tables share count once
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      if (!HasSearch(block)) continue;
      for (const TableLine& line : block.lines) {
        const auto bound = results.Bound(block.key, line.key);
        for (const TableColumn& column : block.columns) {
          const auto& median = results.At(block.key, line.key, column.key).median;
          if (!median || !bound || *bound <= 0) continue;
          double& of_row = least.try_emplace(SharedRow(block, line), INFINITY).first->second;
          of_row = std::min(of_row, *median / *bound);
        }
      }
    }
  }
  std::vector<double> gaps;
  for (const auto& [row, gap] : least) gaps.push_back(gap);
  return gaps;
}

std::vector<std::string> Outcome(const std::vector<TableResults>& tables, const Agents& agents) {
  std::size_t cells = 0, at_bound = 0;
  for (const auto& [title, agent] : agents) {
    cells += agent.gaps.size();
    at_bound += static_cast<std::size_t>(
        std::count_if(agent.gaps.begin(), agent.gaps.end(), [](double g) { return g <= 1.01; }));
  }
  const std::vector<double> least = LeastGaps(tables);
  if (least.empty()) return {};
  const Estimate mean = EstimateMean(least);
  return {fmt::format(
              "The best placement found in a row takes {:.2f} times as long as the proven bound ({} rows, "
              "geometric mean, 90 % interval [{:.2f}, {:.2f}]).",
              mean.value, least.size(), mean.low, mean.high),
          fmt::format("{} of {} cells are within 1 % of the bound and so proven optimal.", at_bound, cells),
          "A large gap is of the agent or of the bound: both are possible."};
}

}  // namespace

RenderedTable RenderBounds(const std::vector<TableResults>& tables, const std::string&) {
  RenderedTable table;
  table.name = "bounds";
  table.title = "The gap of every agent to the proven lower bound";
  table.legend =
      "Runtime divided by the bound: 1.00 cannot be improved, 1.50 can be improved by a third at most. The "
      "bound holds in "
      "this model for every placement on the devices that the cell may use (critical path, work, memory); it "
      "is no bound "
      "for real machines. A large gap is of the agent or of the bound: both are possible. OOM = nothing that "
      "fits was "
      "found. Medians over seeds, in brackets the smallest and the largest.";
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      RenderedBlock gaps = GapsOf(results, block);
      if (!gaps.lines.empty()) table.blocks.push_back(std::move(gaps));
    }
  }
  const Agents agents = OverRows(tables);
  table.short_legend = "1.00 cannot be improved.";
  table.outcome = Outcome(tables, agents);
  table.summary = Summary(tables);
  table.discussion = {AgentsSection(agents)};
  table.provenance = DerivedProvenance(table.name, tables);
  return table;
}

}  // namespace stowplan::tables
