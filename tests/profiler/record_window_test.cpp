#include "profiler/traces/record_window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using Unit = WindowEdge::Unit;

class Window {
 public:
  Window(const char* after, const char* length)
      : window_(ParseWindowEdge("--after", after), ParseWindowEdge("--for", length),
                [this](bool opens) { changes_.push_back(opens); }) {
    window_.Begin();
  }
  RecordWindow* operator->() { return &window_; }
  const std::vector<bool>& changes() const { return changes_; }
  bool open() const { return !changes_.empty() && changes_.back(); }

 private:
  std::vector<bool> changes_;  // before window_, which changes it at once
  RecordWindow window_;
};

TEST(RecordWindow, EdgesAreLaunchesSecondsOrRanges) {
  EXPECT_EQ(ParseWindowEdge("--after", "").unit, Unit::kNone);
  EXPECT_EQ(ParseWindowEdge("--after", "1000").launches, 1000);
  EXPECT_EQ(ParseWindowEdge("--after", "2.5s").seconds, 2.5);
  EXPECT_EQ(ParseWindowEdge("--after", "0.001s").seconds, 0.001);
  EXPECT_EQ(ParseWindowEdge("--after", "step").range, "step");
  EXPECT_EQ(ParseWindowEdge("--after", "range:5s").range, "5s");
  EXPECT_EQ(ParseWindowEdge("--after", "ProfilerStep#3").range, "ProfilerStep#3");
}

// Against counting by hand: of n launches those behind the first `after`, `length` of them.
RC_GTEST_PROP(RecordWindow, OfLaunchesHoldsThoseThatWereAskedFor, ()) {
  const int after = *rc::gen::inRange(1, 20), length = *rc::gen::inRange(1, 20),
            launches = *rc::gen::inRange(0, 60);
  Window window(std::to_string(after).c_str(), std::to_string(length).c_str());
  for (int launch = 1; launch <= launches; ++launch) {
    RC_ASSERT(window.open() == (launch > after && launch <= after + length));
    window->Launched(0);
  }
  RC_ASSERT(window->LaunchesWithin() == std::clamp(launches - after, 0, length));
  RC_ASSERT(window->closed() == (launches >= after + length));
}

TEST(RecordWindow, WithoutEdgesIsOpenToTheEnd) {
  Window window("", "");
  for (int i = 0; i < 5; ++i) window->Launched(i);
  EXPECT_EQ(window.changes(), std::vector<bool>{true});
  EXPECT_EQ(window->LaunchesWithin(), 5);
  EXPECT_EQ(window->NextTime(), std::nullopt);
  EXPECT_FALSE(window->AsksRanges());
}

TEST(RecordWindow, OfSecondsAsksForTheTimesOfItsEdges) {
  Window window("2s", "3s");
  EXPECT_EQ(window->NextTime(), 2);
  window->At(1.9);
  EXPECT_FALSE(window.open());
  window->At(2.5);
  EXPECT_TRUE(window.open());
  EXPECT_EQ(window->NextTime(), 5.5);
  window->At(5.4);
  EXPECT_TRUE(window.open());
  window->At(5.5);
  EXPECT_EQ(window.changes(), (std::vector<bool>{true, false}));
  EXPECT_EQ(window->NextTime(), std::nullopt);
}

TEST(RecordWindow, OfARangeClosesWithTheOutermost) {
  Window window("", "step");
  EXPECT_TRUE(window->AsksRanges());
  window->RangeEnded("step", 0);  // of one that began before
  window->RangeBegan("other", 0);
  EXPECT_FALSE(window.open());
  window->RangeBegan("step", 0);
  window->RangeBegan("step", 0);
  window->RangeEnded("step", 0);
  window->RangeEnded("other", 0);
  EXPECT_TRUE(window.open());
  window->RangeEnded("step", 0);
  window->RangeBegan("step", 0);
  EXPECT_EQ(window.changes(), (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace stowplan::profiler
