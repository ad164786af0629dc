#include "agents/rl/rewards.h"

#include "tests/agents/rl/test_task.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

const std::vector<bool> kAll4(4, true);

TEST(RewardOf, RootAndShaped) {
  const auto made = MakeTestTask({{100, 0, {}}}, 2, 1000);
  made->task.reference_runtime = 4'000'000'000'000;  // 4 s
  Evaluation evaluation;
  evaluation.runtime = 9'000'000'000'000;
  evaluation.peak = {1500, 500};
  EXPECT_DOUBLE_EQ(RewardOf(Reward::kRoot, made->task, evaluation), -3);
  EXPECT_DOUBLE_EQ(RewardOf(Reward::kShaped, made->task, evaluation), -1.5);
  evaluation.feasible = false;
  EXPECT_DOUBLE_EQ(RewardOf(Reward::kRoot, made->task, evaluation), -10);
  // -sqrt(9 / 4) - 1 - (1500 / 1000 - 1); the second device is not over its capacity.
  EXPECT_DOUBLE_EQ(RewardOf(Reward::kShaped, made->task, evaluation), -3);
}

TEST(BatchBaseline, LeaveOneOut) {
  BatchBaseline baseline(Baseline::kLeaveOneOut, 0.9);
  // 1 - (2 + 6) / 2, 2 - (1 + 6) / 2, 6 - (1 + 2) / 2; the third does not count.
  EXPECT_EQ(baseline.Advantages({1, 2, 100, 6}, {true, true, false, true}),
            (std::vector<double>{-3, -1.5, 0, 4.5}));
  EXPECT_EQ(baseline.Advantages({1, 2}, {true, false}), (std::vector<double>{0, 0}));
}

TEST(BatchBaseline, AveragesAreThoseBeforeTheBatch) {
  BatchBaseline average(Baseline::kMovingAverage, 0.9), failing(Baseline::kFromFailing, 0.9),
      mean(Baseline::kRunningMean, 0.9);
  EXPECT_EQ(average.Advantages({-1, -3}, {true, true}), (std::vector<double>{1, -1}));
  EXPECT_EQ(mean.Advantages({-1, -3}, {true, true}), (std::vector<double>{1, -1}));
  EXPECT_EQ(failing.Advantages({-1, -3}, {true, true}), (std::vector<double>{9, 7}));
  // -2; 0.9 x -10 + 0.1 x -2 = -9.2; -2.
  EXPECT_EQ(average.Advantages({-2, -4}, {true, true}), (std::vector<double>{0, -2}));
  EXPECT_DOUBLE_EQ(failing.Advantages({-2}, {true})[0], 7.2);
  EXPECT_EQ(mean.Advantages({-8}, {true}), (std::vector<double>{-6}));
  // 0.9 x -2 + 0.1 x -3 = -2.1; the mean of -1, -3 and -8 is -4.
  EXPECT_DOUBLE_EQ(average.Advantages({0}, {true})[0], 2.1);
  EXPECT_DOUBLE_EQ(mean.Advantages({0}, {true})[0], 4);
  EXPECT_EQ(mean.Advantages({5}, {false}), (std::vector<double>{0}));
}

TEST(BatchBaseline, GoesOnWhereItStood) {
  BatchBaseline baseline(Baseline::kMovingAverage, 0.5), restored(Baseline::kMovingAverage, 0.5);
  baseline.Advantages({4, 8}, {true, true});
  StateWriter out;
  baseline.Save(out);
  const std::string bytes = out.Take();
  StateReader in(bytes, "baseline");
  restored.Load(in);
  in.Finish();
  EXPECT_EQ(restored.Advantages({7}, {true}), (std::vector<double>{1}));
}

TEST(Standardise, DividesByTheDeviationOfThoseThatCount) {
  std::vector<double> advantages = {3, -1, 0, 1};
  Standardise(advantages, {true, true, false, true});
  // mean 1, deviations 2, -2, 0: variance 8 / 3.
  EXPECT_DOUBLE_EQ(advantages[0], 3 / std::sqrt(8.0 / 3));
  std::vector<double> equal = {2e-6, 2e-6, 2e-6, 2e-6};
  Standardise(equal, kAll4);
  EXPECT_NEAR(equal[0], 2e-3, 1e-15);
}

}  // namespace
}  // namespace stowplan::agents::rl
