// The interval behind every claim, and the words that follow from it.
#include "bench/tables/bootstrap.h"

#include <limits>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "bench/tables/claims.h"
#include "tests/bench/tiny_table.h"

namespace berth::bench {
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

ClaimWord FasterThanOne(double ratio) {
  return ratio < 1 ? ClaimWord::kHolds : ClaimWord::kDoesNotHold;
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
  EXPECT_EQ(Judge(estimate, FasterThanOne), ClaimWord::kHolds);
}

// A rule that is faster decides whatever the seeds would find.
TEST(Bootstrap, FewSeedsDecideNoSmallDifference) {
  const CellSummary three = Searched({1.0, 1.0, 1.0});
  const CellSummary ten = Searched(Runtimes(10, 1.0));
  const CellSummary near = Rule(1.2);
  const CellSummary far = Rule(1.4);
  EXPECT_EQ(Judge(EstimateRatio({&three}, {&near}), FasterThanOne), ClaimWord::kUndecided);
  EXPECT_EQ(Judge(EstimateRatio({&three}, {&far}), FasterThanOne), ClaimWord::kHolds);
  EXPECT_EQ(Judge(EstimateRatio({&ten}, {&near}), FasterThanOne), ClaimWord::kHolds);
  const CellSummary fast = Rule(1.1);
  EXPECT_EQ(Judge(EstimateRatio({&three, &fast}, {&near}), FasterThanOne), ClaimWord::kHolds);
}

// A third opponent with too few seeds can only make it worse.
TEST(Bootstrap, WhatIsLostAgainstOneIsLostWhateverAnotherWouldFind) {
  const CellSummary ours = Searched({2.0, 2.0, 2.0});
  const CellSummary ahead = Searched({1.0, 1.0, 1.0});
  const CellSummary open = Searched({3.0});
  EXPECT_EQ(Judge(EstimateRatio({&ours}, {&ahead, &open}), FasterThanOne), ClaimWord::kDoesNotHold);
  EXPECT_EQ(Judge(EstimateRatio({&ahead}, {&ours, &open}), FasterThanOne), ClaimWord::kUndecided);
}

// The median of three draws from three is the smallest with probability 3 * (1/9) * (2/3) + 1/27 = 26 %, so
// both ends of a 90 % interval are the extremes.
TEST(Bootstrap, ThreeSeedsReachToTheirExtremes) {
  const CellSummary ours = Searched({1.4, 1.0, 1.2});
  const CellSummary base = Rule(2.0);
  const Estimate estimate = EstimateRatio({&ours}, {&base});
  EXPECT_EQ(estimate.value, 0.6);
  EXPECT_EQ(estimate.low, 0.5);
  EXPECT_EQ(estimate.high, 0.7);
  EXPECT_EQ(IntervalText(estimate, 2), " [1.00, 1.40], 3 seeds");
}

TEST(Bootstrap, ManySeedsLeaveTheExtremesOut) {
  const CellSummary ours = Searched({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const CellSummary base = Rule(1.0);
  const Estimate estimate = EstimateRatio({&ours}, {&base});
  EXPECT_EQ(estimate.value, 5);
  // The median of nine draws from nine is at most k with probability P(Binomial(9, k / 9) >= 5): 2.9 % for 2
  // and 14.5 % for 3; the other end is its mirror image.
  EXPECT_EQ(estimate.low, 3);
  EXPECT_EQ(estimate.high, 7);
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
  EXPECT_EQ(estimate.high, 2) << "they may as well have been lucky twice";
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
  EXPECT_EQ(Judge(estimate, FasterThanOne), ClaimWord::kUndecided);
}

TEST(Bootstrap, SeedsThatCannotBePairedDecideNothing) {
  const CellSummary ours = Searched({1, 1, 1});
  const CellSummary theirs = Searched({2, 2, 2}, 11);
  EXPECT_EQ(Judge(EstimateRatio({&ours}, {&theirs}), FasterThanOne), ClaimWord::kUndecided);
}

TEST(Bootstrap, WhatARuleDecidesNeedsNoSeeds) {
  const CellSummary searched = Searched({5.0});
  const CellSummary rule = Rule(1.0);
  const CellSummary base = Rule(2.0);
  const Estimate estimate = EstimateRatio({&searched, &rule}, {&base});
  EXPECT_EQ(estimate.high, 0.5);
  EXPECT_EQ(Judge(estimate, FasterThanOne), ClaimWord::kHolds);
}

RC_GTEST_PROP(Bootstrap, IsRepeatableAndScales, ()) {
  const auto values = *rc::gen::container<std::vector<int>>(6, rc::gen::inRange(1, 1000));
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
  RC_ASSERT(scaled.low == 2 * once.low);
  RC_ASSERT(scaled.high == 2 * once.high);
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
            "rows won 1, undecided 0, not won 0; Placeto / best random: nmt_2 0.550 [0.500, 0.600], 3 seeds");
  EXPECT_EQ(AgainstRandom(OneRow({2.7, 2.7, 2.8}, {2, 2, 2})).word, ClaimWord::kDoesNotHold)
      << "better than blocks is not better than random";
}

TEST(LearnerAgainstRandom, ATieIsNoWin) {
  EXPECT_EQ(AgainstRandom(OneRow(Runtimes(10, 2), Runtimes(10, 2))).word, ClaimWord::kDoesNotHold);
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

}  // namespace
}  // namespace berth::bench
