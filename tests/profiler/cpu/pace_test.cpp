// The share of a time that known work takes at a pace.
#include "profiler/cpu/pace.h"

#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

TEST(Pace, ShareIsTheTimeThatTheProductsTakeAtIt) {
  const Pace pace{.ns = 1000};
  EXPECT_EQ(ShareAtPace(6, pace, 6000), 1);
  EXPECT_EQ(ShareAtPace(6, pace, 8000), 0.75);
  EXPECT_EQ(ShareAtPace(6, pace, 12000), 0.5);
  EXPECT_EQ(ShareAtPace(0, pace, 12000), 0);
}

// Faster than the pace is quiet, no more.
TEST(Pace, ShareIsAtMostOne) {
  EXPECT_EQ(ShareAtPace(12, {.ns = 1000}, 6000), 1);
}

}  // namespace
}  // namespace stowplan::profiler
