// A table ready to be written down: texts and the numbers behind bars, no berth types. Renderers read this
// and nothing else; it is built from exported rows alone, so that every committed rendering can be made again
// from rows.csv.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/timeline.h"

namespace berth::bench {

struct RenderedCell {
  std::string ours;    // "1.21", "OOM", "not run", "–"
  std::string spread;  // "[1.20, 1.25]", "[1.20, 1.25], 2 seeds" of the others' 3, "2/3 seeds fit", or empty
  std::string published;  // "1.57", "OOM", or empty
  std::string ratio;      // "0.77", or empty
  std::string kind;       // "fitted", "predicted", "searched", or empty where there is nothing of ours
  std::string remark;     // "says the other about memory", or empty
  std::optional<double> ours_seconds;
  std::optional<double> published_seconds;
};

struct RenderedLine {
  std::string title;
  std::string what;  // workload and cluster specs
  std::string gpus;
  std::string bound;  // "0.41", or empty
  std::optional<double> bound_seconds;
  std::vector<RenderedCell> cells;  // one for each column of the block
};

struct RenderedBlock {
  std::string key;
  std::string title;
  std::string note;
  std::vector<std::string> columns;
  std::vector<RenderedLine> lines;
  std::string shows = "Seconds per step, ours (published)";  // what a cell is
  bool bars = true;                                          // cells are seconds that can be drawn
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

// A section of the discussion under the table: sentences, then optionally a small table.
struct RenderedSection {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

struct RenderedTable {
  std::string name;
  std::string title;
  std::string legend;  // how to read a cell
  std::vector<RenderedBlock> blocks;
  std::string charts_title, charts_note;
  std::vector<RenderedChart> charts;
  bool charts_first = false;  // they say what the table is for, its cells are the details
  std::vector<RenderedTimeline> timelines;
  std::vector<RenderedSection> discussion;
  std::vector<std::pair<std::string, std::string>> provenance;  // what, value
};

RenderedTable BuildRenderedTable(const TableResults& results);
// A line without cells yet.
RenderedLine DescribeLine(const TableResults& results, const TableBlock& block, const TableLine& line);
// The curves of a cell's median seed, for each cell that samples; a chart for each row.
std::vector<RenderedChart> BuildCharts(const TableResults& results);
// At most ten series can be told apart: all of learners, and the five others that end lowest.
std::vector<RenderedSeries> Readable(std::vector<std::pair<RenderedSeries, bool>> series_and_is_learner);
// Of each row's best placement, where rows have it.
std::vector<RenderedTimeline> BuildTimelines(const TableResults& results);
// The discussion: what was fitted, what is predicted, verdicts, claims, assumptions.
std::vector<RenderedSection> BuildDiscussion(const TableResults& results);

std::string RenderMarkdown(const RenderedTable& table);
std::string RenderCsv(const RenderedTable& table);
std::string RenderLatex(const RenderedTable& table);
std::string RenderHtml(const RenderedTable& table);
std::string RenderTerminal(const RenderedTable& table);  // the blocks alone, for a screen

}  // namespace berth::bench
