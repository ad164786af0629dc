// A table ready to be written down: texts and the numbers behind bars, no stowplan types. Renderers read this
// and nothing else; it is built from exported rows alone, so that every committed rendering can be made again
// from rows.csv.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "output/report_page.h"
#include "tables/results.h"
#include "tables/timeline.h"

namespace stowplan::tables {

// What kind of agent a column is: how it is drawn, and with which others it is shown on demand.
enum class ColumnGroup : std::uint8_t { kRule, kScheduler, kSearch, kLearner };
const std::vector<ColumnGroup>& ColumnGroups();
const char* TitleOf(ColumnGroup group);  // "searches"
const char* MarkOf(ColumnGroup group);   // "search": its mark and its columns on a page

struct RenderedColumn {
  std::string title;
  ColumnGroup group = ColumnGroup::kSearch;
  bool shown = true;  // at once; else on demand
};

struct RenderedCell {
  std::string ours;    // "1.21", "OOM", "not run", "–"
  std::string spread;  // "[1.20, 1.25]", "[1.20, 1.25], 2 seeds" of the others' 3, "2/3 seeds fit", or empty
  std::string published;  // "1.57", "OOM", or empty
  std::string ratio;      // "0.77", or empty
  std::string kind;       // "fitted", "predicted", "searched", or empty where there is nothing of ours
  std::string remark;     // "says the other about memory", or empty
  std::optional<double> ours_seconds;  // what is sorted by: a ratio where the block's cells are ratios
  std::optional<double> published_seconds;
  double low = 0, high = 0;  // smallest and largest over seeds, where there is a median
  std::string by;            // whose it is, where that is not its column: "annealing"
  std::string tip;           // kind, samples, seeds and the command that repeats it, a line each
};

struct RenderedLine {
  std::string title;
  std::string what;   // workload and cluster specs
  std::string gpus;   // may be empty
  std::string bound;  // "0.41", or empty
  std::optional<double> bound_seconds;
  std::vector<RenderedCell> cells;   // one for each column of the block
  std::optional<RenderedCell> best;  // of all searched columns but the learners'

  std::string name() const;  // "NMT, 2 layers, 2 GPUs"
};

struct RenderedBlock {
  std::string key;
  std::string title;
  std::string note;
  std::string row_title = "workload";
  std::vector<RenderedColumn> columns;
  std::vector<RenderedLine> lines;
  std::string shows = "Seconds per step, ours (published)";  // what a cell is
  bool dots = true;                                          // cells are seconds that can be drawn
  bool intervals = false;                                    // they are shown at once, as part of the verdict

  bool HasBest() const;
  bool HasBound() const;
};

// A staircase: each value holds until the next.
struct RenderedSeries {
  std::string name;                               // "random", drawn alike wherever it comes
  std::string value;                              // behind it in the legend: "1.21"
  std::string spoken;                             // "random ends at 1.21 s after 1000 samples"
  std::vector<std::pair<double, double>> points;  // ascending in x, which is above 0
};

// Best runtime after n samples, unless the table draws something else.
struct RenderedChart {
  std::string title;
  std::vector<RenderedSeries> series = {};
  std::string x_label = "samples";
  std::string spoken = "Best seconds per step against samples.";
  bool log_x = true;
};

// When the devices of one placement work and send.
struct RenderedTimeline {
  std::string title;
  std::string spoken;  // "gpu0 works 83 % of the time; ..."
  double seconds = 0;  // that the lanes span
  std::vector<TimelineLane> lanes;
};

// A claim and what became of it.
struct RenderedClaim {
  std::string claim;
  std::string ours;             // our number and what else there is to know
  std::string verdict;          // "does not hold"; of several "holds 5, undecided 1"
  std::string experiment = {};  // where all is told
  std::string whose = {};       // "the paper's", "ours"
};

// What a page says of claims: short, several that differ in one thing alone in one line.
struct RenderedClaims {
  std::string title;  // "Claims of the paper"
  std::vector<RenderedClaim> claims;
};

struct RenderedTable {
  std::string name;
  std::string title;
  std::vector<std::string> outcome;                        // at most five sentences
  std::vector<std::pair<std::string, std::string>> facts;  // machine, what is fitted, budget, networks
  std::string short_legend;                                // a sentence
  std::string legend;                                      // how to read a cell
  std::optional<RenderedBlock> summary;  // what the first screen shows in place of the first block
  std::vector<RenderedBlock> blocks;
  std::string charts_title, charts_note;
  std::vector<RenderedChart> charts;
  std::vector<RenderedTimeline> timelines;
  std::string claims_note;
  std::vector<RenderedClaims> claims_in_brief;  // the paper's, ours
  std::vector<RenderedClaim> claims;            // each one
  std::vector<output::ReportSection> discussion;
  std::vector<std::pair<std::string, std::string>> provenance;  // what, value

  const RenderedBlock* Verdict() const;  // what the first screen shows; null where nothing ran
};

RenderedTable BuildRenderedTable(const TableResults& results);
// The first block with a line for each column: how many times as long it takes as each column of `over`, geometric means
// over rows. Where some row does not fit it says in how many; where there is nothing to compare, why (its tip).
RenderedBlock MeansOver(const TableResults& results);
// A line without cells yet.
RenderedLine DescribeLine(const TableResults& results, const TableBlock& block, const TableLine& line);
// On the first screen: what the paper has, and its own settings; where it has nothing, everything.
RenderedColumn DescribeColumn(const TableBlock& block, const TableColumn& column);
// The curves of a cell's median seed, for each cell that samples; a chart for each row.
std::vector<RenderedChart> BuildCharts(const TableResults& results);
// At most ten series can be told apart: all of learners, and the five others that end lowest.
std::vector<RenderedSeries> Readable(std::vector<std::pair<RenderedSeries, bool>> series_and_is_learner);
// Of each row's best placement, where rows have it.
std::vector<RenderedTimeline> BuildTimelines(const TableResults& results);
// The discussion: what was fitted, what is predicted, where memory verdicts agree, samples, clocks, assumptions.
std::vector<output::ReportSection> BuildDiscussion(const TableResults& results);
// Each claim with all there is to know of it.
output::ReportSection EachClaim(const RenderedTable& table);
std::vector<RenderedClaim> ClaimsInBrief(const std::vector<ClaimVerdict>& verdicts);
// The outcome in at most five sentences, and what the table was made with.
std::vector<std::string> BuildOutcome(const TableResults& results);
std::vector<std::pair<std::string, std::string>> BuildFacts(const TableResults& results);
ColumnGroup GroupOf(const TableColumn& column);
std::string PresetOf(const std::string& agent);  // of a spec: "tuned"; empty where it has none

std::string RenderMarkdown(const RenderedTable& table);         // the verdict: at most 1,500 words
std::string RenderMarkdownDetails(const RenderedTable& table);  // all there is
std::string RenderCsv(const RenderedTable& table);
std::string RenderLatex(const RenderedTable& table);
std::string RenderHtml(const RenderedTable& table);
std::string RenderJson(const RenderedTable& table);      // the blocks alone, for scripts: stowplan.table
std::string RenderTerminal(const RenderedTable& table);  // the blocks alone, for a screen

}  // namespace stowplan::tables
