// What recordings of steps say, and what is measured again, with a device whose disturbances are made up.
#include "profiler/step_recording.h"

#include "tests/profiler/readers.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

// Placements that had so many undisturbed steps; measured again, each has `gain` more than it had at first.
class Again {
 public:
  Again(std::vector<int> undisturbed, int gain) : gain_(gain) {
    for (const int steps : undisturbed) placements_.push_back(Measured(steps));
  }
  // at_most: what may be measured again before there is no more time.
  std::vector<int> Run(int wanted, std::size_t at_most = 100) {
    const std::vector<MeasuredPlacement> first = placements_;
    MeasureDisturbedAgain(
        [&](std::size_t number) -> std::optional<MeasuredPlacement> {
          if (order_.size() == at_most) return std::nullopt;
          order_.push_back(number);
          return Measured(first[number].undisturbed + gain_ * ++tries_[number]);
        },
        wanted, &placements_);
    std::vector<int> undisturbed;
    for (const MeasuredPlacement& placement : placements_) undisturbed.push_back(placement.undisturbed);
    return undisturbed;
  }
  const std::vector<std::size_t>& order() const { return order_; }
  MeasuredPlacement& at(std::size_t number) { return placements_[number]; }

 private:
  static MeasuredPlacement Measured(int undisturbed) {
    MeasuredPlacement made;
    made.undisturbed = undisturbed;
    return made;
  }
  int gain_;
  std::vector<MeasuredPlacement> placements_;
  std::map<std::size_t, int> tries_;
  std::vector<std::size_t> order_;
};

TEST(MeasureDisturbedAgain, TakesTheDisturbedOnesInTurnsAndUpToTwice) {
  Again some({30, 2, 9, 10}, 3);
  EXPECT_THAT(some.Run(30), ElementsAre(30, 8, 12, 10));
  EXPECT_THAT(some.order(), ElementsAre(1, 2, 1));  // 2 had enough after one more trial
}

TEST(MeasureDisturbedAgain, KeepsTheBetterTrial) {
  Again worse({30, 5}, -2);
  EXPECT_THAT(worse.Run(30), ElementsAre(30, 5));
  EXPECT_THAT(worse.order(), ElementsAre(1, 1));
}

// Then it is the workload that changes the pace, as Inception does, and another trial is as bad.
TEST(MeasureDisturbedAgain, LeavesAWorkloadAloneOfWhichAllIsDisturbed) {
  Again all({0, 3, 9}, 30);
  EXPECT_THAT(all.Run(30), ElementsAre(0, 3, 9));
  EXPECT_THAT(all.order(), IsEmpty());
}

TEST(MeasureDisturbedAgain, FewStepsAreEnoughWhereFewWereWanted) {
  Again few({3, 4}, 1);
  EXPECT_THAT(few.Run(3), ElementsAre(3, 4));
  EXPECT_THAT(few.order(), IsEmpty());
}

TEST(MeasureDisturbedAgain, WhatRanOutOfMemoryIsNotTriedAgain) {
  Again full({30, 0, 1}, 20);
  full.at(1).oom.emplace();
  EXPECT_THAT(full.Run(30), ElementsAre(30, 0, 21));
}

TEST(MeasureDisturbedAgain, EndsWhereTheMeasurementSaysSo) {
  Again cut({30, 1, 1, 1}, 20);
  EXPECT_THAT(cut.Run(30, 2), ElementsAre(30, 21, 21, 1));
}

TEST(StepRecordingTest, PrintsWhatItReads) {
  const StepRecording recording = ParseStepRecordingOfTwo(SampleStepRecording(), "the sample");
  EXPECT_EQ(PrintStepRecording(recording), SampleStepRecording());
  EXPECT_TRUE(recording.placements[1].exhausted);
  EXPECT_EQ(recording.placements[0].traced->ops[0].enqueuing_ns, 0);
  EXPECT_EQ(recording.placements[0].traced->ops[1].enqueuing_ns, 4000);
  EXPECT_EQ(recording.clocks[1].before, 2);
}

TEST(StepRecordingTest, AnOpIsNotEnqueuedForLongerThanItsSpan) {
  std::string text(SampleStepRecording());
  text.replace(text.find(",4000]"), 6, ",100001]");
  EXPECT_THAT(tests::ErrorOf([&] { ParseStepRecordingOfTwo(text, "the sample"); }),
              HasSubstr("a part of the span"));
}

TEST(TimeBudgetTest, IsSpentWhenItsClockSaysSo) {
  double now = 1000;
  const TimeBudget budget(5, [&now] { return now; });
  EXPECT_FALSE(budget.Spent());
  now = 1004.9;
  EXPECT_FALSE(budget.Spent());
  now = 1005;
  EXPECT_TRUE(budget.Spent());
  EXPECT_TRUE(TimeBudget(0, [&now] { return now; }).Spent());  // nothing is measured again
}

}  // namespace
}  // namespace stowplan::profiler
