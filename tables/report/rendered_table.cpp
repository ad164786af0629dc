#include "tables/report/rendered_table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/bootstrap.h"
#include "tables/report/claims.h"
#include "tables/report/common.h"

namespace stowplan::tables {
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
    text = fmt::format("[{}, {}]", output::SecondsDigits(cell.low), output::SecondsDigits(cell.high));
  if (cell.sampled && cell.seeds < seeds)
    text += fmt::format("{}{} seed{}", text.empty() ? "" : ", ", cell.seeds, cell.seeds == 1 ? "" : "s");
  return text;
}

// What a cell is, how it was made and how to make it again, a line each.
std::string TipText(const CellSummary& cell) {
  std::string text = ToString(cell.kind);
  if (cell.median) text += fmt::format(": {} s", output::SecondsDigits(*cell.median));
  if (cell.sampled) {
    text += fmt::format(", median of {} seed{}", cell.seeds, cell.seeds == 1 ? "" : "s");
    if (cell.median && cell.low < cell.high)
      text += fmt::format(", {} to {} s", output::SecondsDigits(cell.low), output::SecondsDigits(cell.high));
    if (cell.feasible < cell.seeds) text += fmt::format("; {} of them fit", cell.feasible);
    if (cell.samples)
      text += fmt::format("\n{} samples each", output::CountText(std::llround(*cell.samples)));
    if (cell.samples_to_1pct)
      text += fmt::format(", within 1 % of the end after {}",
                          output::CountText(std::llround(*cell.samples_to_1pct)));
  }
  if (cell.ratio()) text += fmt::format("\nours / published: {:.2f}", *cell.ratio());
  if (cell.same_verdict() == false) text += "\nours and the paper say different things about memory";
  if (cell.records.empty()) return text;
  return text +
         fmt::format("\nagent: {}\nrepeat: {}", cell.records.front().agent, cell.records.front().command);
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
      rendered.ours = output::SecondsDigits(*cell.median);
      break;
  }
  rendered.kind = ToString(cell.kind);
  rendered.spread = SpreadText(cell, seeds);
  rendered.tip = TipText(cell);
  rendered.ours_seconds = cell.median;
  rendered.low = cell.low;
  rendered.high = cell.high;
  if (cell.ratio()) rendered.ratio = fmt::format("{:.2f}", *cell.ratio());
  if (cell.same_verdict() == false) rendered.remark = "the other verdict about memory";
  return rendered;
}

RenderedLine RenderLine(const TableResults& results, const TableBlock& block, const TableLine& line,
                        int seeds) {
  RenderedLine rendered = DescribeLine(results, block, line);
  for (const TableColumn& column : block.columns) {
    rendered.cells.push_back(RenderCell(results.At(block.key, line.key, column.key), seeds));
    const RenderedCell& cell = rendered.cells.back();
    if (GroupOf(column) != ColumnGroup::kSearch || !cell.ours_seconds ||
        (rendered.best && *rendered.best->ours_seconds <= *cell.ours_seconds))
      continue;
    rendered.best = cell;
    rendered.best->by = column.title;
    rendered.best->kind.clear();
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

struct Spent {
  std::set<std::int64_t> budgets;       // of searched cells, in samples
  std::set<std::int64_t> papers;        // likewise, of blocks that spend what the paper did
  std::int64_t samples = 0;             // the largest of columns that have no count of their own
  std::map<std::size_t, int> seeds_of;  // cells, by how many seeds they have
  std::map<std::size_t, std::set<std::string>> columns_of;  // likewise: their columns
};

Spent SpentOn(const TableResults& results) {
  Spent spent;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (!cell.was_run() || !cell.sampled) continue;
        ++spent.seeds_of[cell.records.size()];
        spent.columns_of[cell.records.size()].insert(column.title);
        const bool papers = block.paper_budget && cell.budget() == line.paper_samples;
        if (cell.budget() > 1) (papers ? spent.papers : spent.budgets).insert(cell.budget());
        if (!column.has_own_budget() && !papers) spent.samples = std::max(spent.samples, cell.budget());
      }
    }
  }
  return spent;
}

// How many seeds most cells have; of two counts that as many have the larger.
std::size_t SeedsOf(const Spent& spent) {
  std::pair<int, std::size_t> most;
  for (const auto& [seeds, cells] : spent.seeds_of) most = std::max(most, {cells, seeds});
  return most.second;
}

// What makes rows with these budgets and seeds again. Where they differ, several calls made them; this one gives all cells
// the largest budget and as many seeds as most have.
std::string ExportCommand(const TableDefinition& table, const Spent& spent, bool exports) {
  std::string command = fmt::format("stowplan table run {}{}", table.called(), exports ? " --export" : "");
  const auto seeds = static_cast<std::int64_t>(SeedsOf(spent));
  if (spent.samples == table.quick.samples && seeds == table.quick.seeds) return command + " --budget quick";
  if (spent.samples > 0 && spent.samples != table.standard.samples)
    command += fmt::format(" --samples {}", spent.samples);
  if (seeds > 0 && seeds != table.standard.seeds) command += fmt::format(" --seeds {}", seeds);
  return command;
}

// What then makes the rows of cells that have more seeds than most: a call for each number of them. The last one exports
// what all have run; before, the export would lose the other seeds.
std::vector<std::string> MoreSeedsCommands(const TableResults& results, const Spent& spent) {
  const TableDefinition& table = results.table();
  if (!table.path.empty()) return {};                     // its user knows
  std::map<std::size_t, std::vector<std::string>> cells;  // by seeds
  for (const TableBlock& block : table.blocks) {
    for (const TableColumn& column : block.columns) {
      std::map<std::size_t, std::vector<std::string>> rows;
      for (const TableLine& line : block.lines) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (cell.sampled && cell.records.size() > SeedsOf(spent))
          rows[cell.records.size()].push_back(line.key);
      }
      for (const auto& [seeds, keys] : rows) {
        const bool all = keys.size() == block.lines.size();
        for (const std::string& row : all ? std::vector<std::string>{"*"} : keys)
          cells[seeds].push_back(fmt::format("{}:{}/{}", block.key, row, column.key));
      }
    }
  }
  std::vector<std::string> commands;
  for (const auto& [seeds, patterns] : cells) {
    commands.push_back(fmt::format("stowplan table run {} --cells '{}' --seeds {}", table.called(),
                                   fmt::join(patterns, ","), seeds));
    if (spent.samples > 0 && spent.samples != table.standard.samples)
      commands.back() += fmt::format(" --samples {}", spent.samples);
    commands.back() += " --resume";
  }
  if (!commands.empty()) commands.back() += " --export";
  return commands;
}

// "seeds 1 to 3; 4 of 196 cells have up to 10; 13 have but 1 (pilot, single ops)"
std::string SeedsText(const Spent& spent) {
  const std::size_t seeds = SeedsOf(spent);
  int cells = 0, more = 0, fewer = 0;
  for (const auto& [count, of_count] : spent.seeds_of) {
    cells += of_count;
    if (count > seeds) more += of_count;
    if (count < seeds) fewer += of_count;
  }
  std::string text = seeds > 1 ? fmt::format("seeds 1 to {}", seeds) : "seed 1";
  if (more > 0)
    text += fmt::format("; {} of {} cells {} up to {}", more, cells, more == 1 ? "has" : "have",
                        spent.seeds_of.rbegin()->first);
  if (fewer > 0)
    text += fmt::format("; {} of {} cells {} but {}", fewer, cells, fewer == 1 ? "has" : "have",
                        spent.seeds_of.begin()->first);
  const std::set<std::string>& least = spent.columns_of.begin()->second;
  if (fewer > 0 && least.size() == 1) text += fmt::format(" ({})", *least.begin());
  return text;
}

std::string BudgetText(const Spent& spent) {
  std::vector<std::string> texts;
  for (const std::int64_t budget : spent.budgets) texts.push_back(output::CountText(budget));
  if (!texts.empty()) texts = {fmt::format("{} samples a search", fmt::join(texts, ", "))};
  if (!spent.papers.empty())
    texts.push_back("in a block what the paper spent, up to " + output::CountText(*spent.papers.rbegin()));
  if (texts.empty()) return "one placement each";
  return fmt::format("{}; {}", fmt::join(texts, ", "), SeedsText(spent));
}

std::vector<std::pair<std::string, std::string>> BuildProvenance(const TableResults& results) {
  std::set<std::string> revisions, machines, dates, models;
  double wall = 0;
  for (const CellRecord* record : results.records()) {
    if (!record->note.empty()) continue;
    revisions.insert(RevisionText(*record));
    machines.insert(record->machine);
    dates.insert(record->date.substr(0, 10));
    models.insert(record->cost_model);
    wall += record->wall_seconds.value_or(0);
  }
  const Spent spent = SpentOn(results);
  const std::vector<std::string> more = MoreSeedsCommands(results, spent);
  std::vector<std::pair<std::string, std::string>> provenance = {
      {"command", ExportCommand(results.table(), spent, more.empty() && results.table().path.empty())}};
  for (const std::string& command : more) provenance.emplace_back("then", command);
  for (const auto& [what, value] : {std::pair{"cost model", Joined(models)},
                                    {"revision", Joined(revisions)},
                                    {"machine", Joined(machines)},
                                    {"date", Joined(dates)},
                                    {"time of all cells, one thread each", output::TimeText(wall * 1e6)}})
    provenance.emplace_back(what, value);
  return provenance;
}

std::string ClaimsNote() {
  return fmt::format(
      "Where seeds decide, our number has its 90 % interval (bootstrap; with fewer than {} seeds it also "
      "holds Student's) and the number of seeds. A claim is decided only where the whole interval agrees; "
      "with fewer than {} seeds only where the columns without seeds decide it alone. How many seeds would "
      "decide an open one is told as if the ratio stayed. Level, an interval "
      "around 1 that leaves it by at most {} %, is no slower and not faster. That a placement exists is "
      "shown "
      "by any seed that found it, or excluded by the bound. Nothing is judged on a learner that missed a "
      "case "
      "of the learning gate or lost to its control learner: it did not learn. The rules for few seeds and "
      "for "
      "what is level are younger than the rows.",
      kSeedsForBootstrap, kSeedsForClaim, 100 * kTie);
}

// `users`: of a table of theirs, which needs no paper.
void AddClaims(const std::vector<ClaimVerdict>& verdicts, bool users, RenderedTable& rendered) {
  if (verdicts.empty()) return;
  rendered.claims_note = ClaimsNote();
  std::vector<ClaimVerdict> papers, ours;
  for (const ClaimVerdict& verdict : verdicts) {
    rendered.claims.push_back({verdict.claim, verdict.ours, ToString(verdict.word), verdict.experiment,
                               verdict.of_paper ? "the paper's" : "ours"});
    (verdict.of_paper ? papers : ours).push_back(verdict);
  }
  if (users && ours.empty()) {
    rendered.claims_in_brief = {{"Claims", ClaimsInBrief(papers)}};
    for (RenderedClaim& claim : rendered.claims) claim.whose.clear();
    return;
  }
  if (!papers.empty())
    rendered.claims_in_brief.push_back({"Claims of the paper and of its cells", ClaimsInBrief(papers)});
  if (!ours.empty()) rendered.claims_in_brief.push_back({"Claims of ours", ClaimsInBrief(ours)});
}

}  // namespace

const std::vector<ColumnGroup>& ColumnGroups() {
  static const std::vector<ColumnGroup> groups = {ColumnGroup::kRule, ColumnGroup::kScheduler,
                                                  ColumnGroup::kSearch, ColumnGroup::kLearner};
  return groups;
}

const char* TitleOf(ColumnGroup group) {
  switch (group) {
    case ColumnGroup::kRule:
      return "fixed placements";
    case ColumnGroup::kScheduler:
      return "partitioners and schedulers";
    case ColumnGroup::kSearch:
      return "searches";
    case ColumnGroup::kLearner:
      return "learners";
  }
  return "";
}

const char* MarkOf(ColumnGroup group) {
  switch (group) {
    case ColumnGroup::kRule:
      return "rule";
    case ColumnGroup::kScheduler:
      return "scheduler";
    case ColumnGroup::kSearch:
      return "search";
    case ColumnGroup::kLearner:
      return "learner";
  }
  return "";
}

std::string RenderedLine::name() const {
  return gpus.empty() ? title : fmt::format("{}, {} GPUs", title, gpus);
}

bool RenderedBlock::HasBest() const {
  return std::any_of(lines.begin(), lines.end(),
                     [](const RenderedLine& line) { return line.best.has_value(); });
}

bool RenderedBlock::HasBound() const {
  return std::any_of(lines.begin(), lines.end(),
                     [](const RenderedLine& line) { return line.bound_seconds.has_value(); });
}

const RenderedBlock* RenderedTable::Verdict() const {
  if (summary) return &*summary;
  return blocks.empty() ? nullptr : &blocks.front();
}

RenderedColumn DescribeColumn(const TableBlock& block, const TableColumn& column) {
  const bool published =
      std::any_of(block.columns.begin(), block.columns.end(), [](const auto& c) { return c.published; });
  return {column.title, GroupOf(column), !published || column.published || PresetOf(column.agent) == "paper"};
}

RenderedLine DescribeLine(const TableResults& results, const TableBlock& block, const TableLine& line) {
  RenderedLine rendered;
  rendered.title = line.title;
  rendered.what = line.workload + " on " + line.cluster;
  rendered.gpus = std::to_string(line.gpus);
  rendered.bound_seconds = results.Bound(block.key, line.key);
  if (rendered.bound_seconds) rendered.bound = output::SecondsDigits(*rendered.bound_seconds);
  return rendered;
}

RenderedTable BuildRenderedTable(const TableResults& results) {
  const TableDefinition& table = results.table();
  RenderedTable rendered;
  const bool published = table.HasPublished();
  const TableAnalysis* analysis = table.analysis;
  const bool charts = analysis != nullptr && analysis->charts != nullptr;
  rendered.name = table.name;
  rendered.title = table.title;
  rendered.outcome = BuildOutcome(results);
  rendered.facts = BuildFacts(results);
  rendered.facts.emplace_back("budget", BudgetText(SpentOn(results)));
  if (analysis != nullptr && analysis->summary != nullptr) rendered.summary = analysis->summary(results);
  if (!table.over.empty()) rendered.summary = MeansOver(results);
  if (!rendered.summary) {
    rendered.short_legend =
        !published ? "p predicted, s searched."
                   : "f fitted, p predicted, s searched; ! memory is judged otherwise than published.";
  }
  rendered.legend = !published ? kLegend : kLegendBesidePublished;
  const int seeds = MostSeeds(results);
  for (const TableBlock& block : table.blocks) {
    RenderedBlock out;
    out.key = block.key;
    out.title = block.title;
    out.note = block.note;
    if (!published) out.shows = "Seconds per step";
    out.dots = !charts;
    for (const TableColumn& column : block.columns) out.columns.push_back(DescribeColumn(block, column));
    for (const TableLine& line : block.lines) {
      // Beside published numbers a row has its place before it is run.
      if (published || !CellsThatRan(results, block.key, line.key).empty())
        out.lines.push_back(RenderLine(results, block, line, seeds));
    }
    if (!out.lines.empty()) rendered.blocks.push_back(std::move(out));
  }
  if (!charts) {
    rendered.charts_title = "Best found against samples";
    rendered.charts_note =
        "Of each searched column the seed whose result is the median; the learners and the five others that "
        "end best.";
    rendered.charts = BuildCharts(results);
  } else {
    rendered.charts_title = analysis->charts_title;
    rendered.charts_note = analysis->charts_note;
    rendered.charts = analysis->charts(results);
  }
  rendered.timelines = BuildTimelines(results);
  AddClaims(JudgeClaims(results), !table.path.empty(), rendered);
  rendered.discussion = BuildDiscussion(results);
  rendered.provenance = BuildProvenance(results);
  return rendered;
}

}  // namespace stowplan::tables
