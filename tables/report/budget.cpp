// All agents and classical search at equal samples (docs/protocol.md#budget): the curves of the other tables,
// read at every budget up to theirs.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/bootstrap.h"
#include "tables/report/clocks.h"
#include "tables/report/common.h"
#include "tables/report/derived.h"
#include "tables/report/learned.h"

namespace stowplan::tables {
namespace {

// A row of a table where several columns searched with one budget.
struct Race {
  const TableBlock* block;
  const TableLine* line;
  std::int64_t budget = 0;
  double best = INFINITY;  // [s], the smallest median of its cells at the full budget
  std::vector<std::pair<const TableColumn*, const CellSummary*>> cells;
};

// Of the seeds that were run; infinite where half of them found nothing yet.
double MedianAfter(const CellSummary& cell, std::int64_t samples) {
  std::vector<std::int64_t> seeds;
  for (const CellRecord& record : cell.records) seeds.push_back(record.seed);
  return MedianOver(cell, seeds, [&](const CellRecord& record) {
    double best = INFINITY;
    for (const auto& [at, seconds] : CurvePoints(record)) {
      if (at <= static_cast<double>(samples)) best = seconds;
    }
    return best;
  });
}

std::vector<Race> RacesOf(const TableResults& results, const TableBlock& block) {
  std::vector<Race> races;
  for (const TableLine& line : block.lines) {
    Race race{&block, &line};
    for (const TableColumn& column : block.columns) {
      const CellSummary& cell = results.At(block.key, line.key, column.key);
      if (!column.sampled || column.has_own_budget() || !cell.was_run()) continue;
      race.cells.emplace_back(&column, &cell);
      // What has spent more is read where the others ended.
      race.budget = race.budget == 0 ? cell.budget() : std::min(race.budget, cell.budget());
    }
    for (const auto& [column, cell] : race.cells)
      race.best = std::min(race.best, MedianAfter(*cell, race.budget));
    if (race.cells.size() > 1 && std::isfinite(race.best)) races.push_back(std::move(race));
  }
  return races;
}

// Columns that any of the races has, in the table's order.
std::vector<const TableColumn*> ColumnsOf(const std::vector<Race>& races) {
  std::vector<const TableColumn*> columns;
  for (const TableColumn& column : races.front().block->columns) {
    if (std::any_of(races.begin(), races.end(), [&](const Race& race) {
          return std::any_of(race.cells.begin(), race.cells.end(),
                             [&](const auto& c) { return c.first == &column; });
        }))
      columns.push_back(&column);
  }
  return columns;
}

const CellSummary* CellOf(const Race& race, const TableColumn* column) {
  for (const auto& [own, cell] : race.cells) {
    if (own == column) return cell;
  }
  return nullptr;
}

std::string RatioAfter(const Race& race, const TableColumn* column, std::int64_t samples) {
  const CellSummary* cell = CellOf(race, column);
  if (cell == nullptr) return "–";
  const double seconds = MedianAfter(*cell, samples);
  return std::isfinite(seconds) ? fmt::format("{:.2f}", seconds / race.best) : "OOM";
}

// "20,000", "10,000 to 120,000": what the races of a block spent.
std::string SpentText(const std::vector<Race>& races) {
  const auto [least, most] = std::ranges::minmax(races, {}, &Race::budget);
  return output::CountText(least.budget) +
         (least.budget < most.budget ? " to " + output::CountText(most.budget) : "");
}

RenderedBlock AtFullBudget(const TableResults& results, const std::vector<Race>& races,
                           const std::vector<const TableColumn*>& columns) {
  const TableBlock& block = *races.front().block;
  RenderedBlock out;
  out.key = results.table().name + "-" + block.key;
  out.title = results.table().name + ": " + block.title;
  out.note = fmt::format("After {} samples each. {}", SpentText(races), block.note);
  out.shows = "Best found / the best that any column found with as many samples";
  out.dots = false;
  for (const TableColumn* column : columns) out.columns.push_back(DescribeColumn(block, *column));
  for (const Race& race : races) {
    RenderedLine line = DescribeLine(results, block, *race.line);
    line.bound.clear();  // cells are ratios
    line.bound_seconds.reset();
    for (const TableColumn* column : columns) {
      RenderedCell& cell = line.cells.emplace_back();
      cell.ours = RatioAfter(race, column, race.budget);
    }
    out.lines.push_back(std::move(line));
  }
  return out;
}

const std::vector<std::int64_t>& Steps() {
  static const std::vector<std::int64_t> steps = [] {
    std::vector<std::int64_t> all;
    for (std::int64_t decade = 1; decade <= 100'000; decade *= 10) {
      for (const int digit : {1, 2, 3, 5}) all.push_back(digit * decade);
    }
    return all;
  }();
  return steps;
}

// Ratios of a column after so many samples, or a race's all, over the races, where it has found something in all of them
// that it ran in.
std::vector<double> RatiosAfter(const std::vector<Race>& races, const TableColumn* column,
                                std::int64_t samples) {
  std::vector<double> ratios;
  for (const Race& race : races) {
    const CellSummary* cell = CellOf(race, column);
    if (cell == nullptr) continue;
    const double seconds = MedianAfter(*cell, std::min(samples, race.budget));
    if (!std::isfinite(seconds)) return {};
    ratios.push_back(seconds / race.best);
  }
  return ratios;
}

RenderedChart CurvesOf(const std::string& title, const std::vector<Race>& races,
                       const std::vector<const TableColumn*>& columns, std::int64_t budget) {
  RenderedChart chart{.title = title};
  chart.spoken = "Geometric mean over rows of best found / best known, against samples.";
  std::vector<std::pair<RenderedSeries, bool>> all;
  for (const TableColumn* column : columns) {
    RenderedSeries series;
    for (const std::int64_t samples : Steps()) {
      const std::vector<double> ratios = RatiosAfter(races, column, std::min(samples, budget));
      if (!ratios.empty())
        series.points.emplace_back(static_cast<double>(std::min(samples, budget)), GeometricMean(ratios));
      if (samples >= budget) break;
    }
    if (series.points.empty()) continue;
    series.name = column->title;
    series.value = fmt::format("{:.2f}", series.points.back().second);
    series.spoken = fmt::format("{} ends at {}", series.name, series.value);
    all.emplace_back(std::move(series), column->learner);
  }
  chart.series = Readable(std::move(all));
  return chart;
}

// Mean ratios of one block's columns at some budgets, best at the full one first.
output::ReportSection Ranking(const std::string& title, const std::vector<Race>& races,
                              const std::vector<const TableColumn*>& columns, std::int64_t budget) {
  output::ReportSection section;
  section.title = title;
  section.header = {"agent"};
  std::vector<std::int64_t> levels;
  for (std::int64_t level = 100; level < budget; level *= 10) levels.push_back(level);
  levels.push_back(budget);
  const bool alike =
      std::ranges::all_of(races, [&](const Race& race) { return race.budget == races.front().budget; });
  const std::string last_level = alike ? output::CountText(budget) + " samples" : "all samples of the row";
  for (const std::int64_t level : levels)
    section.header.push_back(level == budget ? last_level : output::CountText(level) + " samples");
  section.header.insert(section.header.end(), {"interval at the last", "best in"});
  std::vector<std::pair<double, std::vector<std::string>>> rows;
  for (const TableColumn* column : columns) {
    std::vector<std::string> row = {column->title};
    double last = INFINITY;
    std::string interval = "–";
    for (const std::int64_t level : levels) {
      const std::vector<double> ratios = RatiosAfter(races, column, level);
      if (ratios.empty()) {
        row.emplace_back("OOM");
        continue;
      }
      const Estimate mean = EstimateMean(ratios);
      row.push_back(fmt::format("{:.2f}", mean.value));
      if (level != budget) continue;
      last = mean.value;
      interval = fmt::format("[{:.2f}, {:.2f}]", mean.low, mean.high);
    }
    int won = 0, ran = 0;
    for (const Race& race : races) {
      const CellSummary* cell = CellOf(race, column);
      if (cell == nullptr) continue;
      ++ran;
      won += MedianAfter(*cell, race.budget) <= race.best ? 1 : 0;
    }
    row.push_back(interval);
    row.push_back(fmt::format("{} of {}", won, ran));
    rows.emplace_back(last, std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [last, row] : rows) section.rows.push_back(std::move(row));
  section.sentences = {
      fmt::format("{} rows; geometric mean over rows of best found / the best that any column found with {}, "
                  "its 90 % "
                  "bootstrap interval over rows, and in how many rows nobody was better. OOM: in some row "
                  "nothing that fits was found "
                  "with so many samples.",
                  races.size(), last_level)};
  if (!alike) section.sentences.emplace_back("A row that ended before counts as it ended.");
  return section;
}

// The levels at which `pilot` is held against local search, and the samples of local search beside the first one of `pilot`.
constexpr char kNativeBlock[] = "native";
constexpr std::int64_t kPilotLevels[] = {300, 1'000, 2'000, 10'000, 20'000};
constexpr std::int64_t kZeroShotAgainst = 1'000;

const CellSummary* CellOf(const Race& race, const char* key) {
  for (const auto& [column, cell] : race.cells) {
    if (column->key == key) return cell;
  }
  return nullptr;
}

// One for each race that has both columns, spent as much, and in which both found something that fits.
std::vector<double> PilotRatios(const std::vector<Race>& races, const char* search,
                                std::int64_t pilot_samples, std::int64_t search_samples) {
  std::vector<double> ratios;
  for (const Race& race : races) {
    const CellSummary* const pilot = CellOf(race, "pilot");
    const CellSummary* const other = CellOf(race, search);
    if (pilot == nullptr || other == nullptr || race.budget < std::max(pilot_samples, search_samples))
      continue;
    const double ratio = MedianAfter(*pilot, pilot_samples) / MedianAfter(*other, search_samples);
    if (std::isfinite(ratio) && ratio > 0) ratios.push_back(ratio);
  }
  return ratios;
}

// docs/protocol.md#pilot
output::ReportSection PilotSection(const std::vector<Race>& races) {
  output::ReportSection section;
  section.title = "pilot against local search";
  section.sentences = {
      "Best found by pilot / by local search after as many samples, medians over seeds, geometric means over "
      "the rows of "
      "the papers' tables under native rules that have both, with 90 % bootstrap intervals over rows. Rows "
      "where one of "
      "them has found nothing that fits by then are left out, as are those with a smaller budget. Pilot "
      "looks at 80,000 "
      "placements through screens before its first sample and at 32 or more before each further one, so a "
      "sample of "
      "it takes "
      "longer (results/agents/pilot.md)."};
  section.header = {"samples", "rows", "mean", "interval", "least", "most", "mean, trivial start"};
  const auto add = [&](const std::string& title, std::int64_t pilot_samples, std::int64_t search_samples) {
    const std::vector<double> ratios = PilotRatios(races, "local_search", pilot_samples, search_samples);
    const std::vector<double> trivial =
        PilotRatios(races, "local_search_trivial", pilot_samples, search_samples);
    if (ratios.empty() || trivial.empty()) return;
    const Estimate mean = EstimateMean(ratios);
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    section.rows.push_back({title, std::to_string(ratios.size()), fmt::format("{:.3f}", mean.value),
                            fmt::format("[{:.3f}, {:.3f}]", mean.low, mean.high),
                            fmt::format("{:.3f}", *least), fmt::format("{:.3f}", *most),
                            fmt::format("{:.3f}", GeometricMean(trivial))});
  };
  add(fmt::format("1 against {}", output::CountText(kZeroShotAgainst)), 1, kZeroShotAgainst);
  for (const std::int64_t level : kPilotLevels) add(output::CountText(level), level, level);
  return section;
}

// "0.90 after 1,000 (29 rows)"
std::string PilotOutcome(const output::ReportSection& section) {
  std::vector<std::string> parts;
  for (const std::vector<std::string>& row : section.rows) {
    if (row != section.rows.front())
      parts.push_back(fmt::format("{} after {} ({} rows)", row[2], row[0], row[1]));
  }
  const std::vector<std::string>& first = section.rows.front();
  return fmt::format(
      "stowplan's pilot finds placements that take {} of local search's time after 1 sample where local "
      "search "
      "has {} ({} rows), and at "
      "equal samples {}; its screens are no samples.",
      first[2], output::CountText(kZeroShotAgainst), first[1], fmt::join(parts, ", "));
}

// The best column of each kind at the full budget, and the best of the random ones.
RenderedLine SummaryLine(const std::string& title, const std::vector<Race>& races,
                         const std::vector<const TableColumn*>& columns, std::int64_t budget) {
  RenderedLine line;
  line.title = title;
  const auto add = [&](const auto& wanted) {
    RenderedCell& cell = line.cells.emplace_back();
    cell.ours = "–";
    double best = INFINITY;
    for (const TableColumn* column : columns) {
      if (!wanted(*column)) continue;
      const std::vector<double> ratios = RatiosAfter(races, column, budget);
      if (ratios.empty() || GeometricMean(ratios) >= best) continue;
      best = GeometricMean(ratios);
      cell.ours = fmt::format("{:.2f}", best);
      cell.by = column->title;
      cell.tip = fmt::format("{}, {} rows, {} samples each", column->title, ratios.size(), SpentText(races));
    }
  };
  const auto is_random = [](const TableColumn& column) { return column.title.rfind("random", 0) == 0; };
  add([&](const TableColumn& column) {
    return GroupOf(column) == ColumnGroup::kSearch && !is_random(column);
  });
  add([&](const TableColumn& column) { return column.learner && !IsUntrained(column.agent); });
  add(is_random);
  return line;
}

std::vector<std::string> Outcome(const RenderedBlock& summary) {
  std::size_t search_wins = 0, beats_random = 0, with_random = 0;
  std::vector<double> learners;
  for (const RenderedLine& line : summary.lines) {
    const auto value = [&](std::size_t c) -> std::optional<double> {
      if (line.cells[c].by.empty()) return std::nullopt;
      return std::stod(line.cells[c].ours);
    };
    const auto search = value(0), learner = value(1), random = value(2);
    if (!learner || !search) continue;  // beside learners alone the best of them is the best of all
    learners.push_back(*learner);
    search_wins += *search < *learner ? 1 : 0;
    with_random += random ? 1 : 0;
    beats_random += random && *learner < *random ? 1 : 0;
  }
  if (learners.empty()) return {};
  const auto [least, most] = std::minmax_element(learners.begin(), learners.end());
  return {
      fmt::format("At equal samples the best search is ahead of the best learner in {} of {} blocks.",
                  search_wins, learners.size()),
      fmt::format(
          "The best learner is {:.2f} to {:.2f} times as long as the best that any column found (geometric "
          "mean over the rows of a block).",
          *least, *most),
      fmt::format("It is ahead of the best random search in {} of {} blocks.", beats_random, with_random)};
}

}  // namespace

RenderedTable RenderBudget(const std::vector<TableResults>& tables, const std::string&) {
  RenderedTable table;
  table.name = "budget";
  table.title = "All agents and classical search at equal samples";
  table.legend =
      "Best found divided by the best that any column of the row found with as many samples: 1.00 is the "
      "winner. A sample "
      "is one evaluation of one placement, whoever asks. Random, local search, annealing, genetic and "
      "cross-entropy search "
      "move the same groups as the learners of the row. Medians over seeds. OOM = nothing that fits was "
      "found.";
  table.charts_title = "Mean over rows against samples";
  table.charts_note =
      "Geometric mean over the rows of a block of best found / best known. Lower is better. Drawn are "
      "the learners and the five others that end lowest; each from where it has found something in every "
      "row.";
  table.short_legend = "1.00 is the winner.";
  RenderedBlock& summary = table.summary.emplace();
  summary.key = "summary";
  summary.title = "The best of each kind";
  summary.shows =
      "Geometric mean over rows of best found / the best that any column found with as many samples";
  summary.row_title = "table";
  summary.dots = false;
  summary.columns = {{"best search", ColumnGroup::kSearch, true},
                     {"best learner", ColumnGroup::kLearner, true},
                     {"best random", ColumnGroup::kSearch, true}};
  std::vector<Race> of_papers;
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      const std::vector<Race> races = RacesOf(results, block);
      if (races.empty()) continue;
      if (block.key == kNativeBlock) of_papers.insert(of_papers.end(), races.begin(), races.end());
      const std::vector<const TableColumn*> columns = ColumnsOf(races);
      table.blocks.push_back(AtFullBudget(results, races, columns));
      const std::int64_t budget = std::ranges::max(races, {}, &Race::budget).budget;
      const std::string& title = table.blocks.back().title;
      table.charts.push_back(CurvesOf(title, races, columns, budget));
      table.discussion.push_back(Ranking(title, races, columns, budget));
      // The rows of one that spends what the paper did are those of another block.
      if (!block.paper_budget) summary.lines.push_back(SummaryLine(title, races, columns, budget));
    }
  }
  table.outcome = Outcome(summary);
  if (output::ReportSection pilot = PilotSection(of_papers); !pilot.rows.empty()) {
    table.outcome.push_back(PilotOutcome(pilot));
    table.discussion.insert(table.discussion.begin(), std::move(pilot));
  }
  table.provenance = DerivedProvenance(table.name, tables);
  return table;
}

}  // namespace stowplan::tables
