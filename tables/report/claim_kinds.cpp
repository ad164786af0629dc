#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/spec.h"
#include "tables/kept_placement.h"
#include "tables/report/bootstrap.h"
#include "tables/report/claims.h"
#include "tables/report/clocks.h"
#include "tables/report/common.h"

namespace stowplan::tables {
namespace {

using State = CellSummary::State;
using Verdicts = std::vector<ClaimVerdict>;

constexpr const char* kNoCommonSeed = "no seed that all cells have";

// Rows counted by word, with a ratio for each.
struct Tally {
  int won = 0, lost = 0, undecided = 0;
  std::string rows;

  void Add(const std::string& line, const Estimate& ratio, ClaimWord word, const std::string& remark = "") {
    ++(word == ClaimWord::kHolds ? won : (word == ClaimWord::kDoesNotHold ? lost : undecided));
    rows += fmt::format("{} {} {}{}{}", rows.empty() ? ":" : ";", line, RatioText(ratio.value),
                        IntervalText(ratio), remark);
  }
  // Of `all` rows, run or not, `wanted` are to be won.
  void Fill(ClaimVerdict& verdict, const std::string& what, std::size_t all_rows, int wanted,
            const std::string& remark = "") const {
    if (rows.empty()) return;
    const int all = static_cast<int>(all_rows);
    verdict.ours = fmt::format("rows won {}, undecided {}, not won {}{}; {}{}", won, undecided, lost, remark,
                               what, rows);
    verdict.word = won >= wanted         ? ClaimWord::kHolds
                   : all - lost < wanted ? ClaimWord::kDoesNotHold
                                         : ClaimWord::kUndecided;
  }
};

const TableBlock& BlockOf(const TableResults& results, const std::string& key) {
  return BlockOf(results.table(), key);
}

const std::string& TitleOf(const TableBlock& block, const std::string& key) {
  return ColumnOf(block, key).title;
}

ClaimVerdict Unread(const Claim& claim) {
  return {.claim = claim.text,
          .ours = "not run",
          .experiment = claim.experiment,
          .of_paper = claim.of_paper,
          .family = claim.family,
          .member = claim.member,
          .entry = claim.entry};
}

ClaimWord HoldsIf(bool holds) {
  return holds ? ClaimWord::kHolds : ClaimWord::kDoesNotHold;
}

ClaimWord JudgeAtLeast(const Estimate& estimate, const Claim& claim) {
  return Judge(estimate,
               [&](double r) { return HoldsIf(claim.beyond ? r > claim.limit : r >= claim.limit); });
}

// `of_more_graphs`: the interval is one over graphs too, which no seed makes narrower.
void JudgeAtMost(const Estimate& ratio, const Claim& claim, ClaimVerdict& verdict,
                 bool of_more_graphs = false) {
  const AtMost claimed{claim.limit, claim.beyond};
  verdict.word = Judge(ratio, claimed);
  verdict.ours += RemarkOn(ratio, claimed);
  if (verdict.word != ClaimWord::kUndecided || ratio.open() || of_more_graphs) return;
  const std::optional<int> seeds = SeedsToDecide(ratio, claim.limit);
  verdict.ours += seeds ? fmt::format(", about {} seeds would decide", *seeds)
                        : fmt::format(", more than {} seeds would decide", output::CountText(kMostSeeds));
}

// What was found in seconds, infinite where nothing else fits, and the verdict with its numbers. Empty where
// there is nothing to compare.
std::optional<double> AgainstBaseline(const TableResults& results, const Claim& claim,
                                      ClaimVerdict& verdict) {
  const std::string& line = claim.rows.front();
  const std::string& baseline = claim.than.front();
  const CellSummary& base = results.At(claim.block, line, baseline);
  if (!base.median || CellsThatRan(results, claim.block, line, baseline).empty()) return std::nullopt;
  const auto best = FindBest(results, claim.block, line, baseline);
  const std::string of_base = output::SecondsDigits(*base.median) + " s";
  verdict.ours = best ? fmt::format("found {} s ({}), {} {}", output::SecondsDigits(best->seconds), best->by,
                                    ReductionText(*base.median, best->seconds), of_base)
                      : "nothing but the baseline fits, which takes " + of_base;
  return best ? best->seconds : std::numeric_limits<double>::infinity();
}

// Found by any seed = holds; excluded by the proven bound = does not hold; else undecided: not finding it is no proof.
Verdicts Exists(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const auto best = AgainstBaseline(results, claim, verdict);
  if (!best) return {verdict};
  const double wanted =
      (1 - claim.limit) * *results.At(claim.block, claim.rows.front(), claim.than.front()).median;
  verdict.word = *best <= wanted ? ClaimWord::kHolds : ClaimWord::kUndecided;
  const std::optional<double> bound = results.Bound(claim.block, claim.rows.front());
  if (bound && *bound > wanted) {
    verdict.word = ClaimWord::kDoesNotHold;
    verdict.ours += fmt::format("; the proven bound of {} s excludes it", output::SecondsDigits(*bound));
  }
  return {verdict};
}

// A tie is not faster. Found by any seed = does not hold; left out by the proven bound = holds; else
// undecided.
Verdicts NothingFaster(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const auto best = AgainstBaseline(results, claim, verdict);
  if (!best) return {verdict};
  const double as_fast = (1 - kTie) * *results.At(claim.block, claim.rows.front(), claim.than.front()).median;
  verdict.word = *best < as_fast ? ClaimWord::kDoesNotHold : ClaimWord::kUndecided;
  const std::optional<double> bound = results.Bound(claim.block, claim.rows.front());
  if (bound && *bound >= as_fast) {
    verdict.word = ClaimWord::kHolds;
    verdict.ours +=
        fmt::format("; the proven bound of {} s leaves nothing faster", output::SecondsDigits(*bound));
  }
  return {verdict};
}

// A column's median over the best of some others at equal samples: what two that are equal say where both are near the
// optimum, whatever they learn.
std::string AboveBest(const TableResults& results, const Claim& claim, const std::string& column) {
  const std::string& line = claim.rows.front();
  const CellSummary& ours = results.At(claim.block, line, column);
  const std::optional<double> best = BestMedian(results, claim.block, line, claim.beside, ours.budget());
  return best && ours.median ? RatioText(*ours.median / *best) : "no figure";
}

Verdicts IsRatio(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const std::string& ours = claim.columns.front();
  const std::string& theirs = claim.than.front();
  const CellSummary& a = results.At(claim.block, claim.rows.front(), ours);
  const CellSummary& b = results.At(claim.block, claim.rows.front(), theirs);
  if (!a.was_run() || !b.was_run()) return {verdict};
  const TableBlock& block = BlockOf(results, claim.block);
  if (!a.median && !b.median) {
    verdict.ours = "neither fits";
    verdict.word = ClaimWord::kUndecided;
  } else {
    const Estimate ratio = EstimateRatio({&a}, {&b});
    if (a.median && b.median) verdict.figure = ratio.value;
    verdict.ours = fmt::format("{} times as long as {}{}", RatioText(ratio.value), TitleOf(block, theirs),
                               IntervalText(ratio));
    JudgeAtMost(ratio, claim, verdict);
  }
  verdict.subjects = {ours, theirs};
  if (!claim.beside.empty()) {
    verdict.ours += fmt::format("; times as long as {}: {} {}, {} {}", claim.beside_named,
                                TitleOf(block, ours), AboveBest(results, claim, ours), TitleOf(block, theirs),
                                AboveBest(results, claim, theirs));
  }
  return {verdict};
}

// Holds if every row is won, does not hold if one is lost; equal is not better.
ClaimVerdict BeatsAll(const TableResults& results, const Claim& claim, const std::string& ours,
                      const std::vector<std::string>& opponents, const std::string& opponent) {
  const std::string& block = claim.block;
  ClaimVerdict verdict = Unread(claim);
  verdict.experiment = fmt::format("columns of {}, equal samples", opponent);
  verdict.subjects = {ours};
  Tally tally;
  for (const TableLine& line : BlockOf(results, block).lines) {
    const CellSummary& learner = results.At(block, line.key, ours);
    std::vector<const CellSummary*> theirs;
    for (const std::string& column : opponents) {
      const CellSummary& cell = results.At(block, line.key, column);
      const bool fair = !cell.sampled || cell.budget() == learner.budget();
      if (learner.was_run() && cell.was_run() && !fair)
        verdict.ours = fmt::format("not compared: {} samples against {}", output::CountText(learner.budget()),
                                   output::CountText(cell.budget()));
      if (learner.was_run() && cell.was_run() && fair) theirs.push_back(&cell);
    }
    if (theirs.size() < opponents.size()) continue;
    const Estimate ratio = EstimateRatio({&learner}, theirs);
    tally.Add(line.key, ratio, Judge(ratio, kFaster), RemarkOn(ratio, kFaster));
  }
  const std::size_t rows = BlockOf(results, block).lines.size();
  tally.Fill(verdict, fmt::format("{} / best {}", TitleOf(BlockOf(results, block), ours), opponent), rows,
             static_cast<int>(rows));
  return verdict;
}

Verdicts Beats(const TableResults& results, const Claim& claim) {
  return {BeatsAll(results, claim, claim.columns.front(), claim.than, claim.named)};
}

// docs/protocol.md#random-search, #local-search.
Verdicts Opponents(const TableResults& results, const Claim& claim) {
  Verdicts verdicts;
  for (const std::string& learner : claim.columns) {
    const std::string& title = TitleOf(BlockOf(results, claim.block), learner);
    for (const auto& [opponents, opponent, beats] :
         {std::tuple{RandomColumns(), "random",
                     " beats three kinds of random search at equal samples in every row"},
          {LocalSearchColumns(), "local search",
           " beats both local searches at equal samples in every row"}}) {
      Claim one = claim;
      one.text = title + beats;
      if (claim.columns.size() > 1) {
        one.family = std::string("each learner") + beats;
        one.member = title;
      }
      verdicts.push_back(BeatsAll(results, one, learner, opponents, opponent));
    }
  }
  return verdicts;
}

using Speedup = std::optional<Estimate> (*)(const CellSummary& ours, const CellSummary& theirs);

// Where both end with everything on one device, the counts say when each first drew greedily: unlike draws.
bool BothEndOnOneDevice(const CellSummary& a, const CellSummary& b) {
  const auto ends = [](const CellSummary& cell) {
    return !cell.records.empty() && std::ranges::all_of(cell.records, [](const CellRecord& record) {
      return IsOnOneDevice(record.placement);
    });
  };
  return ends(a) && ends(b);
}

constexpr char kBothOnOne[] = "; not compared where both end on one device: ";

ClaimVerdict CountRows(const TableResults& results, const Claim& claim, Speedup speedup_of,
                       const std::string& what, ClaimVerdict verdict) {
  verdict.subjects = {claim.columns.front(), claim.than.front()};
  Tally tally;
  int never = 0;
  std::vector<std::string> left_out;
  for (const TableLine& line : BlockOf(results, claim.block).lines) {
    const CellSummary& a = results.At(claim.block, line.key, claim.columns.front());
    const CellSummary& b = results.At(claim.block, line.key, claim.than.front());
    const auto speedup = a.budget() == b.budget() ? speedup_of(a, b) : std::nullopt;
    if (!speedup) continue;
    if (BothEndOnOneDevice(a, b)) {
      ++tally.undecided;
      left_out.push_back(line.key);
      continue;
    }
    never += speedup->value == 0;
    tally.Add(line.key, *speedup,
              a.median || b.median ? JudgeAtLeast(*speedup, claim) : ClaimWord::kUndecided);
  }
  const std::size_t all = BlockOf(results, claim.block).lines.size();
  tally.Fill(verdict, what, all, claim.in_rows > 0 ? claim.in_rows : static_cast<int>(all),
             never > 0 ? fmt::format(", in {} of the rows it never gets there", never) : "");
  if (tally.rows.empty() && !left_out.empty())
    verdict.word = ClaimWord::kUndecided, verdict.ours = "no row to compare";
  if (!left_out.empty()) verdict.ours += kBothOnOne + JoinNames(left_out);
  return verdict;
}

// Two interpretations: samples to be as good as the other, and samples of both to their own final best, as the papers
// count (docs/protocol.md#search-speed-up). Rows won, undecided, lost: holds if as many are won, does not hold if too few
// are left to be won.
Verdicts FewerSamples(const TableResults& results, const Claim& claim) {
  const ClaimVerdict unread = Unread(claim);
  ClaimVerdict to_best = unread;
  for (std::string* text : {&to_best.claim, &to_best.family}) {
    if (!text->empty()) *text += "; counted to the own best, as papers do";
  }
  const TableBlock& rows_of = BlockOf(results, claim.block);
  const std::string ratio = fmt::format("samples of {} / {}", TitleOf(rows_of, claim.than.front()),
                                        TitleOf(rows_of, claim.columns.front()));
  return {
      CountRows(results, claim, SampleSpeedup, ratio + " to be as good as the other (0 = never)", unread),
      CountRows(results, claim, PublishedSpeedup, ratio + " to the own best, however good that is", to_best)};
}

// The first of them, as a geometric mean over all rows. Who never gets there counts with its whole budget.
Verdicts FewerSamplesOnAverage(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  std::vector<std::pair<const CellSummary*, const CellSummary*>> rows;
  verdict.subjects = {claim.columns.front(), claim.than.front()};
  std::vector<const CellSummary*> cells;
  std::vector<std::string> left_out;
  for (const TableLine& line : BlockOf(results, claim.block).lines) {
    const CellSummary& a = results.At(claim.block, line.key, claim.columns.front());
    const CellSummary& b = results.At(claim.block, line.key, claim.than.front());
    if (!a.was_run() || !b.was_run() || a.budget() != b.budget()) return {verdict};
    if (BothEndOnOneDevice(a, b)) {
      left_out.push_back(line.key);
      continue;
    }
    rows.emplace_back(&a, &b);
    cells.insert(cells.end(), {&a, &b});
  }
  const std::string not_compared = left_out.empty() ? "" : kBothOnOne + JoinNames(left_out);
  if (rows.empty()) {
    verdict.word = ClaimWord::kUndecided;
    verdict.ours = "no row to compare" + not_compared;
    return {verdict};
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
  verdict.ours = fmt::format("the other's samples / its own {}{}{}", RatioText(mean.value),
                             IntervalText(mean), not_compared);
  if (mean.unpaired()) verdict.ours = kNoCommonSeed;
  verdict.word = JudgeAtLeast(mean, claim);
  return {verdict};
}

// The geometric mean over all rows of a column's median over another's. A row in which either was not run leaves the claim
// untested; one in which either does not fit leaves it undecided. Rows of a family of graphs stand for all of them.
Verdicts MeanRatio(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  verdict.subjects = {claim.columns.front(), claim.than.front()};
  const TableBlock& block = BlockOf(results, claim.block);
  const PairedColumns paired = PairColumns(results, block, claim.columns.front(), claim.than.front());
  if (paired.not_run) return {verdict};
  verdict.word = ClaimWord::kUndecided;
  if (!paired.do_not_fit.empty()) {
    verdict.ours = "no mean, out of memory in " + JoinNames(paired.do_not_fit);
    return {verdict};
  }
  const bool of_more_graphs = !block.training.workloads.empty();
  const Estimate mean = EstimateMeanRatio(paired.pairs, of_more_graphs);
  if (mean.unpaired()) {
    verdict.ours = kNoCommonSeed;
    return {verdict};
  }
  verdict.figure = mean.value;
  verdict.ours = fmt::format("{} times{}", RatioText(mean.value), IntervalText(mean));
  JudgeAtMost(mean, claim, verdict, of_more_graphs);
  return {verdict};
}

// Beside it how often one card alone holds the model, so that memory cannot be why.
Verdicts OutOfMemory(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  int published = 0, ours = 0, both = 0, fit_on_one = 0;
  for (const TableLine& line : BlockOf(results, claim.block).lines) {
    const CellSummary& cell = results.At(claim.block, line.key, claim.columns.front());
    const CellSummary& one = results.At(claim.block, line.key, claim.than.front());
    if (!cell.was_run() || !one.was_run()) return {verdict};
    const bool fails = cell.state == State::kOutOfMemory;
    ours += fails;
    if (!cell.published || !cell.published->out_of_memory) continue;
    ++published;
    both += fails;
    fit_on_one += one.state == State::kFits;
  }
  verdict.ours = fmt::format(
      "does not fit in {} rows here, in {} of the paper's {}; in {} of these the whole model fits on one "
      "card "
      "here, so memory alone cannot explain them",
      ours, both, published, fit_on_one);
  return {verdict};
}

// In seconds, where a part of a baseline says little because the baseline itself is not met.
Verdicts Found(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const auto best = FindBest(results, claim.block, claim.rows.front());
  if (!best) return {verdict};
  verdict.ours = fmt::format("found {} s ({}), {} {:g} s", output::SecondsDigits(best->seconds), best->by,
                             ReductionText(claim.limit, best->seconds), claim.limit);
  verdict.word = best->seconds <= claim.limit ? ClaimWord::kHolds : ClaimWord::kUndecided;
  if (const std::optional<double> bound = results.Bound(claim.block, claim.rows.front())) {
    if (*bound > claim.limit) verdict.word = ClaimWord::kDoesNotHold;
    verdict.ours += fmt::format("; proven bound {} s", output::SecondsDigits(*bound));
  }
  return {verdict};
}

// What no row of the table can say.
Verdicts Untested(const TableResults&, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  verdict.ours = "no rows";
  return {verdict};
}

// Every cell of some rows and columns, rules alone.
Verdicts Slower(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  std::vector<double> ratios;
  for (const std::string& line : claim.rows) {
    const CellSummary& one = results.At(claim.block, line, claim.than.front());
    for (const std::string& column : claim.columns) {
      const CellSummary& cell = results.At(claim.block, line, column);
      if (!one.was_run() || !cell.was_run()) return {verdict};
      if (one.median && cell.median) ratios.push_back(*cell.median / *one.median);
    }
  }
  if (ratios.empty()) return {verdict};
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  const auto slower = std::count_if(ratios.begin(), ratios.end(), [&](double r) { return r >= claim.limit; });
  verdict.ours = fmt::format("{:.2f} to {:.2f} times, {} of {} cells at least {}", *low, *high, slower,
                             ratios.size(), claim.limit);
  verdict.word = HoldsIf(*low >= claim.limit);
  return {verdict};
}

// "1.41, 1.42, 1.43 s"; empty where one has no runtime.
std::string SecondsByRow(const TableResults& results, const Claim& claim, const std::string& column) {
  std::string seconds;
  for (const std::string& line : claim.rows) {
    const CellSummary& cell = results.At(claim.block, line, column);
    if (!cell.median) return {};
    seconds += (seconds.empty() ? "" : ", ") + output::SecondsDigits(*cell.median);
  }
  return seconds + " s";
}

// From the first row to the last. Less than a twentieth is no growth.
Verdicts Grows(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const std::string& column = claim.columns.front();
  verdict.subjects = {column};
  const std::string seconds = SecondsByRow(results, claim, column);
  if (seconds.empty()) return {verdict};
  const Estimate growth = EstimateRatio({&results.At(claim.block, claim.rows.back(), column)},
                                        {&results.At(claim.block, claim.rows.front(), column)});
  verdict.ours =
      fmt::format("{}; {} times {}{}", seconds, RatioText(growth.value), claim.named, IntervalText(growth));
  verdict.word = Judge(growth, [&](double r) {
    return r >= claim.limit ? ClaimWord::kHolds
                            : (r < 1.05 ? ClaimWord::kDoesNotHold : ClaimWord::kUndecided);
  });
  for (const std::string& other : claim.beside) {
    const std::string theirs = SecondsByRow(results, claim, other);
    if (!theirs.empty())
      verdict.ours += fmt::format("; {} {}", TitleOf(BlockOf(results, claim.block), other), theirs);
  }
  return {verdict};
}

// Cells of rules beside their published numbers, and those of another block.
Verdicts Close(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  bool all = true;
  std::string texts[2];
  for (const bool first : {true, false}) {
    if (!first && claim.beside.empty()) continue;
    for (std::size_t i = 0; i < claim.rows.size(); ++i) {
      const auto ratio =
          results.At(first ? claim.block : claim.beside.front(), claim.rows[i], claim.columns[i]).ratio();
      if (!ratio) return {verdict};
      if (first) all = all && std::abs(*ratio - 1) <= claim.limit;
      std::string& text = texts[first ? 0 : 1];
      text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", claim.rows[i], *ratio);
    }
  }
  verdict.ours = "ours / published: " + texts[0];
  if (!claim.beside.empty()) verdict.ours += fmt::format(" ({} {})", claim.beside_named, texts[1]);
  verdict.word = HoldsIf(all);
  return {verdict};
}

// Some rules fit in none of the rows, and something else does in each.
Verdicts OthersFit(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  bool rules_fail = true;
  bool some_fit = true;
  for (const std::string& line : claim.rows) {
    for (const std::string& column : claim.columns) {
      const CellSummary& cell = results.At(claim.block, line, column);
      if (!cell.was_run()) return {verdict};
      rules_fail = rules_fail && cell.state == State::kOutOfMemory;
    }
    const auto others = CellsThatRan(results, claim.block, line, claim.except);
    some_fit = some_fit && std::any_of(others.begin(), others.end(),
                                       [](const CellSummary* cell) { return cell->feasible > 0; });
  }
  verdict.ours = fmt::format("{}; {}", rules_fail ? "neither fits" : "some of them fit",
                             some_fit ? "others do" : "no other was found that does");
  verdict.word =
      !rules_fail ? ClaimWord::kDoesNotHold : (some_fit ? ClaimWord::kHolds : ClaimWord::kUndecided);
  return {verdict};
}

// The best step of one row against that of another: what is found in one and proven of the other decides.
Verdicts BestIsLonger(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const std::string& row = claim.rows.front();
  const std::string& other = claim.rows.back();
  const auto long_one = FindBest(results, claim.block, row, claim.except);
  const auto short_one = FindBest(results, claim.block, other, claim.except);
  const auto bound_of_long = results.Bound(claim.block, row);
  const auto bound_of_short = results.Bound(claim.block, other);
  if (!long_one || !short_one || !bound_of_long || !bound_of_short) return {verdict};
  const auto gpus = [&](const std::string& key) {
    const std::vector<TableLine>& lines = BlockOf(results, claim.block).lines;
    return std::ranges::find_if(lines, [&](const TableLine& line) { return line.key == key; })->gpus;
  };
  verdict.ours = fmt::format("found on {} {} s (proven bound {}), on {} {} s (bound {})", gpus(row),
                             output::SecondsDigits(long_one->seconds), output::SecondsDigits(*bound_of_long),
                             gpus(other), output::SecondsDigits(short_one->seconds),
                             output::SecondsDigits(*bound_of_short));
  verdict.word = long_one->seconds <= *bound_of_short  ? ClaimWord::kDoesNotHold
                 : short_one->seconds < *bound_of_long ? ClaimWord::kHolds
                                                       : ClaimWord::kUndecided;
  return {verdict};
}

// Placements that nobody searched for and that take less than half of it refute it.
Verdicts TakesAsLong(const TableResults& results, const Claim& claim) {
  ClaimVerdict verdict = Unread(claim);
  const CellSummary& cell = results.At(claim.block, claim.rows.front(), claim.columns.front());
  if (cell.state == State::kOutOfMemory) verdict.ours = claim.named + " do not fit";
  if (!cell.median) return {verdict};
  verdict.ours = fmt::format("{} take {} s", claim.named, output::SecondsDigits(*cell.median));
  for (const std::string& other : claim.beside) {
    if (const CellSummary& theirs = results.At(claim.block, claim.rows.front(), other); theirs.median)
      verdict.ours += fmt::format("; {} {} s", claim.beside_named, output::SecondsDigits(*theirs.median));
  }
  verdict.word = *cell.median < claim.limit / 2 ? ClaimWord::kDoesNotHold : ClaimWord::kUndecided;
  return {verdict};
}

}  // namespace

const std::vector<ClaimKind>& ClaimKinds() {
  static const std::vector<ClaimKind> kinds = {
      {"exists", "a placement exists that is `by` (a part) below that of column `than`", "row! than! by!",
       Exists},
      {"nothing_faster", "no placement is faster than that of column `than`", "row! than!", NothingFaster},
      {"found", "a placement exists that takes at most so long", "row! takes!", Found},
      {"ratio",
       "a column takes at most so many times as long as another; `rows: all` makes one claim of each row, "
       "whose title stands for `{row}`",
       "row rows column! than! at_most below beside beside_named", IsRatio},
      {"beats", "a column ends before the best of others at equal samples in every row",
       "column! than! named!", Beats},
      {"opponents", "learners beat random and local search in every row: two claims for each", "columns!",
       Opponents},
      {"fewer_samples",
       "a column needs so many times fewer samples than another, in `in_rows` rows (else in all)",
       "column! than! at_least above in_rows", FewerSamples},
      {"fewer_samples_on_average", "the same as a geometric mean over all rows",
       "column! than! at_least above", FewerSamplesOnAverage},
      {"mean_ratio",
       "a column takes at most so many times as long as another, geometric mean over all rows; "
       "`columns` makes one claim of each, whose title stands for `{column}` in its text",
       "column columns than! at_most below", MeanRatio},
      {"out_of_memory", "a column does not fit where the paper says so; `than`: one device alone",
       "column! than!", OutOfMemory},
      {"slower", "all of some cells take at least so many times as long as column `than`",
       "rows! columns! than! at_least!", Slower},
      {"grows", "a column takes at least so many times as long in the last row as in the first",
       "rows! column! at_least! named! beside", Grows},
      {"close", "cells are within a part of their published numbers",
       "cells! within! beside_block beside_named", Close},
      {"others_fit", "some columns fit in no row, and something else does in each", "rows! columns! except",
       OthersFit},
      {"best_is_longer", "the best placement of the first row takes longer than that of the last",
       "rows! except", BestIsLonger},
      {"takes", "the best placements take so long", "row! column! takes! named! beside beside_named",
       TakesAsLong},
      {"untested", "what no row can say; `see` says why", "see!", Untested},
  };
  return kinds;
}

}  // namespace stowplan::tables
