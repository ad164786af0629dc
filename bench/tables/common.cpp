#include "bench/tables/common.h"

#include <cmath>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/tables/bootstrap.h"

namespace berth::bench {

std::vector<TableColumn> ExtraColumns(const std::string& devices) {
  const auto list_scheduler = [&](const char* agent, const char* title) {
    TableColumn column;
    column.key = agent;
    column.title = title;
    column.agent = agent;
    column.devices = devices;
    column.grouper = "colocation";
    return column;
  };
  const auto sampled = [&](const char* key, const char* title, const char* agent, const char* grouper) {
    TableColumn column;
    column.key = key;
    column.title = title;
    column.agent = agent;
    column.sampled = true;
    column.devices = devices;
    column.grouper = grouper;
    return column;
  };
  TableColumn round_robin;
  round_robin.key = "round_robin";
  round_robin.title = "round robin";
  round_robin.agent = "round_robin";
  round_robin.kind = CellKind::kPredicted;
  round_robin.devices = devices;
  round_robin.grouper = "colocation";
  return {list_scheduler("heft", "HEFT"),
          list_scheduler("m_topo", "m-TOPO"),
          list_scheduler("m_etf", "m-ETF"),
          list_scheduler("m_sct", "m-SCT"),
          round_robin,
          sampled("random_op", "random, ops", "random", "colocation"),
          sampled("random_group", "random, groups", "random", ""),
          sampled("random_block", "random, blocks", "random(unit=block)", "colocation"),
          sampled("local_search", "local search", "local_search", ""),
          sampled("local_search_trivial", "local search, trivial start", "local_search(start=trivial)", "")};
}

std::vector<const CellSummary*> CellsThatRan(const TableResults& results, const std::string& block,
                                             const std::string& line, const std::string& except) {
  std::vector<const CellSummary*> cells;
  for (const TableBlock& b : results.table().blocks) {
    if (b.key != block) continue;
    for (const TableColumn& column : b.columns) {
      const CellSummary& cell = results.At(block, line, column.key);
      if (column.key != except && cell.was_run()) cells.push_back(&cell);
    }
  }
  return cells;
}

std::string ReductionText(double from, double to) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(from - to) / from, to <= from ? "below" : "above");
}

namespace {

// The row's best against a baseline that fits: the ratio, and the reading with its numbers. Empty where there
// is nothing to compare.
std::optional<Estimate> AgainstBaseline(const TableResults& results, const std::string& block,
                                        const std::string& line, const std::string& baseline,
                                        ClaimReading& reading) {
  const CellSummary& base = results.At(block, line, baseline);
  const auto others = CellsThatRan(results, block, line, baseline);
  if (!base.median || others.empty()) return std::nullopt;
  const Estimate ratio = EstimateRatio(others, {&base});
  const std::string of_base = SecondsDigits(*base.median) + " s of the baseline";
  if (std::isinf(ratio.value)) {
    reading.ours = "nothing else fits" + IntervalText(ratio) + "; the " + of_base;
  } else {
    const double best = ratio.value * *base.median;
    reading.ours = fmt::format("best found {} s{}, {} the {}", SecondsDigits(best),
                               IntervalText(ratio, *base.median), ReductionText(*base.median, best), of_base);
  }
  return ratio;
}

}  // namespace

ClaimReading ReductionClaim(const TableResults& results, const std::string& block, const std::string& line,
                            const std::string& baseline, double claimed, const std::string& text) {
  ClaimReading reading{text, "not run", ClaimWord::kCannotBeTested};
  const auto ratio = AgainstBaseline(results, block, line, baseline, reading);
  if (!ratio) return reading;
  const double wanted = (1 - claimed) * *results.At(block, line, baseline).median;
  const std::optional<double> bound = results.Bound(block, line);
  if (bound && *bound > wanted) {
    reading.word = ClaimWord::kDoesNotHold;
    reading.ours += fmt::format("; the proven bound of {} s excludes it", SecondsDigits(*bound));
    return reading;
  }
  reading.word =
      Judge(*ratio, [&](double r) { return r <= 1 - claimed ? ClaimWord::kHolds : ClaimWord::kUndecided; });
  return reading;
}

ClaimReading NothingFasterClaim(const TableResults& results, const std::string& block,
                                const std::string& line, const std::string& baseline,
                                const std::string& text) {
  ClaimReading reading{text, "not run", ClaimWord::kCannotBeTested};
  const auto ratio = AgainstBaseline(results, block, line, baseline, reading);
  if (!ratio) return reading;
  reading.word =
      Judge(*ratio, [](double r) { return r < 0.99 ? ClaimWord::kDoesNotHold : ClaimWord::kHolds; });
  return reading;
}

}  // namespace berth::bench
