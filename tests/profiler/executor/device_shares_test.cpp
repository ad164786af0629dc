#include "profiler/executor/device_shares.h"

#include "profiler/executor/rings.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

TEST(DeviceSharesTest, SharesAreRoundedDownToGroupsAndNeverNothing) {
  EXPECT_THAT(GroupsOfShares({0.5, 0.5}, 16), ElementsAre(8, 8));
  EXPECT_THAT(GroupsOfShares({0.3, 0.7}, 10), ElementsAre(3, 7));
  EXPECT_THAT(GroupsOfShares({0.5, 0.25}, 7), ElementsAre(3, 1));
  EXPECT_THAT(GroupsOfShares({0.01, 0.5}, 8), ElementsAre(1, 4));
  EXPECT_THROW(GroupsOfShares({0.5, 0.5, 0.01}, 8), InputError);
}

TEST(DeviceSharesTest, TheTightestBracketIsTheOneThatNothingDelayed) {
  EXPECT_EQ(TightestOf({{100, 150}, {200, 206}, {300, 350}}), 1U);
  EXPECT_EQ(TightestOf({{100, 106}, {200, 206}}), 0U);
  EXPECT_EQ((Bracket{200, 206}.middle()), 203);
}

TEST(PollIntervalTest, AsksLessOftenTheLongerNothingHappens) {
  PollInterval interval;
  std::int64_t now = 1'000'000, last = 0;
  EXPECT_TRUE(interval.Due(now));
  for (int i = 0; i < 10; ++i) {
    interval.FoundNothing(now);
    EXPECT_FALSE(interval.Due(now));
    std::int64_t wait = 1;
    while (!interval.Due(now + wait)) ++wait;
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, 4000);  // no end is seen later than this
    last = wait;
    now += wait;
  }
  EXPECT_EQ(last, 4000);
  interval.Found();
  EXPECT_TRUE(interval.Due(now));
}

}  // namespace
}  // namespace stowplan::profiler
