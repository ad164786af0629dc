#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/formats/worked_case.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

// The control dependency is a light transfer: only the latency, so it arrives at 15.
TEST(Timeline, OneEventALine) {
  const WorkedCase worked;
  EXPECT_EQ(PrintTimeline(worked.Run(), *worked.problem, worked.placement),
            R"(# two on pair, rules native, us
         0.000000 issue  gpu0 a
         0.000000 start  gpu0 a
         0.000000 memory gpu0 +1000192B = 1000192B, output of a
        10.000000 end    gpu0 a
        10.000000 queue  a:control gpu0 -> gpu1 0B
        10.000000 queue  a:0 gpu0 -> gpu1 1000000B
        10.000000 send   a:control gpu0 -> gpu1 0B
        10.000000 send   a:0 gpu0 -> gpu1 1000000B
        10.000000 memory gpu1 +1000192B = 1000192B, copy of a
        15.000000 arrive a:control gpu0 -> gpu1 0B
       115.000000 arrive a:0 gpu0 -> gpu1 1000000B
       115.000000 issue  gpu1 "b c"
       115.000000 start  gpu1 "b c"
       115.000000 memory gpu0 -1000192B = 0B, output of a
       115.000000 memory gpu1 +512B = 1000704B, output of "b c"
       125.000000 end    gpu1 "b c"
       125.000000 memory gpu1 -1000192B = 512B, copy of a
       125.000000 memory gpu1 -512B = 0B, output of "b c"
       125.000000 the run ends
# gpu0: busy 10 us, peak 1000192B of 1073741824B
# gpu1: busy 10 us, peak 1000704B of 1073741824B
)");
}

TEST(Timeline, SaysWhatDidNotFit) {
  const WorkedCase worked("", "1MB");
  const std::string text = PrintTimeline(worked.Run(), *worked.problem, worked.placement);
  EXPECT_TRUE(text.ends_with("# out of memory on gpu0 at 0 us: output of a, 1000192B of 1000000B\n")) << text;
}

// The order in which an engine finds frees of one instant is its own business, and so is that of devices.
TEST(Timeline, DoesNotDependOnTheOrderOfFrees) {
  const WorkedCase worked;
  sim::Outcome outcome = worked.Run();
  const std::string expected = PrintTimeline(outcome, *worked.problem, worked.placement);
  auto& points = outcome.memory;
  ASSERT_EQ(points.size(), 7u);
  std::swap(points[2], points[3]);  // at 115: gpu0 frees, gpu1 allocates
  std::swap(points[4], points[6]);  // at 125: the frees of gpu1, live bytes as they then are
  sim::Bytes live = 1000704;
  for (std::size_t i = 4; i < 7; ++i) points[i].live = live += points[i].change;
  EXPECT_EQ(PrintTimeline(outcome, *worked.problem, worked.placement), expected);
}

// An op that takes no time ends right behind its start.
TEST(Timeline, WhatTakesNoTimeEndsBehindItsStart) {
  const WorkedCase worked;
  sim::Outcome outcome = worked.Run();
  outcome.ops[0] = {0, 3'000'000, 3'000'000};
  const std::string text = PrintTimeline(outcome, *worked.problem, worked.placement);
  EXPECT_NE(text.find("         3.000000 start  gpu0 a\n         3.000000 end    gpu0 a\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace stowplan::formats
