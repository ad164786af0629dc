#include "sim/base/statistics.h"

#include "tests/testing.h"

namespace stowplan {
namespace {

TEST(StatisticsTest, QuantilesAreLinearBetweenOrderStatistics) {
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 1}, 0.5), 2.5);
  EXPECT_EQ(Quantile({0, 10, 20, 30, 40}, 0.95), 38);
  EXPECT_EQ(Quantile({7}, 0.05), 7);
}

TEST(StatisticsTest, SpreadIsTheMedianDeviationOverTheMedian) {
  EXPECT_DOUBLE_EQ(Spread({8, 10, 10, 13}), 0.1);      // deviations 2, 0, 0, 3
  EXPECT_DOUBLE_EQ(Spread({-8, -10, -10, -13}), 0.1);  // noise about 0 may have a median below it
  EXPECT_EQ(Spread({0, 0}), 0);
}

TEST(StatisticsTest, TauCountsPairsThatAreFarEnoughApart) {
  const std::vector<double> measured = {10, 20, 30, 31};
  EXPECT_EQ(KendallTauB(measured, {1, 2, 3, 4}, {0, 0, 0, 0}).tau_b, 1);
  EXPECT_EQ(KendallTauB(measured, {4, 3, 2, 1}, {0, 0, 0, 0}).tau_b, -1);
  // 30 and 31 are the same within 2: the pair that is wrong does not count.
  const RankCorrelation apart = KendallTauB(measured, {1, 2, 4, 3}, {0, 0, 2, 0});
  EXPECT_EQ(apart.tau_b, 1);
  EXPECT_EQ(apart.pairs, 5);
  // 5 concordant and 1 tied of 6: 5 / sqrt(5 · 6).
  EXPECT_THAT(KendallTauB(measured, {1, 2, 3, 3}, {0, 0, 0, 0}).tau_b, DoubleNear(0.912871, 1e-6));
  EXPECT_EQ(KendallTauB(measured, {1, 1, 1, 1}, {0, 0, 0, 0}).tau_b, 0);
}

// Of the six pairs the second half has one the other way: (5 - 1) / 6; a true order reaches the root of it.
TEST(StatisticsTest, TauOfAllPairsCountsTiesOfEitherSide) {
  EXPECT_EQ(KendallTauB({1, 2, 3, 4}, {10, 20, 30, 40}).tau_b, 1);
  EXPECT_EQ(KendallTauB({1, 2, 3, 4}, {4, 3, 2, 1}).tau_b, -1);
  EXPECT_EQ(KendallTauB({1, 2, 3, 4}, {1, 2, 4, 3}).tau_b, 2.0 / 3);  // five pairs of six
  EXPECT_THAT(KendallTauB({1, 1, 2}, {1, 2, 3}).tau_b, DoubleNear(0.816497, 1e-6));
  EXPECT_EQ(KendallTauB({1, 1, 1}, {1, 2, 3}).tau_b, 0);
}

TEST(StatisticsTest, TheCeilingIsWhatTwoHalvesLeaveOfTheTruth) {
  const std::vector<double> first = {10, 20, 30, 31}, second = {10, 20, 31, 30},
                            measured = {10, 20, 30.4, 30.6};
  const double between = KendallTauB(first, second, measured, {0, 0, 0, 0}).tau_b;
  EXPECT_DOUBLE_EQ(between, 4.0 / 6);
  EXPECT_DOUBLE_EQ(TauCeiling(between), std::sqrt(4.0 / 6));
  EXPECT_EQ(KendallTauB(first, second, measured, {0, 0, 1, 0}).tau_b, 1);  // too close to count
  EXPECT_EQ(TauCeiling(-0.2), 0);
}

}  // namespace
}  // namespace stowplan
