// The interval behind every claim, and the words that follow from it.
#include "tables/report/bootstrap.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tables/report/claims.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Runtimes = std::vector<std::optional<double>>;  // [s] by seed from `first` on; none = OOM

CellSummary Cell(bool sampled, const Runtimes& seconds, int first = 1) {
  CellSummary cell;
  cell.sampled = sampled;
  cell.seeds = static_cast<int>(seconds.size());
  cell.state = CellSummary::State::kOutOfMemory;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    cell.records.push_back(
        MakeRecord("rnnlm", "random", "searched", first + static_cast<int>(i), seconds[i]));
    if (seconds[i]) cell.state = CellSummary::State::kFits;
  }
  return cell;
}
CellSummary Rule(std::optional<double> seconds) {
  return Cell(false, {seconds});
}
CellSummary Searched(const Runtimes& seconds, int first = 1) {
  return Cell(true, seconds, first);
}

TEST(Bootstrap, RulesAreExactAndHaveNoInterval) {
  const CellSummary fast = Rule(1.0);
  const CellSummary slow = Rule(2.0);
  const Estimate estimate = EstimateRatio({&fast}, {&slow});
  EXPECT_FALSE(estimate.sampled);
  EXPECT_EQ(estimate.value, 0.5);
  EXPECT_EQ(estimate.low, 0.5);
  EXPECT_EQ(estimate.high, 0.5);
  EXPECT_EQ(IntervalText(estimate), "");
  EXPECT_EQ(Judge(estimate, kFaster), ClaimWord::kHolds);
}

// exp(mean of the logarithms +- 2.92 standard errors) of 1, 1.1 and 1.2.
TEST(Bootstrap, OfFewSeedsTheIntervalHoldsStudents) {
  const CellSummary three = Searched({1.2, 1.0, 1.1});
  const CellSummary base = Rule(1.0);
  const Estimate estimate = EstimateRatio({&three}, {&base});
  EXPECT_EQ(estimate.value, 1.1);
  EXPECT_NEAR(estimate.low, 0.9406, 1e-4);
  EXPECT_NEAR(estimate.high, 1.2793, 1e-4);
  EXPECT_EQ(IntervalText(estimate, 2), " [1.88, 2.56], 3 seeds");
  EXPECT_EQ(Judge(estimate, kFaster), ClaimWord::kUndecided) << "no seed is below 1, but one may be";
  const CellSummary near = Rule(0.9);
  EXPECT_EQ(Judge(EstimateRatio({&three}, {&near}), kFaster), ClaimWord::kDoesNotHold);
}

// Seeds that agree decide, however few; a rule that is faster decides whatever the seeds would find.
TEST(Bootstrap, SeedsThatAgreeDecide) {
  const CellSummary three = Searched({1.0, 1.0, 1.0});
  const CellSummary near = Rule(1.01);
  EXPECT_EQ(Judge(EstimateRatio({&three}, {&near}), kFaster), ClaimWord::kHolds);
  const CellSummary apart = Searched({0.5, 1.0, 3.0});
  const CellSummary fast = Rule(1.0);
  EXPECT_EQ(Judge(EstimateRatio({&apart}, {&near}), kFaster), ClaimWord::kUndecided);
  EXPECT_EQ(Judge(EstimateRatio({&apart, &fast}, {&near}), kFaster), ClaimWord::kHolds);
}

// A third opponent with too few seeds can only make it worse.
TEST(Bootstrap, WhatIsLostAgainstOneIsLostWhateverAnotherWouldFind) {
  const CellSummary ours = Searched({2.0, 2.0, 2.0});
  const CellSummary ahead = Searched({1.0, 1.0, 1.0});
  const CellSummary open = Searched({3.0});
  EXPECT_EQ(Judge(EstimateRatio({&ours}, {&ahead, &open}), kFaster), ClaimWord::kDoesNotHold);
  EXPECT_EQ(Judge(EstimateRatio({&ahead}, {&ours, &open}), kFaster), ClaimWord::kUndecided);
}

TEST(Bootstrap, ManySeedsLeaveTheExtremesOut) {
  const CellSummary ours = Searched({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  const CellSummary base = Rule(1.0);
  const Estimate estimate = EstimateRatio({&ours}, {&base});
  EXPECT_EQ(estimate.value, 7);
  // The median of 13 draws from 13 is at most k with probability P(Binomial(13, k / 13) >= 7): 1.6 % for 3 and 7.1 % for
  // 4; the other end is its mirror image.
  EXPECT_EQ(estimate.low, 4);
  EXPECT_EQ(estimate.high, 10);
}

TEST(Bootstrap, ComparesSeedBySeed) {
  const CellSummary ours = Searched({0.9, 9, 90});
  const CellSummary theirs = Searched({1, 10, 100});
  const Estimate estimate = EstimateRatio({&ours}, {&theirs});
  EXPECT_DOUBLE_EQ(estimate.low, 0.9);
  EXPECT_DOUBLE_EQ(estimate.high, 0.9);
}

TEST(Bootstrap, TheBestOfOneSideCounts) {
  const CellSummary a = Searched({3, 3, 3});
  const CellSummary b = Rule(2);
  const CellSummary base = Rule(4);
  EXPECT_EQ(EstimateRatio({&a, &b}, {&base}).high, 0.5);
}

TEST(Bootstrap, ASeedThatFoundNothingIsInfinitelySlow) {
  const CellSummary ours = Searched({1.0, 1.0, 1.0});
  const CellSummary theirs = Searched({0.5, std::nullopt, std::nullopt});
  const Estimate estimate = EstimateRatio({&ours}, {&theirs});
  EXPECT_EQ(estimate.value, 0) << "the median of theirs is out of memory";
  EXPECT_EQ(estimate.high, kInfinity) << "what does not fit has no logarithm";
  EXPECT_EQ(EstimateRatio({&theirs}, {&ours}).value, kInfinity);
  EXPECT_EQ(EstimateRatio({&theirs}, {&theirs}).value, 1);
}

TEST(Bootstrap, FewSeedsDecideNothing) {
  const CellSummary ours = Searched({1.0, 1.0});
  const CellSummary base = Rule(2.0);
  const Estimate estimate = EstimateRatio({&ours}, {&base});
  EXPECT_TRUE(estimate.open());
  EXPECT_EQ(estimate.value, 0.5);
  EXPECT_EQ(IntervalText(estimate), ", 2 seeds");
  EXPECT_EQ(Judge(estimate, kFaster), ClaimWord::kUndecided);
}

TEST(Bootstrap, SeedsThatCannotBePairedDecideNothing) {
  const CellSummary ours = Searched({1, 1, 1});
  const CellSummary theirs = Searched({2, 2, 2}, 11);
  EXPECT_EQ(Judge(EstimateRatio({&ours}, {&theirs}), kFaster), ClaimWord::kUndecided);
}

TEST(Bootstrap, WhatARuleDecidesNeedsNoSeeds) {
  const CellSummary searched = Searched({5.0});
  const CellSummary rule = Rule(1.0);
  const CellSummary base = Rule(2.0);
  const Estimate estimate = EstimateRatio({&searched, &rule}, {&base});
  EXPECT_EQ(estimate.high, 0.5);
  EXPECT_EQ(Judge(estimate, kFaster), ClaimWord::kHolds);
}

// Around 1 and within 1 % of it is a tie, which is no slower and not faster; what is surely on one side is, by however little.
TEST(Bootstrap, ATieIsNoSlowerAndNotFaster) {
  const auto estimate = [](double low, double high) {
    return Estimate{.value = 1, .low = low, .high = high, .sampled = true, .seeds = 10};
  };
  const AtMost no_slower{1};
  for (const auto& [low, high, faster, as_fast, remark] :
       {std::tuple(0.995, 1.005, ClaimWord::kDoesNotHold, ClaimWord::kHolds, ", level"),
        {1.0, 1.0, ClaimWord::kDoesNotHold, ClaimWord::kHolds, ", level"},
        {0.985, 1.005, ClaimWord::kUndecided, ClaimWord::kUndecided, ""},
        {0.995, 1.015, ClaimWord::kUndecided, ClaimWord::kUndecided, ""},
        {0.995, 0.999, ClaimWord::kHolds, ClaimWord::kHolds, ""},
        {1.001, 1.005, ClaimWord::kDoesNotHold, ClaimWord::kDoesNotHold, ""}}) {
    EXPECT_EQ(Judge(estimate(low, high), kFaster), faster) << low << " " << high;
    EXPECT_EQ(Judge(estimate(low, high), no_slower), as_fast) << low << " " << high;
    EXPECT_EQ(RemarkOn(estimate(low, high), kFaster), remark) << low << " " << high;
  }
  const AtMost nearly{1.05};
  EXPECT_EQ(RemarkOn(estimate(1.06, 1.1), nearly), ", worse");
  EXPECT_EQ(RemarkOn(estimate(1.04, 1.1), nearly), "");
  EXPECT_EQ(RemarkOn(estimate(0.995, 1.005), nearly), "") << "as good as is more than a tie";
}

TEST(Bootstrap, RatiosNearOneHaveThreeDecimals) {
  EXPECT_EQ(RatioText(0.9964), "0.996");
  EXPECT_EQ(RatioText(1.0054), "1.005");
  EXPECT_EQ(RatioText(1.0996), "1.100");
  EXPECT_EQ(RatioText(1.354), "1.35");
}

RC_GTEST_PROP(Bootstrap, IsRepeatableAndScales, ()) {
  const bool few = *rc::gen::arbitrary<bool>();
  const auto values = *rc::gen::container<std::vector<int>>(few ? 6 : 12, rc::gen::inRange(1, 1000));
  Runtimes seconds(values.begin(), values.end());
  Runtimes doubled;
  for (const auto& second : seconds) doubled.emplace_back(2 * *second);
  const CellSummary ours = Searched(seconds);
  const CellSummary twice = Searched(doubled);
  const CellSummary base = Rule(1.0);
  const Estimate once = EstimateRatio({&ours}, {&base});
  const Estimate scaled = EstimateRatio({&twice}, {&base});
  RC_ASSERT(once.low <= once.value);
  RC_ASSERT(once.value <= once.high);
  if (!few) {
    RC_ASSERT(scaled.low == 2 * once.low);
    RC_ASSERT(scaled.high == 2 * once.high);
  }
  RC_ASSERT(std::abs(scaled.low / once.low - 2) < 1e-12);  // logarithms round
  RC_ASSERT(std::abs(scaled.high / once.high - 2) < 1e-12);
}

// Of the table placeto's claims, the one that speaks of it.
ClaimVerdict ClaimAbout(const std::string& what, const std::vector<CellRecord>& records) {
  const TableDefinition& table = FindTable("placeto");
  for (const ClaimVerdict& verdict : JudgeClaims(TableResults(table, records))) {
    if (verdict.claim.find(what) != std::string::npos) return verdict;
  }
  ADD_FAILURE() << "no claim about " << what;
  return {};
}

ClaimVerdict AgainstRandom(const std::vector<CellRecord>& records) {
  return ClaimAbout("random search", records);
}

void Add(std::vector<CellRecord>& records, const char* row, const char* column, const Runtimes& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    records.push_back(MakeRecord(row, column, "searched", static_cast<int>(i) + 1, seconds[i]));
}

std::vector<CellRecord> OneRow(const Runtimes& learner, const Runtimes& best_random) {
  std::vector<CellRecord> records;
  Add(records, "nmt_2", "placeto", learner);
  Add(records, "nmt_2", "random_op", Runtimes(best_random.size()));
  Add(records, "nmt_2", "random_group", best_random);
  Add(records, "nmt_2", "random_block", Runtimes(best_random.size(), 9));
  return records;
}

TEST(LearnerAgainstRandom, IsComparedWithTheBestOfThem) {
  const ClaimVerdict verdict = AgainstRandom(OneRow({1.0, 1.1, 1.2}, {2, 2, 2}));
  EXPECT_EQ(verdict.word, ClaimWord::kUndecided) << "five of the six rows were not run";
  EXPECT_EQ(verdict.ours,
            "rows won 1, undecided 0, not won 0; Placeto / best random: nmt_2 0.550 [0.470, 0.640], 3 seeds");
  EXPECT_EQ(AgainstRandom(OneRow({2.7, 2.7, 2.8}, {2, 2, 2})).word, ClaimWord::kDoesNotHold)
      << "better than blocks is not better than random";
}

TEST(LearnerAgainstRandom, ATieIsNoWin) {
  const ClaimVerdict verdict = AgainstRandom(OneRow(Runtimes(10, 2), Runtimes(10, 2)));
  EXPECT_EQ(verdict.word, ClaimWord::kDoesNotHold);
  EXPECT_TRUE(verdict.ours.ends_with("1.000 [1.000, 1.000], 10 seeds, level")) << verdict.ours;
}

TEST(LearnerAgainstRandom, AnOverlapIsUndecidedAndSoAreTwoSeeds) {
  EXPECT_EQ(AgainstRandom(OneRow({1.0, 2.5, 1.9}, {2, 2, 2})).word, ClaimWord::kUndecided);
  const ClaimVerdict two = AgainstRandom(OneRow({1, 1}, {2, 2, 2}));
  EXPECT_EQ(two.word, ClaimWord::kUndecided);
  EXPECT_NE(two.ours.find("2 seeds"), std::string::npos) << two.ours;
}

TEST(LearnerAgainstRandom, ALearnerThatFindsNothingLoses) {
  const Runtimes nothing = {std::nullopt, std::nullopt, std::nullopt};
  EXPECT_EQ(AgainstRandom(OneRow(nothing, {2, 2, 2})).word, ClaimWord::kDoesNotHold);
}

TEST(LearnerAgainstRandom, UnequalBudgetsAreNotCompared) {
  std::vector<CellRecord> records = OneRow({1, 1, 1}, {2, 2, 2});
  for (CellRecord& record : records) {
    if (record.column == "placeto") record.budget = 1000;
  }
  EXPECT_EQ(AgainstRandom(records).word, ClaimWord::kCannotBeTested);
}

TEST(LearnerAgainstLocalSearch, TheBetterOfBothStartsCounts) {
  std::vector<CellRecord> records;
  Add(records, "nmt_2", "placeto", {1.5, 1.5, 1.5});
  Add(records, "nmt_2", "local_search", {2, 2, 2});
  EXPECT_EQ(ClaimAbout("local searches", records).word, ClaimWord::kCannotBeTested) << "one was not run";
  Add(records, "nmt_2", "local_search_trivial", {1, 1, 1});
  const ClaimVerdict verdict = ClaimAbout("local searches", records);
  EXPECT_EQ(verdict.word, ClaimWord::kDoesNotHold);
  EXPECT_EQ(
      verdict.ours,
      "rows won 0, undecided 0, not won 1; Placeto / best local search: nmt_2 1.50 [1.50, 1.50], 3 seeds");
}

// Each pair alone would leave it open; over four pairs errors of single seeds cancel.
TEST(Bootstrap, MeanOverPairsIsSurerThanEachPair) {
  const std::vector<CellSummary> ours = {Searched({0.8, 1.1, 0.9}), Searched({1.1, 0.9, 0.8}),
                                         Searched({0.9, 0.8, 1.1}), Searched({0.9, 0.9, 0.9})};
  const CellSummary base = Rule(1.0);
  CellPairs pairs;
  for (const CellSummary& cell : ours) {
    pairs.emplace_back(&cell, &base);
    if (&cell == &ours.back()) continue;
    EXPECT_EQ(Judge(EstimateRatio({&cell}, {&base}), kFaster), ClaimWord::kUndecided);
  }
  const Estimate mean = EstimateMeanRatio(pairs, false);
  EXPECT_NEAR(mean.value, 0.9, 1e-12);
  EXPECT_EQ(Judge(mean, kFaster), ClaimWord::kHolds);
}

TEST(Bootstrap, MeanOverPairsDrawnFromMoreHoldsTheIntervalOverThem) {
  const CellSummary fast = Searched({0.5, 0.5, 0.5});
  const CellSummary slow = Searched({1.2, 1.2, 1.2});
  const CellSummary base = Rule(1.0);
  const CellPairs pairs = {{&fast, &base}, {&slow, &base}, {&slow, &base}, {&slow, &base}};
  EXPECT_EQ(Judge(EstimateMeanRatio(pairs, false), kFaster), ClaimWord::kHolds);
  EXPECT_EQ(Judge(EstimateMeanRatio(pairs, true), kFaster), ClaimWord::kUndecided);
}

TEST(Bootstrap, MeanOverPairsOfRulesIsExactAndUnpairedSeedsHaveNone) {
  const CellSummary one = Rule(1.0), two = Rule(2.0);
  const Estimate exact = EstimateMeanRatio({{&one, &two}}, false);
  EXPECT_EQ(exact.value, 0.5);
  EXPECT_EQ(exact.high, 0.5);
  const CellSummary first = Searched({1, 1, 1}), others = Searched({1, 1, 1}, 11);
  EXPECT_TRUE(EstimateMeanRatio({{&first, &two}, {&others, &two}}, false).unpaired());
}

// One seed of ours and another of theirs do not fit: nothing is decided, and nothing is not a number.
TEST(Bootstrap, MeanOverPairsWithSeedsThatDoNotFit) {
  const CellSummary some = Searched({0.1, 0.1, std::nullopt});
  const CellSummary base = Searched({1.0, std::nullopt, 1.0});
  const CellSummary rule = Rule(1.0);
  const Estimate mean = EstimateMeanRatio({{&some, &rule}, {&rule, &base}}, false);
  EXPECT_NEAR(mean.value, std::sqrt(0.1), 1e-12);
  EXPECT_EQ(mean.low, 0);
  EXPECT_EQ(mean.high, kInfinity);
}

TEST(Bootstrap, MeanOverGraphsIsGeometricAndItsIntervalHoldsIt) {
  const Estimate mean = EstimateMean({0.5, 2, 0.5, 2});
  EXPECT_NEAR(mean.value, 1, 1e-12);
  EXPECT_LT(mean.low, 1);
  EXPECT_GT(mean.high, 1);
  EXPECT_GE(mean.low, 0.5);
  EXPECT_LE(mean.high, 2);
  const Estimate same = EstimateMean({1.25, 1.25, 1.25});
  EXPECT_NEAR(same.low, 1.25, 1e-12);
  EXPECT_NEAR(same.high, 1.25, 1e-12);
}

TEST(Bootstrap, SeedsToDecideAreThoseAtWhichTheIntervalLeavesTheLimit) {
  const Estimate ratio{.value = 0.98, .low = 0.95, .high = 1.02, .sampled = true, .seeds = 4};
  // ln(1.02 / 0.98) = 0.0400 reaches over ln(1 / 0.98) = 0.0202: Student's 2.353 / sqrt(4) must fall below 0.594; at nine
  // seeds it is 1.860 / sqrt(9) = 0.620, at ten 1.834 / sqrt(10) = 0.580.
  EXPECT_EQ(SeedsToDecide(ratio, 1), 10);
  EXPECT_EQ(SeedsToDecide(ratio, 0.96), 7);
  EXPECT_EQ(SeedsToDecide(ratio, 0.98), std::nullopt) << "no number of seeds tells equals apart";
  EXPECT_EQ(SeedsToDecide({.value = 1, .low = 0, .high = 2, .sampled = true, .seeds = 4}, 1.1), std::nullopt);
  EXPECT_EQ(SeedsToDecide({.value = 1, .low = 0.5, .high = 2, .sampled = true, .seeds = 2}, 1.1),
            std::nullopt);
  EXPECT_EQ(SeedsToDecide({.value = 1, .low = 1, .high = 1}, 1.1), std::nullopt) << "rules have no seeds";
}

}  // namespace
}  // namespace stowplan::tables
