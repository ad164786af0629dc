// What pre-training without rewards saves Mars (ICPP 2021): the same agent with and without it, ten seeds, on
// the three clocks (docs/protocol.md#clocks). Reduction of the time of training = 1 - T_with / T_without, T =
// time to reach 1.01 times the worse of the two final medians; T_with includes the pre-training
// (docs/protocol.md#pre-training).
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/analyses.h"
#include "tables/report/clocks.h"

namespace stowplan::tables {
namespace {

constexpr char kBlock[] = "native";
constexpr char kWith[] = "mars";
constexpr char kWithout[] = "mars_no_pretraining";

using Seeds = std::vector<std::int64_t>;
using Clock = double (*)(const SearchCost& cost);

struct NamedClock {
  const char* name;
  Clock read;
};
constexpr NamedClock kClocks[] = {
    {"samples", [](const SearchCost& cost) { return cost.samples; }},
    {"agent seconds", [](const SearchCost& cost) { return cost.agent_seconds; }},
    {"machine and agent, set-up 0 s", [](const SearchCost& cost) { return cost.Total(0); }},
    {"machine and agent, set-up 10 s", [](const SearchCost& cost) { return cost.Total(10); }},
    {"machine and agent, set-up 30 s", [](const SearchCost& cost) { return cost.Total(30); }},
};
constexpr std::size_t kTraining[] = {3, 1};  // of these: what "training time" is read as

double TimeTo(const CellSummary& cell, const Seeds& seeds, double quality, Clock clock, SearchCosts& costs) {
  return MedianOver(cell, seeds,
                    [&](const CellRecord& record) { return clock(costs.ToReach(record, quality)); });
}

// T_with / T_without of one workload over these seeds.
double TimeRatio(const TableResults& results, const TableLine& line, const Seeds& seeds, Clock clock,
                 SearchCosts& costs) {
  const CellSummary& with = results.At(kBlock, line.key, kWith);
  const CellSummary& without = results.At(kBlock, line.key, kWithout);
  const double quality =
      1.01 * std::max(MedianOver(with, seeds, FinalSeconds), MedianOver(without, seeds, FinalSeconds));
  const double ours = TimeTo(with, seeds, quality, clock, costs);
  const double theirs = TimeTo(without, seeds, quality, clock, costs);
  return ours == theirs ? 1 : ours / theirs;
}

const std::vector<TableLine>& Lines(const TableResults& results) {
  return results.table().blocks.front().lines;
}

bool WasRun(const TableResults& results, const TableLine& line) {
  for (const char* column : {kWith, kWithout}) {
    const CellSummary& cell = results.At(kBlock, line.key, column);
    if (!cell.was_run() || cell.records.front().curve_machine_seconds.empty()) return false;
  }
  return true;
}

Estimate OfLine(const TableResults& results, const TableLine& line, Clock clock) {
  SearchCosts costs;
  return EstimateOver({&results.At(kBlock, line.key, kWith), &results.At(kBlock, line.key, kWithout)},
                      [&](const Seeds& seeds) { return TimeRatio(results, line, seeds, clock, costs); });
}

// The geometric mean over the three workloads, all with the same draw of seeds. Empty until all were run.
std::optional<Estimate> Mean(const TableResults& results, Clock clock) {
  std::vector<const CellSummary*> cells;
  for (const TableLine& line : Lines(results)) {
    if (!WasRun(results, line)) return std::nullopt;
    for (const char* column : {kWith, kWithout}) cells.push_back(&results.At(kBlock, line.key, column));
  }
  SearchCosts costs;
  return EstimateOver(cells, [&](const Seeds& seeds) {
    double logs = 0;
    for (const TableLine& line : Lines(results))
      logs += std::log(TimeRatio(results, line, seeds, clock, costs));
    return std::exp(logs / static_cast<double>(Lines(results).size()));
  });
}

// "12.3 % less [-4.0, 27.1], 10 seeds"
std::string SavedText(const Estimate& ratio) {
  const auto percent = [](double r) {
    if (!std::isfinite(r)) return std::string("-∞");
    const double tenths = std::round(1000 * (1 - r));
    return fmt::format("{:.1f}", tenths == 0 ? 0 : tenths / 10);  // no "-0.0"
  };
  const std::string seeds = fmt::format(", {} seed{}", ratio.seeds, ratio.seeds == 1 ? "" : "s");
  if (ratio.open()) return percent(ratio.value) + " %" + seeds;
  return fmt::format("{} % [{}, {}]{}", percent(ratio.value), percent(ratio.high), percent(ratio.low), seeds);
}

std::vector<output::ReportSection> SectionsOfPretraining(const TableResults& results) {
  output::ReportSection section;
  section.title = "What pre-training saves";
  section.sentences = {
      "1 - T with / T without pre-training, T = time to reach 1.01 times the worse of the two final medians, "
      "medians "
      "over seeds; the interval (90 %) is a bootstrap over seeds, paired. Negative: pre-training costs more "
      "than it "
      "saves. T with pre-training includes it.",
      "Agent seconds are wall time and differ from run to run and from machine to machine; counts of samples "
      "do not."};
  if (const std::string several = SeveralMachines(results); !several.empty())
    section.sentences.push_back(several);
  section.header = {"workload"};
  for (const NamedClock& clock : kClocks) section.header.emplace_back(clock.name);
  for (const TableLine& line : Lines(results)) {
    if (!WasRun(results, line)) continue;
    std::vector<std::string> row = {line.title};
    for (const NamedClock& clock : kClocks) row.push_back(SavedText(OfLine(results, line, clock.read)));
    section.rows.push_back(std::move(row));
  }
  std::vector<std::string> row = {"geometric mean"};
  for (const NamedClock& clock : kClocks) {
    if (const auto mean = Mean(results, clock.read)) row.push_back(SavedText(*mean));
  }
  if (row.size() > 1) section.rows.push_back(std::move(row));
  if (section.rows.empty()) section.header.clear();
  return {section};
}

std::vector<ClaimVerdict> ClaimsOfPretraining(const TableResults& results) {
  constexpr double kClaimed = 1 - 0.132;
  std::vector<ClaimVerdict> claims;
  const auto add = [&](const std::string& text, std::size_t clock, AtMost claimed) {
    ClaimVerdict& verdict = claims.emplace_back();
    verdict = {text,
               "not run",
               ClaimWord::kCannotBeTested,
               "the columns of the other clocks: samples, which do not depend on a machine's speed, and "
               "other set-ups",
               {kWith, kWithout}};
    const auto mean = Mean(results, kClocks[clock].read);
    if (!mean) return;
    verdict.ours = SavedText(*mean);
    verdict.word = Judge(*mean, claimed);
  };
  for (const std::size_t clock : kTraining) {
    const char* name = kClocks[clock].name;
    add(fmt::format("Pre-training saves 13.2 % of the training time on average ({})", name), clock,
        AtMost{kClaimed});
    add(fmt::format("Pre-training saves training time on average (the direction alone; {})", name), clock,
        kFaster);
  }
  return claims;
}

std::vector<std::string> OutcomeOfPretraining(const TableResults& results) {
  const auto mean = Mean(results, kClocks[kTraining[0]].read);
  if (!mean) return {};
  return {fmt::format("Pre-training saves {} of the training time on average.", SavedText(*mean))};
}

}  // namespace

const TableAnalysis kPretraining{.name = "pretraining",
                                 .outcome = OutcomeOfPretraining,
                                 .sections = SectionsOfPretraining,
                                 .claims = ClaimsOfPretraining};

}  // namespace stowplan::tables
