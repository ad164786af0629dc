#include "cli/compare/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "agents/comparison/estimate.h"
#include "output/console.h"

namespace stowplan::cli {
namespace {

constexpr const char* kNothing = "–";

std::string Count(const std::optional<double>& count) {
  return count ? output::CountText(std::llround(*count)) : kNothing;
}

// "3.752–3.874 ms": the unit once where it is the same.
std::string Range(const tables::CellSummary& cell) {
  if (!cell.median || cell.seeds < 2 || cell.low == cell.high) return "";
  std::string low = output::TimeText(1e6 * cell.low);
  const std::string high = output::TimeText(1e6 * cell.high);
  const std::size_t unit = high.rfind(' ');
  if (low.ends_with(high.substr(unit))) low.resize(low.size() - (high.size() - unit));
  return low + "–" + high;
}

// "0.943", "1.004", "1.35": near 1 three decimals on both sides.
std::string RatioText(double ratio) {
  if (std::isinf(ratio)) return "∞";
  return ratio >= 1 && ratio < 1.1 ? fmt::format("{:.3f}", ratio) : output::SecondsDigits(ratio);
}

// How its best compares with the first agent's, with the interval where there are seeds for one.
std::string ToFirst(const tables::CellSummary& cell, const tables::CellSummary& first) {
  if (!cell.was_run() || !first.was_run()) return kNothing;
  if (&cell == &first) return "1";
  const agents::Estimate estimate = agents::EstimateRatio({cell.times()}, {first.times()});
  std::string text = RatioText(estimate.value);
  if (estimate.sampled && !estimate.open())
    text += fmt::format(" [{}, {}]", RatioText(estimate.low), RatioText(estimate.high));
  return text;
}

// ", 1.20 times the proven lower bound"
std::string OverBound(double seconds, const std::optional<double>& bound) {
  return bound && *bound > 0 ? fmt::format(", {:.2f} times the proven lower bound", seconds / *bound) : "";
}

struct Fastest {
  const tables::TableColumn* column = nullptr;
  const tables::CellRecord* record = nullptr;
};
Fastest FindFastest(const tables::TableResults& results, const tables::TableBlock& block,
                    const tables::TableLine& line) {
  Fastest fastest;
  for (const tables::TableColumn& column : block.columns) {
    for (const tables::CellRecord& record : results.At(block.key, line.key, column.key).records) {
      if (record.runtime_us &&
          (fastest.record == nullptr || *record.runtime_us < *fastest.record->runtime_us))
        fastest = {&column, &record};
    }
  }
  return fastest;
}

// Who found the fastest placement; where a lucky seed of an agent did, who is ahead besides.
std::string Lead(const tables::TableResults& results) {
  const tables::TableBlock& block = results.table().blocks.front();
  const tables::TableLine& line = block.lines.front();
  const tables::TableColumn* best = nullptr;
  const auto median = [&](const tables::TableColumn& column) {
    return results.At(block.key, line.key, column.key).median;
  };
  for (const tables::TableColumn& column : block.columns) {
    if (median(column) && (best == nullptr || *median(column) < *median(*best))) best = &column;
  }
  if (best == nullptr) return "No agent found a placement that fits.";
  const std::optional<double> bound = results.Bound(block.key, line.key);
  const std::string time = output::TimeText(1e6 * *median(*best)) + OverBound(*median(*best), bound);
  const Fastest fastest = FindFastest(results, block, line);
  if (*fastest.record->runtime_us / 1e6 >= *median(*best))
    return fmt::format("{} found the fastest placement: {}.", best->title, time);
  return fmt::format("{} has the best median: {}; the fastest placement was found by {}, seed {}: {}.",
                     best->title, time, fastest.column->title, fastest.record->seed,
                     output::TimeText(*fastest.record->runtime_us));
}

}  // namespace

output::ReportPage MakeComparison(const tables::TableResults& results,
                                  std::vector<std::pair<std::string, std::string>> facts) {
  const tables::TableBlock& block = results.table().blocks.front();
  const tables::TableLine& line = block.lines.front();
  const auto cell_of = [&](const tables::TableColumn& column) -> const tables::CellSummary& {
    return results.At(block.key, line.key, column.key);
  };
  const std::optional<double> bound = results.Bound(block.key, line.key);
  if (bound) facts.emplace_back("proven lower bound", output::TimeText(1e6 * *bound));
  output::ReportSection found{.title = "Best placement found",
                              .header = {"agent", "best", "fit", "to bound", "to first"}};
  output::ReportSection searches{.title = "The searches",
                                 .header = {"agent", "seeds", "samples", "to best", "to 1 %", "wall time"}};
  output::ReportSection settings{
      .title = "Settings", .header = {"agent", "all its settings"}, .left_columns = 2, .folded = true};
  bool sampled = false, open = false, even = false;
  const bool screens = std::ranges::any_of(
      block.columns, [&](const tables::TableColumn& column) { return cell_of(column).screens.has_value(); });
  if (screens) searches.header.insert(searches.header.begin() + 3, "approximate");
  for (const tables::TableColumn& column : block.columns) {
    const tables::CellSummary& cell = cell_of(column);
    if (cell.records.empty()) continue;
    sampled = sampled || cell.sampled;
    open = open || (cell.sampled && cell.seeds < agents::kSeedsForClaim);
    even = even || (cell.feasible > 0 && cell.feasible % 2 == 0);
    settings.rows.push_back({column.title, cell.records.front().agent});
    found.rows.push_back(
        {column.title, cell.median ? output::TimeText(1e6 * *cell.median) : "does not fit",
         fmt::format("{}/{}", cell.feasible, cell.seeds),
         cell.median && bound && *bound > 0 ? fmt::format("{:.3f}", *cell.median / *bound) : kNothing,
         ToFirst(cell, cell_of(block.columns.front()))});
    searches.rows.push_back({column.title, Range(cell), Count(cell.samples),
                             cell.sampled ? Count(cell.samples_to_best) : kNothing,
                             cell.sampled ? Count(cell.samples_to_1pct) : kNothing,
                             output::TimeText(1e6 * cell.wall_seconds / cell.seeds)});
    if (screens) searches.rows.back().insert(searches.rows.back().begin() + 3, Count(cell.screens));
  }
  found.sentences = {
      "best: seconds of one step, median over the seeds whose search found a placement that fits" +
          std::string(even ? "; of an even number the larger of the two in the middle." : "."),
      "to bound: best / proven lower bound; to first: best / best of the first agent" +
          std::string(sampled && !open ? ", with the 90 % interval over seeds." : ".")};
  if (sampled) {
    searches.sentences = {
        "seeds: the best of the luckiest and of the unluckiest seed. to best, to 1 %: samples until the "
        "final best, and "
        "until 1 % from it was reached; approximate: cheap evaluations beside the samples; medians over "
        "seeds. wall time: of one seed."};
  }
  if (open)
    found.sentences.push_back(
        fmt::format("With fewer than {} seeds no difference is decided.", agents::kSeedsForClaim));
  return {.title = "Agents on " + line.title,
          .lead = Lead(results),
          .facts = std::move(facts),
          .sections = {std::move(found), std::move(searches), std::move(settings)}};
}

}  // namespace stowplan::cli
