// A run that is given up early says no more than that it takes longer than the cutoff, and never when it does not.
#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/random_case.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

void CheckCases(Rules rules, const CaseShape& shape) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    RandomCase c = MakeRandomCase(seed, shape);
    c.cluster.rules = rules;
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    const Outcome full = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
    ASSERT_EQ("", DifferenceOfCutoffs(*simulator, c, full)) << PrintCase(c);
  }
}

TEST(Cutoff, GivesUpWhatTakesLongerAndNothingElseNatively) {
  CheckCases(Rules::kNative, {});
  CheckCases(Rules::kNative, {.solo = true});
}

TEST(Cutoff, GivesUpWhatTakesLongerAndNothingElseUnderThePublishedRules) {
  CheckCases(Rules::kPublished, {});
}

// Work of 30 us on one device, of which none has begun when that is known.
TEST(Cutoff, ADeviceWithTooMuchWorkIsKnownBeforeTheRun) {
  TwoGpus world;
  for (int i = 0; i < 3; ++i) world.Add(0, 10);
  const Outcome stopped = world.Run({RunOptions::Record::kNothing, 29 * kUs});
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.runtime, 29 * kUs + 1);
  EXPECT_TRUE(stopped.feasible());
  EXPECT_FALSE(world.Run({RunOptions::Record::kNothing, 30 * kUs}).stopped);
}

}  // namespace
}  // namespace stowplan::sim
