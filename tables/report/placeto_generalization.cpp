// Placeto's second result (NeurIPS 2019): one policy for each family of graphs, trained on one half and
// applied to the other without learning more, beside a policy trained on each graph alone
// (docs/protocol.md#generalisation). The paper shows curves and prints no numbers, so nothing published
// stands in these cells.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/kept_placement.h"
#include "tables/report/analyses.h"
#include "tables/report/bootstrap.h"
#include "tables/report/claims.h"
#include "tables/report/common.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

constexpr char kZeroShot[] = "zero_shot";
constexpr char kRnn[] = "rnn_zero_shot";
constexpr char kOptimised[] = "placeto";

// Of the graphs where both fit, ascending.
std::vector<double> Ratios(const TableResults& results, const TableBlock& block, const std::string& ours,
                           const std::string& theirs) {
  std::vector<double> ratios;
  for (const TableLine& line : block.lines) {
    const CellSummary& a = results.At(block.key, line.key, ours);
    const CellSummary& b = results.At(block.key, line.key, theirs);
    if (a.median && b.median) ratios.push_back(*a.median / *b.median);
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

std::vector<double> Seconds(const TableResults& results, const TableBlock& block, const std::string& column) {
  std::vector<double> seconds;
  for (const TableLine& line : block.lines) {
    const CellSummary& cell = results.At(block.key, line.key, column);
    if (cell.median) seconds.push_back(*cell.median);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

// In how many graphs the column was run.
std::size_t GraphsOf(const TableResults& results, const TableBlock& block, const std::string& column) {
  return static_cast<std::size_t>(std::count_if(
      block.lines.begin(), block.lines.end(),
      [&](const TableLine& line) { return results.At(block.key, line.key, column).was_run(); }));
}

// What runtimes are divided by: the optimised policy where it was run, else one GPU.
std::string Reference(const TableResults& results, const TableBlock& block) {
  return Seconds(results, block, kOptimised).empty() ? "single_gpu" : kOptimised;
}

RenderedSeries Cdf(const std::string& title, const std::vector<double>& values, std::size_t graphs) {
  RenderedSeries series;
  series.name = title;
  series.value = output::SecondsDigits(Median(values));
  series.spoken = fmt::format("{}: median {}", title, series.value);
  series.points.emplace_back(values.front(), 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    series.points.emplace_back(values[i], static_cast<double>(i + 1) / static_cast<double>(graphs));
  return series;
}

// Seven lines can be told apart.
bool InCharts(const std::string& column) {
  for (const char* left_out :
       {"zero_shot_best", "zero_shot_walk", "zero_shot_no_offers", "greedy_offers", "untrained_walk", "heft",
        "m_etf", "random_one", "random", "local_search_trivial_pass", "local_search_walk"}) {
    if (column == left_out) return false;
  }
  return true;
}

std::vector<RenderedChart> Charts(const TableResults& results) {
  std::vector<RenderedChart> charts;
  for (const TableBlock& block : results.table().blocks) {
    const std::string reference = Reference(results, block);
    RenderedChart seconds{.title = block.title + ": seconds per step"};
    RenderedChart ratios{.title = block.title + ": runtime / " + ColumnOf(block, reference).title};
    seconds.x_label = "seconds per step";
    ratios.x_label = "runtime / " + ColumnOf(block, reference).title;
    for (const TableColumn& column : block.columns) {
      if (!InCharts(column.key)) continue;
      const std::size_t graphs = GraphsOf(results, block, column.key);
      const std::vector<double> own = Seconds(results, block, column.key);
      const std::vector<double> divided = Ratios(results, block, column.key, reference);
      if (!own.empty()) seconds.series.push_back(Cdf(column.title, own, graphs));
      if (!divided.empty() && column.key != reference)
        ratios.series.push_back(Cdf(column.title, divided, graphs));
    }
    for (RenderedChart* chart : {&seconds, &ratios}) {
      if (chart->series.empty()) continue;
      chart->log_x = false;
      chart->spoken = "Part of the graphs at or below " + chart->x_label + ".";
      charts.push_back(std::move(*chart));
    }
  }
  return charts;
}

// A line for each column, a column for each family.
RenderedBlock Summary(const TableResults& results) {
  RenderedBlock out;
  out.key = "summary";
  out.title = "Over the unseen graphs";
  out.shows =
      "Geometric mean over a family's unseen graphs of runtime / that of the policy trained on the graph "
      "alone";
  out.row_title = "placed by";
  out.dots = false;
  const std::vector<TableBlock>& blocks = results.table().blocks;
  for (const TableBlock& block : blocks) out.columns.push_back({block.title, ColumnGroup::kRule, true});
  for (const TableColumn& column : blocks.front().columns) {
    RenderedLine line;
    line.title = column.title;
    for (const TableBlock& block : blocks) {
      RenderedCell& cell = line.cells.emplace_back();
      cell.ours = "–";
      const std::vector<double> ratios = Ratios(results, block, column.key, Reference(results, block));
      if (ratios.empty()) continue;
      const Estimate mean = EstimateMean(ratios);
      cell.ours = fmt::format("{:.3f}", mean.value);
      cell.tip =
          fmt::format("90 % interval over graphs: {:.3f} to {:.3f}\n{} of {} graphs fit", mean.low, mean.high,
                      Seconds(results, block, column.key).size(), GraphsOf(results, block, column.key));
    }
    out.lines.push_back(std::move(line));
  }
  RenderedLine& bound = out.lines.emplace_back();
  bound.title = "proven lower bound";
  for (const TableBlock& block : blocks) {
    RenderedCell& cell = bound.cells.emplace_back();
    cell.ours = "–";
    std::vector<double> ratios;
    for (const TableLine& line : block.lines) {
      const auto& reference = results.At(block.key, line.key, Reference(results, block)).median;
      const auto proven = results.Bound(block.key, line.key);
      if (reference && proven) ratios.push_back(*proven / *reference);
    }
    if (!ratios.empty()) cell.ours = fmt::format("{:.3f}", GeometricMean(ratios));
  }
  return out;
}

std::vector<output::ReportSection> SectionsOfGeneralization(const TableResults& results) {
  output::ReportSection section;
  section.title = "Over the unseen graphs";
  section.sentences = {
      "Runtime / that of the policy that was trained on the graph alone (where it was not run: of one GPU), "
      "medians over "
      "seeds first: geometric mean over graphs with its 90 % bootstrap interval over graphs, 10th, 50th and "
      "90th "
      "percentile, and how many of the graphs fit.",
      fmt::format(
          "Zero-shot policies have seen {} samples of 16 other graphs (with --quick {}), which no "
          "cell counts; a pass of Placeto costs a sample for its start and one for every 16 groups (preset "
          "walk: for each), the RNN's one sample.",
          output::CountText(results.table().blocks.front().training.samples),
          output::CountText(results.table().blocks.front().training.quick_samples))};
  section.header = {"family", "column", "mean", "interval", "10 %", "median", "90 %", "fit"};
  for (const TableBlock& block : results.table().blocks) {
    const std::string reference = Reference(results, block);
    for (const TableColumn& column : block.columns) {
      const std::vector<double> ratios = Ratios(results, block, column.key, reference);
      if (ratios.empty()) continue;
      const Estimate mean = EstimateMean(ratios);
      const auto at = [&](double part) {
        const auto last = static_cast<double>(ratios.size() - 1);
        return fmt::format("{:.3f}", ratios[static_cast<std::size_t>(std::lround(part * last))]);
      };
      section.rows.push_back({block.title, column.title, fmt::format("{:.3f}", mean.value),
                              fmt::format("[{:.3f}, {:.3f}]", mean.low, mean.high), at(0.1), at(0.5), at(0.9),
                              fmt::format("{} of {}", Seconds(results, block, column.key).size(),
                                          GraphsOf(results, block, column.key))});
    }
  }
  if (section.rows.empty()) section.header.clear();
  return {section};
}

// How many placements of a column, one for each graph and seed, are on one device.
std::string OnOneDevice(const TableResults& results, const std::string& column) {
  int placements = 0;
  int on_one = 0;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const CellRecord& record : results.At(block.key, line.key, column).records) {
        placements += !record.placement.empty();
        on_one += IsOnOneDevice(record.placement);
      }
    }
  }
  return fmt::format("{} of {}", on_one, placements);
}

// One column against another over all unseen graphs of all families.
ClaimVerdict Against(const TableResults& results, const std::string& ours, const std::string& theirs,
                     const std::string& text, AtMost claimed, bool of_paper = true) {
  ClaimVerdict verdict{.claim = text,
                       .ours = "not run",
                       .experiment = "section Over the unseen graphs, family by family; column single GPU",
                       .subjects = {ours, theirs},
                       .of_paper = of_paper};
  CellPairs fit;
  int ours_alone = 0;
  int theirs_alone = 0;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      const CellSummary& a = results.At(block.key, line.key, ours);
      const CellSummary& b = results.At(block.key, line.key, theirs);
      if (!a.was_run() || !b.was_run()) continue;
      if (a.median && b.median) fit.emplace_back(&a, &b);
      ours_alone += a.median && !b.median;
      theirs_alone += b.median && !a.median;
    }
  }
  if (fit.empty()) return verdict;
  const Estimate mean = EstimateMeanRatio(fit, true);
  verdict.figure = mean.value;
  verdict.ours = fmt::format("{} times as long{}, geometric mean over {} graphs{}", RatioText(mean.value),
                             IntervalText(mean), fit.size(), RemarkOn(mean, claimed));
  if (theirs != "single_gpu")
    verdict.ours += fmt::format("; {} of its placements are on one device", OnOneDevice(results, ours));
  verdict.word = Judge(mean, claimed);
  if (ours_alone + theirs_alone == 0) return verdict;
  // One that does not fit is infinitely slow, and no mean.
  verdict.ours +=
      fmt::format("; {} more fit with the first alone, {} with the second", ours_alone, theirs_alone);
  if (verdict.word == (theirs_alone > 0 ? ClaimWord::kHolds : ClaimWord::kDoesNotHold) ||
      (ours_alone > 0 && theirs_alone > 0))
    verdict.word = ClaimWord::kUndecided;
  return verdict;
}

ClaimVerdict RnnIsLikeRandom(const TableResults& results) {
  ClaimVerdict better =
      Against(results, kRnn, "random_one",
              "An RNN applied to unseen graphs is no better than random placements (recalled)", kFaster);
  if (better.word == ClaimWord::kHolds || better.word == ClaimWord::kDoesNotHold)
    better.word = better.word == ClaimWord::kHolds ? ClaimWord::kDoesNotHold : ClaimWord::kHolds;
  return better;
}

// What else could explain a zero-shot placement: draws, search, list schedules, offers. Ours.
std::vector<ClaimVerdict> AgainstControls(const TableResults& results) {
  const std::string faster = "A zero-shot placement is faster than ";
  std::vector<ClaimVerdict> claims;
  for (const auto& [column, control] :
       {std::pair{"random_pass", "the best of as many random ones"},
        {"untrained_walk", "that of a walk of the untrained network"},
        {"greedy_offers", "that of a walk that takes the best offer and learned nothing"},
        {"zero_shot_no_offers", "one of the same preset that is told no offers"},
        {"zero_shot_walk", "one of preset walk, which is told no offers and moves one group at a time"},
        {"m_etf", "m-ETF's, a list schedule of the same groups"},
        {"heft", "HEFT's, a list schedule of the same groups"},
        {"local_search_pass", "local search's with as many samples"},
        {"local_search_trivial_pass", "local search's from the trivial start with as many samples"},
        {"local_search_walk", "local search's with 129 or 161 samples"}}) {
    ClaimVerdict& claim =
        claims.emplace_back(Against(results, kZeroShot, column, faster + control, kFaster, false));
    claim.family = faster + "each control's: draws, walks, list schedules, local search";
    claim.member = control;
  }
  return claims;
}

std::vector<ClaimVerdict> ClaimsOfGeneralization(const TableResults& results) {
  std::vector<ClaimVerdict> claims = {
      Against(results, kZeroShot, kOptimised,
              "A zero-shot placement is about as good as that of a policy trained on the graph (at most 5 % "
              "slower: our interpretation, the paper shows curves)",
              AtMost{1.05}),
      Against(results, kZeroShot, "single_gpu",
              "A zero-shot placement is faster than one GPU (preset transfer, which is ours)", kFaster),
      Against(results, "zero_shot_walk", "single_gpu",
              "A zero-shot placement is faster than one GPU (preset walk, nearest to the paper's)", kFaster),
      RnnIsLikeRandom(results),
      Against(results, kZeroShot, kRnn,
              "Placeto applied to unseen graphs is faster than an RNN applied to them", kFaster),
      Against(results, kRnn, "single_gpu", "An RNN applied to unseen graphs is faster than one GPU", kFaster,
              false),
  };
  std::ranges::move(AgainstControls(results), std::back_inserter(claims));
  return claims;
}

std::vector<std::string> OutcomeOfGeneralization(const TableResults& results) {
  std::vector<std::string> outcome;
  const auto beside = [&](const char* theirs) { return Against(results, kZeroShot, theirs, "", kFaster); };
  const ClaimVerdict trained = beside(kOptimised), one_gpu = beside("single_gpu");
  if (trained.figure && one_gpu.figure)
    outcome.push_back(fmt::format(
        "A zero-shot placement (preset transfer, ours) takes {} times as long as one GPU, {} times as "
        "long as that of a policy trained on the graph alone.",
        RatioText(*one_gpu.figure), RatioText(*trained.figure)));
  const ClaimVerdict walk = Against(results, "zero_shot_walk", "single_gpu", "", kFaster);
  if (walk.figure)
    outcome.push_back(
        fmt::format("Preset walk, nearest to the paper's, takes {} times as long as one GPU: {} of its "
                    "placements are on one.",
                    RatioText(*walk.figure), OnOneDevice(results, "zero_shot_walk")));
  return outcome;
}

}  // namespace

const TableAnalysis kGeneralisation{.name = "generalisation",
                                    .outcome = OutcomeOfGeneralization,
                                    .summary = Summary,
                                    .sections = SectionsOfGeneralization,
                                    .claims = ClaimsOfGeneralization,
                                    .charts = Charts,
                                    .charts_title = "Distribution over the unseen graphs",
                                    .charts_note =
                                        "Part of the graphs (upward) that run in at most that time; of seeds "
                                        "the median of each graph. Behind "
                                        "each name the median over graphs. Further left is better."};

}  // namespace stowplan::tables
