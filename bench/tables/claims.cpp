#include "bench/tables/claims.h"

#include <algorithm>
#include <cmath>

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
  void Fill(ClaimReading& reading, const std::string& what) const {
    if (rows.empty()) return;
    reading.ours =
        fmt::format("rows won {}, undecided {}, not won {}; {}{}", won, undecided, lost, what, rows);
    reading.word =
        lost > 0 ? ClaimWord::kDoesNotHold : (undecided > 0 ? ClaimWord::kUndecided : ClaimWord::kHolds);
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

ClaimReading RatioClaim(const TableResults& results, const std::string& block, const std::string& line,
                        const std::string& ours, const std::string& theirs, double most,
                        const std::string& text, const std::string& experiment) {
  ClaimReading reading{text, "not run", ClaimWord::kCannotBeTested, experiment};
  const CellSummary& a = results.At(block, line, ours);
  const CellSummary& b = results.At(block, line, theirs);
  if (!a.was_run() || !b.was_run()) return reading;
  const Estimate ratio = EstimateRatio({&a}, {&b});
  reading.ours = fmt::format("{} times as long as {}{}", RatioText(ratio.value),
                             TitleOf(BlockOf(results, block), theirs), IntervalText(ratio));
  reading.word =
      Judge(ratio, [&](double r) { return r <= most ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; });
  return reading;
}

ClaimReading BeatsClaim(const TableResults& results, const std::string& block, const std::string& ours,
                        const std::vector<std::string>& opponents, const std::string& opponent,
                        const std::string& text) {
  ClaimReading reading{text, "not run", ClaimWord::kCannotBeTested,
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
  tally.Fill(reading, fmt::format("{} / best {}", TitleOf(BlockOf(results, block), ours), opponent));
  return reading;
}

std::vector<ClaimReading> OpponentClaims(const TableResults& results, const std::string& block,
                                         const std::vector<std::string>& learners) {
  std::vector<ClaimReading> claims;
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

ClaimReading SpeedupClaim(const TableResults& results, const std::string& block, const std::string& ours,
                          const std::string& theirs, double least, const std::string& text) {
  ClaimReading reading{text, "not run", ClaimWord::kCannotBeTested,
                       "samples to be as good as the other's final median; section Samples has both counts"};
  Tally tally;
  std::string published;
  for (const TableLine& line : BlockOf(results, block).lines) {
    const CellSummary& a = results.At(block, line.key, ours);
    const CellSummary& b = results.At(block, line.key, theirs);
    const auto speedup = a.budget() == b.budget() ? SampleSpeedup(a, b) : std::nullopt;
    if (!speedup) continue;
    tally.Add(line.key, *speedup, Judge(*speedup, [&](double r) {
                return r > least ? ClaimWord::kHolds : ClaimWord::kDoesNotHold;
              }));
    if (const auto as_published = PublishedSpeedup(a, b))
      published += fmt::format("{} {} {}", published.empty() ? "" : ";", line.key, RatioText(*as_published));
  }
  tally.Fill(reading, "times fewer samples to match (0 = never)");
  if (!published.empty())
    reading.ours += ". Ratio of samples to the final best, as the papers count:" + published;
  return reading;
}

}  // namespace berth::bench
