// The interval behind every comparison.
#include "agents/comparison/estimate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/testing.h"

namespace stowplan::agents {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Runtimes = std::vector<std::optional<double>>;  // [s] by seed from `first` on; none = OOM

SeededTimes Cell(bool sampled, const Runtimes& seconds, int first = 1) {
  SeededTimes cell{.sampled = sampled};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    cell.by_seed[first + static_cast<int>(i)] = seconds[i].value_or(kInfinity);
  return cell;
}
SeededTimes Rule(double seconds) {
  return Cell(false, {seconds});
}
SeededTimes Searched(const Runtimes& seconds, int first = 1) {
  return Cell(true, seconds, first);
}

enum class Is { kFaster, kOpen, kNotFaster };

// What the interval says of "faster".
Is Word(const Estimate& estimate) {
  if (IsTie(estimate) || estimate.low >= 1) return Is::kNotFaster;
  return estimate.high < 1 ? Is::kFaster : Is::kOpen;
}

TEST(Estimates, RulesAreExactAndHaveNoInterval) {
  const SeededTimes fast = Rule(1.0);
  const SeededTimes slow = Rule(2.0);
  const Estimate estimate = EstimateRatio({fast}, {slow});
  EXPECT_FALSE(estimate.sampled);
  EXPECT_EQ(estimate.value, 0.5);
  EXPECT_EQ(estimate.low, 0.5);
  EXPECT_EQ(estimate.high, 0.5);
  EXPECT_EQ(Word(estimate), Is::kFaster);
}

// exp(mean of the logarithms +- 2.92 standard errors) of 1, 1.1 and 1.2.
TEST(Estimates, OfFewSeedsTheIntervalHoldsStudents) {
  const SeededTimes three = Searched({1.2, 1.0, 1.1});
  const SeededTimes base = Rule(1.0);
  const Estimate estimate = EstimateRatio({three}, {base});
  EXPECT_EQ(estimate.value, 1.1);
  EXPECT_NEAR(estimate.low, 0.9406, 1e-4);
  EXPECT_NEAR(estimate.high, 1.2793, 1e-4);
  EXPECT_EQ(Word(estimate), Is::kOpen) << "no seed is below 1, but one may be";
  const SeededTimes near = Rule(0.9);
  EXPECT_EQ(Word(EstimateRatio({three}, {near})), Is::kNotFaster);
}

// Seeds that agree decide, however few; a rule that is faster decides whatever the seeds would find.
TEST(Estimates, SeedsThatAgreeDecide) {
  const SeededTimes three = Searched({1.0, 1.0, 1.0});
  const SeededTimes near = Rule(1.01);
  EXPECT_EQ(Word(EstimateRatio({three}, {near})), Is::kFaster);
  const SeededTimes apart = Searched({0.5, 1.0, 3.0});
  const SeededTimes fast = Rule(1.0);
  EXPECT_EQ(Word(EstimateRatio({apart}, {near})), Is::kOpen);
  EXPECT_EQ(Word(EstimateRatio({apart, fast}, {near})), Is::kFaster);
}

// A third opponent with too few seeds can only make it worse.
TEST(Estimates, WhatIsLostAgainstOneIsLostWhateverAnotherWouldFind) {
  const SeededTimes ours = Searched({2.0, 2.0, 2.0});
  const SeededTimes ahead = Searched({1.0, 1.0, 1.0});
  const SeededTimes open = Searched({3.0});
  EXPECT_EQ(Word(EstimateRatio({ours}, {ahead, open})), Is::kNotFaster);
  EXPECT_EQ(Word(EstimateRatio({ahead}, {ours, open})), Is::kOpen);
}

TEST(Estimates, ManySeedsLeaveTheExtremesOut) {
  const SeededTimes ours = Searched({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  const SeededTimes base = Rule(1.0);
  const Estimate estimate = EstimateRatio({ours}, {base});
  EXPECT_EQ(estimate.value, 7);
  // The median of 13 draws from 13 is at most k with probability P(Binomial(13, k / 13) >= 7): 1.6 % for 3 and 7.1 % for
  // 4; the other end is its mirror image.
  EXPECT_EQ(estimate.low, 4);
  EXPECT_EQ(estimate.high, 10);
}

TEST(Estimates, ComparesSeedBySeed) {
  const SeededTimes ours = Searched({0.9, 9, 90});
  const SeededTimes theirs = Searched({1, 10, 100});
  const Estimate estimate = EstimateRatio({ours}, {theirs});
  EXPECT_DOUBLE_EQ(estimate.low, 0.9);
  EXPECT_DOUBLE_EQ(estimate.high, 0.9);
}

TEST(Estimates, TheBestOfOneSideCounts) {
  const SeededTimes a = Searched({3, 3, 3});
  const SeededTimes b = Rule(2);
  const SeededTimes base = Rule(4);
  EXPECT_EQ(EstimateRatio({a, b}, {base}).high, 0.5);
}

TEST(Estimates, ASeedThatFoundNothingIsInfinitelySlow) {
  const SeededTimes ours = Searched({1.0, 1.0, 1.0});
  const SeededTimes theirs = Searched({0.5, std::nullopt, std::nullopt});
  const Estimate estimate = EstimateRatio({ours}, {theirs});
  EXPECT_EQ(estimate.value, 0) << "the median of theirs is out of memory";
  EXPECT_EQ(estimate.high, kInfinity) << "what does not fit has no logarithm";
  EXPECT_EQ(EstimateRatio({theirs}, {ours}).value, kInfinity);
  EXPECT_EQ(EstimateRatio({theirs}, {theirs}).value, 1);
}

TEST(Estimates, FewSeedsDecideNothing) {
  const SeededTimes ours = Searched({1.0, 1.0});
  const SeededTimes base = Rule(2.0);
  const Estimate estimate = EstimateRatio({ours}, {base});
  EXPECT_TRUE(estimate.open());
  EXPECT_EQ(estimate.value, 0.5);
  EXPECT_EQ(Word(estimate), Is::kOpen);
}

TEST(Estimates, SeedsThatCannotBePairedDecideNothing) {
  const SeededTimes ours = Searched({1, 1, 1});
  const SeededTimes theirs = Searched({2, 2, 2}, 11);
  EXPECT_EQ(Word(EstimateRatio({ours}, {theirs})), Is::kOpen);
}

TEST(Estimates, WhatARuleDecidesNeedsNoSeeds) {
  const SeededTimes searched = Searched({5.0});
  const SeededTimes rule = Rule(1.0);
  const SeededTimes base = Rule(2.0);
  const Estimate estimate = EstimateRatio({searched, rule}, {base});
  EXPECT_EQ(estimate.high, 0.5);
  EXPECT_EQ(Word(estimate), Is::kFaster);
}

RC_GTEST_PROP(Estimates, IsRepeatableAndScales, ()) {
  const bool few = *rc::gen::arbitrary<bool>();
  const auto values = *rc::gen::container<std::vector<int>>(few ? 6 : 12, rc::gen::inRange(1, 1000));
  Runtimes seconds(values.begin(), values.end());
  Runtimes doubled;
  for (const auto& second : seconds) doubled.emplace_back(2 * *second);
  const SeededTimes ours = Searched(seconds);
  const SeededTimes twice = Searched(doubled);
  const SeededTimes base = Rule(1.0);
  const Estimate once = EstimateRatio({ours}, {base});
  const Estimate scaled = EstimateRatio({twice}, {base});
  RC_ASSERT(once.low <= once.value);
  RC_ASSERT(once.value <= once.high);
  if (!few) {
    RC_ASSERT(scaled.low == 2 * once.low);
    RC_ASSERT(scaled.high == 2 * once.high);
  }
  RC_ASSERT(std::abs(scaled.low / once.low - 2) < 1e-12);  // logarithms round
  RC_ASSERT(std::abs(scaled.high / once.high - 2) < 1e-12);
}

// Each pair alone would leave it open; over four pairs errors of single seeds cancel.
TEST(Estimates, MeanOverPairsIsSurerThanEachPair) {
  const std::vector<SeededTimes> ours = {Searched({0.8, 1.1, 0.9}), Searched({1.1, 0.9, 0.8}),
                                         Searched({0.9, 0.8, 1.1}), Searched({0.9, 0.9, 0.9})};
  const SeededTimes base = Rule(1.0);
  TimesPairs pairs;
  for (const SeededTimes& cell : ours) {
    pairs.emplace_back(cell, base);
    if (&cell == &ours.back()) continue;
    EXPECT_EQ(Word(EstimateRatio({cell}, {base})), Is::kOpen);
  }
  const Estimate mean = EstimateMeanRatio(pairs, false);
  EXPECT_NEAR(mean.value, 0.9, 1e-12);
  EXPECT_EQ(Word(mean), Is::kFaster);
}

TEST(Estimates, MeanOverPairsDrawnFromMoreHoldsTheIntervalOverThem) {
  const SeededTimes fast = Searched({0.5, 0.5, 0.5});
  const SeededTimes slow = Searched({1.2, 1.2, 1.2});
  const SeededTimes base = Rule(1.0);
  const TimesPairs pairs = {{fast, base}, {slow, base}, {slow, base}, {slow, base}};
  EXPECT_EQ(Word(EstimateMeanRatio(pairs, false)), Is::kFaster);
  EXPECT_EQ(Word(EstimateMeanRatio(pairs, true)), Is::kOpen);
}

TEST(Estimates, MeanOverPairsOfRulesIsExactAndUnpairedSeedsHaveNone) {
  const SeededTimes one = Rule(1.0), two = Rule(2.0);
  const Estimate exact = EstimateMeanRatio({{one, two}}, false);
  EXPECT_EQ(exact.value, 0.5);
  EXPECT_EQ(exact.high, 0.5);
  const SeededTimes first = Searched({1, 1, 1}), others = Searched({1, 1, 1}, 11);
  EXPECT_TRUE(EstimateMeanRatio({{first, two}, {others, two}}, false).unpaired());
}

// One seed of ours and another of theirs do not fit: nothing is decided, and nothing is not a number.
TEST(Estimates, MeanOverPairsWithSeedsThatDoNotFit) {
  const SeededTimes some = Searched({0.1, 0.1, std::nullopt});
  const SeededTimes base = Searched({1.0, std::nullopt, 1.0});
  const SeededTimes rule = Rule(1.0);
  const Estimate mean = EstimateMeanRatio({{some, rule}, {rule, base}}, false);
  EXPECT_NEAR(mean.value, std::sqrt(0.1), 1e-12);
  EXPECT_EQ(mean.low, 0);
  EXPECT_EQ(mean.high, kInfinity);
}

TEST(Estimates, MeanOverGraphsIsGeometricAndItsIntervalHoldsIt) {
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

TEST(Estimates, SeedsToDecideAreThoseAtWhichTheIntervalLeavesTheLimit) {
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
}  // namespace stowplan::agents
