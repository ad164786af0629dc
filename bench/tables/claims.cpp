#include "bench/tables/claims.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/tables/bootstrap.h"
#include "bench/tables/clocks.h"
#include "bench/tables/common.h"

namespace berth::bench {
namespace {

// Rows counted by word, with a ratio for each.
struct Tally {
  int won = 0, lost = 0, undecided = 0;
  std::string rows;

  void Add(const std::string& line, const Estimate& ratio, ClaimWord word) {
    ++(word == ClaimWord::kHolds ? won : (word == ClaimWord::kDoesNotHold ? lost : undecided));
    rows += fmt::format("{} {} {}{}", rows.empty() ? ":" : ";", line, RatioText(ratio.value),
                        IntervalText(ratio));
  }
  // Of `all` rows, run or not, `wanted` are to be won.
  void Fill(ClaimVerdict& verdict, const std::string& what, std::size_t all_rows, int wanted) const {
    if (rows.empty()) return;
    const int all = static_cast<int>(all_rows);
    verdict.ours =
        fmt::format("rows won {}, undecided {}, not won {}; {}{}", won, undecided, lost, what, rows);
    verdict.word = won >= wanted         ? ClaimWord::kHolds
                   : all - lost < wanted ? ClaimWord::kDoesNotHold
                                         : ClaimWord::kUndecided;
  }
};

const TableBlock& BlockOf(const TableResults& results, const std::string& key) {
  const std::vector<TableBlock>& blocks = results.table().blocks;
  return *std::find_if(blocks.begin(), blocks.end(),
                       [&](const TableBlock& block) { return block.key == key; });
}

const std::string& TitleOf(const TableBlock& block, const std::string& key) {
  return std::find_if(block.columns.begin(), block.columns.end(), [&](const auto& c) { return c.key == key; })
      ->title;
}

}  // namespace

std::string ReductionText(double from, double to) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(from - to) / from, to <= from ? "below" : "above");
}

std::optional<BestFound> FindBest(const TableResults& results, const std::string& block,
                                  const std::string& line, const std::string& except) {
  std::optional<BestFound> best;
  for (const TableColumn& column : BlockOf(results, block).columns) {
    if (column.key == except) continue;
    for (const CellRecord& record : results.At(block, line, column.key).records) {
      if (!record.runtime_us || (best && best->seconds <= *record.runtime_us / 1e6)) continue;
      best = {*record.runtime_us / 1e6,
              column.title + (column.sampled ? fmt::format(", seed {}", record.seed) : "")};
    }
  }
  return best;
}

namespace {

// What was found in seconds, infinite where nothing else fits, and the verdict with its numbers. Empty where
// there is nothing to compare.
std::optional<double> AgainstBaseline(const TableResults& results, const std::string& block,
                                      const std::string& line, const std::string& baseline,
                                      ClaimVerdict& verdict) {
  const CellSummary& base = results.At(block, line, baseline);
  if (!base.median || CellsThatRan(results, block, line, baseline).empty()) return std::nullopt;
  const auto best = FindBest(results, block, line, baseline);
  const std::string of_base = SecondsDigits(*base.median) + " s of the baseline";
  verdict.ours = best ? fmt::format("best found {} s ({}), {} the {}", SecondsDigits(best->seconds), best->by,
                                    ReductionText(*base.median, best->seconds), of_base)
                      : "nothing else fits; the " + of_base;
  return best ? best->seconds : std::numeric_limits<double>::infinity();
}

}  // namespace

ClaimVerdict ReductionClaim(const TableResults& results, const std::string& block, const std::string& line,
                            const std::string& baseline, double claimed, const std::string& text,
                            const std::string& experiment) {
  ClaimVerdict verdict{text, "not run", ClaimWord::kCannotBeTested, experiment};
  const auto best = AgainstBaseline(results, block, line, baseline, verdict);
  if (!best) return verdict;
  const double wanted = (1 - claimed) * *results.At(block, line, baseline).median;
  verdict.word = *best <= wanted ? ClaimWord::kHolds : ClaimWord::kUndecided;
  const std::optional<double> bound = results.Bound(block, line);
  if (bound && *bound > wanted) {
    verdict.word = ClaimWord::kDoesNotHold;
    verdict.ours += fmt::format("; the proven bound of {} s excludes it", SecondsDigits(*bound));
  }
  return verdict;
}

ClaimVerdict NothingFasterClaim(const TableResults& results, const std::string& block,
                                const std::string& line, const std::string& baseline, const std::string& text,
                                const std::string& experiment) {
  ClaimVerdict verdict{text, "not run", ClaimWord::kCannotBeTested, experiment};
  const auto best = AgainstBaseline(results, block, line, baseline, verdict);
  if (!best) return verdict;
  const double as_fast = 0.99 * *results.At(block, line, baseline).median;
  verdict.word = *best < as_fast ? ClaimWord::kDoesNotHold : ClaimWord::kUndecided;
  const std::optional<double> bound = results.Bound(block, line);
  if (bound && *bound >= as_fast) {
    verdict.word = ClaimWord::kHolds;
    verdict.ours += fmt::format("; the proven bound of {} s leaves nothing faster", SecondsDigits(*bound));
  }
  return verdict;
}

ClaimVerdict RatioClaim(const TableResults& results, const std::string& block, const std::string& line,
                        const std::string& ours, const std::string& theirs, double most,
                        const std::string& text, const std::string& experiment) {
  ClaimVerdict verdict{text, "not run", ClaimWord::kCannotBeTested, experiment};
  const CellSummary& a = results.At(block, line, ours);
  const CellSummary& b = results.At(block, line, theirs);
  if (!a.was_run() || !b.was_run()) return verdict;
  if (!a.median && !b.median) {
    verdict.ours = "neither fits";
    verdict.word = ClaimWord::kUndecided;
    return verdict;
  }
  const Estimate ratio = EstimateRatio({&a}, {&b});
  verdict.ours = fmt::format("{} times as long as {}{}", RatioText(ratio.value),
                             TitleOf(BlockOf(results, block), theirs), IntervalText(ratio));
  verdict.word =
      Judge(ratio, [&](double r) { return r <= most ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; });
  return verdict;
}

ClaimVerdict BeatsClaim(const TableResults& results, const std::string& block, const std::string& ours,
                        const std::vector<std::string>& opponents, const std::string& opponent,
                        const std::string& text) {
  ClaimVerdict verdict{text, "not run", ClaimWord::kCannotBeTested,
                       fmt::format("columns of {}, equal samples", opponent)};
  Tally tally;
  for (const TableLine& line : BlockOf(results, block).lines) {
    const CellSummary& learner = results.At(block, line.key, ours);
    std::vector<const CellSummary*> theirs;
    for (const std::string& column : opponents) {
      const CellSummary& cell = results.At(block, line.key, column);
      if (learner.was_run() && cell.was_run() && cell.budget() == learner.budget()) theirs.push_back(&cell);
    }
    if (theirs.size() < opponents.size()) continue;
    const Estimate ratio = EstimateRatio({&learner}, theirs);
    tally.Add(line.key, ratio,
              Judge(ratio, [](double r) { return r < 1 ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; }));
  }
  const std::size_t rows = BlockOf(results, block).lines.size();
  tally.Fill(verdict, fmt::format("{} / best {}", TitleOf(BlockOf(results, block), ours), opponent), rows,
             static_cast<int>(rows));
  return verdict;
}

std::vector<ClaimVerdict> OpponentClaims(const TableResults& results, const std::string& block,
                                         const std::vector<std::string>& learners) {
  std::vector<ClaimVerdict> claims;
  for (const std::string& learner : learners) {
    const std::string& title = TitleOf(BlockOf(results, block), learner);
    claims.push_back(BeatsClaim(results, block, learner, {"random_op", "random_group", "random_block"},
                                "random",
                                title + " beats the best of three kinds of random search at equal samples in "
                                        "every row (ours, not the paper's)"));
    claims.push_back(BeatsClaim(
        results, block, learner, {"local_search", "local_search_trivial"}, "local search",
        title + " beats both local searches at equal samples in every row (ours, not the paper's)"));
  }
  return claims;
}

namespace {

using Speedup = std::optional<Estimate> (*)(const CellSummary& ours, const CellSummary& theirs);

ClaimVerdict CountRows(const TableResults& results, const std::string& block, const std::string& ours,
                       const std::string& theirs, double least, int rows, Speedup speedup_of,
                       const std::string& what, ClaimVerdict verdict) {
  Tally tally;
  int never = 0;
  for (const TableLine& line : BlockOf(results, block).lines) {
    const CellSummary& a = results.At(block, line.key, ours);
    const CellSummary& b = results.At(block, line.key, theirs);
    const auto speedup = a.budget() == b.budget() ? speedup_of(a, b) : std::nullopt;
    if (!speedup) continue;
    never += speedup->value == 0;
    const auto word_at = [&](double r) { return r >= least ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; };
    tally.Add(line.key, *speedup, a.median || b.median ? Judge(*speedup, word_at) : ClaimWord::kUndecided);
  }
  const std::size_t all = BlockOf(results, block).lines.size();
  tally.Fill(verdict, never > 0 ? fmt::format("{}, never in {} of {}", what, never, all) : what, all, rows);
  return verdict;
}

}  // namespace

std::vector<ClaimVerdict> SpeedupClaims(const TableResults& results, const std::string& block,
                                        const std::string& ours, const std::string& theirs, double least,
                                        int rows, const std::string& text, const std::string& experiment) {
  const ClaimVerdict unread{text, "not run", ClaimWord::kCannotBeTested, experiment};
  ClaimVerdict to_best = unread;
  to_best.claim += "; samples counted to the own final best, as the papers do";
  const TableBlock& rows_of = BlockOf(results, block);
  const std::string ratio =
      fmt::format("samples of {} / {}", TitleOf(rows_of, theirs), TitleOf(rows_of, ours));
  return {CountRows(results, block, ours, theirs, least, rows, SampleSpeedup,
                    ratio + " to be as good as the other (0 = never)", unread),
          CountRows(results, block, ours, theirs, least, rows, PublishedSpeedup,
                    ratio + " to the own best, however good that is", to_best)};
}

ClaimVerdict MeanSpeedupClaim(const TableResults& results, const std::string& block, const std::string& ours,
                              const std::string& theirs, double least, const std::string& text,
                              const std::string& experiment) {
  ClaimVerdict verdict{text, "not run", ClaimWord::kCannotBeTested, experiment};
  std::vector<std::pair<const CellSummary*, const CellSummary*>> rows;
  std::vector<const CellSummary*> cells;
  for (const TableLine& line : BlockOf(results, block).lines) {
    const CellSummary& a = results.At(block, line.key, ours);
    const CellSummary& b = results.At(block, line.key, theirs);
    if (!a.was_run() || !b.was_run() || a.budget() != b.budget()) return verdict;
    rows.emplace_back(&a, &b);
    cells.insert(cells.end(), {&a, &b});
  }
  SearchCosts costs;
  const Estimate mean = EstimateOver(cells, [&](const std::vector<std::int64_t>& seeds) {
    std::vector<double> speedups;
    for (const auto& [a, b] : rows) {
      const auto budget = static_cast<double>(a->budget());
      const SamplesToMatch samples = CountSamplesToMatch(*a, *b, seeds, costs);
      speedups.push_back(std::min(samples.theirs, budget) / std::min(samples.ours, budget));
    }
    return GeometricMean(speedups);
  });
  verdict.ours = fmt::format("{} times fewer samples{}", RatioText(mean.value), IntervalText(mean));
  verdict.word =
      Judge(mean, [&](double r) { return r >= least ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; });
  return verdict;
}

}  // namespace berth::bench
