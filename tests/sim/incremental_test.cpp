// Incremental = from scratch = batch, to the last bit, over sequences of trials and commits.
#include "sim/incremental.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/incremental_search.h"
#include "tests/sim/random_case.h"
#include "tests/sim/world.h"

namespace berth::sim {
namespace {

void ExpectEqualSearches(std::uint64_t seed, const CaseShape& shape, Rules rules) {
  RandomCase c = MakeRandomCase(seed, shape);
  c.cluster.rules = rules;
  Dice dice(seed);
  RC_ASSERT(DifferenceOfSearch(c, 20, dice) == "");
}

void ExpectEqualNativeSearches(const std::string& interconnect) {
  for (const int max_ops : {60, 300}) {
    CaseShape shape{.max_ops = max_ops};
    shape.interconnect = interconnect;
    ExpectEqualSearches(*rc::gen::arbitrary<std::uint64_t>(), shape, Rules::kNative);
  }
}

RC_GTEST_PROP(Incremental, IdealEqualsFromScratch, ()) {
  ExpectEqualNativeSearches("ideal");
}

RC_GTEST_PROP(Incremental, FifoEqualsFromScratch, ()) {
  ExpectEqualNativeSearches("fifo");
}

RC_GTEST_PROP(Incremental, FairEqualsFromScratch, ()) {
  ExpectEqualNativeSearches("fair");
}

// Threads that issue from a list: the graph's, or that of the placement.
RC_GTEST_PROP(Incremental, ListsEqualFromScratch, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const bool own : {false, true}) {
    RandomCase c = MakeRandomCase(seed, {.max_ops = 200});
    c.cluster.rules = Rules::kNative;
    c.cluster.dispatch.order = own ? Dispatch::Order::kReady : Dispatch::Order::kProgram;
    c.placement.priority.clear();
    c.placement.order = own ? c.graph.topological_order() : std::vector<OpIndex>{};
    Dice dice(seed);
    RC_ASSERT(DifferenceOfSearch(c, 20, dice) == "");
  }
}

RC_GTEST_PROP(Incremental, PublishedEqualsFromScratch, ()) {
  for (int i = 0; i < 10; ++i) {
    ExpectEqualSearches(*rc::gen::arbitrary<std::uint64_t>(), {}, Rules::kPublished);
  }
}

RC_GTEST_PROP(Incremental, PublishedEqualsFromScratchOnLargerGraphs, ()) {
  ExpectEqualSearches(*rc::gen::arbitrary<std::uint64_t>(), {.max_ops = 400}, Rules::kPublished);
}

// Many trials in one batch, and one after the other from one base.
TEST(Incremental, EqualsBatch) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    c.cluster.rules = seed % 2 == 0 ? Rules::kPublished : Rules::kNative;
    const Problem problem(c.graph, c.cluster, c.costs);
    std::vector<std::vector<Move>> trials(20);
    std::vector<Placement> moved(trials.size(), c.placement);
    Dice dice(seed);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      AddMove(trials[i], c.graph, c.cluster, dice);
      for (const Move& move : trials[i]) moved[i].device[static_cast<std::size_t>(move.op)] = move.device;
    }
    const std::vector<Outcome> batch = BatchSimulator(problem, 2).Run(moved);
    const auto incremental = MakeIncrementalSimulator(problem);
    incremental->Base(c.placement);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      ASSERT_EQ("", FirstDifference(batch[i], incremental->RunTrial(trials[i]), c.graph, c.cluster))
          << PrintCase(c);
    }
  }
}

// gpu0 has a and then c, gpu1 has b; c reads both. Costs 10.5, 3 and 2 us, with pauses of 5.7 and 25. b ends at
// 3 and its sending of 76 kB, 10 us long, at 13, so c starts when a and its pause are over, at 16.2, and the
// last pause ends at 23.9, before the channel is free at 38. With b on gpu0 behind a, b starts at 16.2 and ends
// at 19.2; c starts at 24.9; all is over at 32.6.
TEST(Incremental, AWorkedCase) {
  TwoGpus world;
  world.cluster.rules = Rules::kPublished;
  const OpIndex a = world.Add(0, 10.5, {1000});
  const OpIndex b = world.Add(1, 3, {76'000});
  world.Add(0, 2, {}, {{a, 0}, {b, 0}});
  world.Run();
  const Problem problem(world.graph, world.cluster, world.costs());
  const auto incremental = MakeIncrementalSimulator(problem);
  EXPECT_TRUE(incremental->replays());
  EXPECT_EQ(incremental->Base(world.placement).runtime, 38 * kUs);
  const std::vector<Move> moves = {{b, 0}};
  EXPECT_EQ(incremental->RunTrial(moves).runtime, FromMicros(32.6));
  EXPECT_EQ(incremental->RunTrial({}).runtime, 38 * kUs) << "a trial leaves the base as it was";
  EXPECT_TRUE(incremental->RunTrial(moves, {RunOptions::Record::kNothing, FromMicros(19.1)}).stopped);
  EXPECT_EQ(incremental->RunTrial(moves, {RunOptions::Record::kNothing, FromMicros(19.1)}).runtime,
            FromMicros(19.2));
  incremental->Commit();
  EXPECT_EQ(incremental->base().device[static_cast<std::size_t>(b)], 0);
  EXPECT_EQ(incremental->RunTrial({}).runtime, FromMicros(32.6));
}

}  // namespace
}  // namespace berth::sim
