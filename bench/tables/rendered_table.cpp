#include "bench/tables/rendered_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/tables/common.h"

namespace berth::bench {
namespace {

constexpr char kLegend[] =
    "Seconds per training step. Letters: p = predicted (a placement fixed by a rule, simulated), s = "
    "searched "
    "(the outcome of an agent). OOM = no placement that fits was found, or the rule's placement does not "
    "fit. "
    "Bound = no placement on the devices that search may use can be faster in this model (proven). Median "
    "over "
    "seeds, in brackets the smallest and the largest. The paper prints no cells.";
constexpr char kLegendBesidePublished[] =
    "Seconds per training step: ours, behind it the published number in parentheses. Letters: f = fitted "
    "(the "
    "testbed's parameters were chosen to meet it), p = predicted (a placement fixed by a rule, simulated), s "
    "= "
    "searched (the outcome of an agent; compared by order, not by closeness). OOM = no placement that fits "
    "was "
    "found, or the rule's placement does not fit. ! = ours and the published one say different things about "
    "memory (where the block's rules limit it). Bound = no placement on the devices that search may use can "
    "be faster in this model (proven). "
    "Median over seeds, in brackets the smallest and the largest.";

std::string PublishedText(const CellSummary& cell) {
  if (!cell.published) return {};
  return cell.published->out_of_memory ? "OOM" : fmt::format("{}", *cell.published->value);
}

// `seeds`: those of most sampled cells of the table; where a cell has fewer it says so.
std::string SpreadText(const CellSummary& cell, int seeds) {
  if (cell.feasible < cell.seeds && cell.feasible > 0)
    return fmt::format("{}/{} seeds fit", cell.feasible, cell.seeds);
  std::string text;
  if (cell.median && cell.low < cell.high)
    text = fmt::format("[{}, {}]", SecondsDigits(cell.low), SecondsDigits(cell.high));
  if (cell.sampled && cell.seeds < seeds)
    text += fmt::format("{}{} seed{}", text.empty() ? "" : ", ", cell.seeds, cell.seeds == 1 ? "" : "s");
  return text;
}

RenderedCell RenderCell(const CellSummary& cell, int seeds) {
  RenderedCell rendered;
  rendered.published = PublishedText(cell);
  if (cell.published) rendered.published_seconds = cell.published->value;
  switch (cell.state) {
    case CellSummary::State::kAbsent:
      rendered.ours = "–";
      return rendered;
    case CellSummary::State::kNotRun:
      rendered.ours = "not run";
      return rendered;
    case CellSummary::State::kOutOfMemory:
      rendered.ours = "OOM";
      break;
    case CellSummary::State::kFits:
      rendered.ours = SecondsDigits(*cell.median);
      break;
  }
  rendered.kind = ToString(cell.kind);
  rendered.spread = SpreadText(cell, seeds);
  rendered.ours_seconds = cell.median;
  if (cell.ratio()) rendered.ratio = fmt::format("{:.2f}", *cell.ratio());
  if (cell.same_verdict() == false) rendered.remark = "the other verdict about memory";
  return rendered;
}

RenderedLine RenderLine(const TableResults& results, const TableBlock& block, const TableLine& line,
                        int seeds) {
  RenderedLine rendered = DescribeLine(results, block, line);
  for (const TableColumn& column : block.columns) {
    rendered.cells.push_back(RenderCell(results.At(block.key, line.key, column.key), seeds));
  }
  return rendered;
}

int MostSeeds(const TableResults& results) {
  int most = 0;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (cell.sampled) most = std::max(most, cell.seeds);
      }
    }
  }
  return most;
}

std::string Joined(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : "; ") + value;
  return text;
}

// What makes rows with these budgets and seeds again. Where budgets differ, several calls made them; the
// largest is what one call can give all cells.
std::string ExportCommand(const TableDefinition& table, const std::set<std::int64_t>& budgets,
                          std::int64_t seeds) {
  std::string command = fmt::format("berth table {} --export", table.name);
  if (budgets.empty()) return command;
  const std::int64_t samples = *budgets.rbegin();
  if (samples == table.quick.samples && seeds == table.quick.seeds) return command + " --budget quick";
  if (samples != table.standard.samples) command += fmt::format(" --samples {}", samples);
  if (seeds != table.standard.seeds) command += fmt::format(" --seeds {}", seeds);
  return command;
}

std::vector<std::pair<std::string, std::string>> BuildProvenance(const TableResults& results) {
  std::set<std::string> revisions, machines, dates, models;
  std::set<std::int64_t> sampled;  // their budgets
  double wall = 0;
  std::int64_t seeds = 0;
  for (const CellRecord* record : results.records()) {
    if (!record->note.empty()) continue;
    revisions.insert(record->revision + (record->dirty == "yes" ? " (with changes)" : ""));
    machines.insert(record->machine);
    dates.insert(record->date.substr(0, 10));
    models.insert(record->cost_model);
    if (record->budget > 1) sampled.insert(record->budget);
    wall += record->wall_seconds.value_or(0);
    seeds = std::max(seeds, record->seed);
  }
  std::vector<std::string> budgets;
  for (const std::int64_t budget : sampled) budgets.push_back(CountText(budget));
  return {{"command", ExportCommand(results.table(), sampled, seeds)},
          {"samples of a searched cell", fmt::to_string(fmt::join(budgets, "; "))},
          {"seeds", seeds > 1 ? fmt::format("1 to {}", seeds) : "1"},
          {"cost model", Joined(models)},
          {"revision", Joined(revisions)},
          {"machine", Joined(machines)},
          {"date", Joined(dates)},
          {"time of all cells, one thread each", TimeText(wall * 1e6)}};
}

}  // namespace

RenderedLine DescribeLine(const TableResults& results, const TableBlock& block, const TableLine& line) {
  RenderedLine rendered;
  rendered.title = line.title;
  rendered.what = line.workload + " on " + line.cluster;
  rendered.gpus = std::to_string(line.gpus);
  rendered.bound_seconds = results.Bound(block.key, line.key);
  if (rendered.bound_seconds) rendered.bound = SecondsDigits(*rendered.bound_seconds);
  return rendered;
}

RenderedTable BuildRenderedTable(const TableResults& results) {
  const TableDefinition& table = results.table();
  RenderedTable rendered;
  rendered.name = table.name;
  rendered.title = table.title;
  rendered.legend = table.papers_csv.empty() ? kLegend : kLegendBesidePublished;
  const int seeds = MostSeeds(results);
  for (const TableBlock& block : table.blocks) {
    RenderedBlock out;
    out.key = block.key;
    out.title = block.title;
    out.note = block.note;
    if (table.papers_csv.empty()) out.shows = "Seconds per step";
    out.bars = table.charts == nullptr;
    for (const TableColumn& column : block.columns) out.columns.push_back(column.title);
    for (const TableLine& line : block.lines) {
      // Beside published numbers a row has its place before it is run.
      if (!table.papers_csv.empty() || !CellsThatRan(results, block.key, line.key).empty())
        out.lines.push_back(RenderLine(results, block, line, seeds));
    }
    if (!out.lines.empty()) rendered.blocks.push_back(std::move(out));
  }
  if (table.charts == nullptr) {
    rendered.charts_title = "Best found against samples";
    rendered.charts_note =
        "Of each searched column the seed whose result is the median; the learners and the five others that "
        "end best.";
    rendered.charts = BuildCharts(results);
  } else {
    rendered.charts_title = table.charts_title;
    rendered.charts_note = table.charts_note;
    rendered.charts = table.charts(results);
    rendered.charts_first = true;
  }
  rendered.timelines = BuildTimelines(results);
  rendered.discussion = BuildDiscussion(results);
  rendered.provenance = BuildProvenance(results);
  return rendered;
}

}  // namespace berth::bench
