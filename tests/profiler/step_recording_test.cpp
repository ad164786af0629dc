#include "profiler/step_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.h"
#include "tests/profiler/readers.h"

namespace berth::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  try {
    ParseStepRecordingOfTwo(text, "the sample");
    FAIL() << "it was read";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a part of the span"));
  }
}

class MeasureAgainTest : public ::testing::Test {
 protected:
  // Placements with so many undisturbed steps; measured again they have `then`, by number.
  void Measure(const std::vector<int>& undisturbed, const std::vector<int>& then, int wanted = 30) {
    placements_.clear();
    for (const int count : undisturbed) placements_.push_back({.undisturbed = count});
    MeasureDisturbedAgain(
        [&](std::size_t number) -> std::optional<MeasuredPlacement> {
          asked_.push_back(number);
          if (stop_after_ == asked_.size()) return std::nullopt;
          return MeasuredPlacement{.undisturbed = then.at(number)};
        },
        wanted, &placements_);
  }
  std::vector<int> Undisturbed() const {
    std::vector<int> counts;
    for (const MeasuredPlacement& placement : placements_) counts.push_back(placement.undisturbed);
    return counts;
  }
  std::vector<MeasuredPlacement> placements_;
  std::vector<std::size_t> asked_;
  std::size_t stop_after_ = 0;
};

TEST_F(MeasureAgainTest, WhatWasDisturbedIsTriedTwiceAndTheBetterKept) {
  Measure({30, 4, 2, 9}, {0, 20, 1, 9});
  EXPECT_THAT(Undisturbed(), ElementsAre(30, 20, 2, 9));
  EXPECT_THAT(asked_, ElementsAre(1, 2, 3, 2, 3));
}

TEST_F(MeasureAgainTest, NotWhereAllWasDisturbedNorForFewerStepsThanWereWanted) {
  Measure({1, 2}, {30, 30});
  EXPECT_THAT(asked_, IsEmpty());
  Measure({3, 3}, {30, 30}, 3);
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(MeasureAgainTest, EndsWhereNothingComes) {
  stop_after_ = 1;
  Measure({30, 1, 1}, {0, 30, 30});
  EXPECT_THAT(asked_, ElementsAre(1));
  EXPECT_THAT(Undisturbed(), ElementsAre(30, 1, 1));
}

}  // namespace
}  // namespace berth::profiler
