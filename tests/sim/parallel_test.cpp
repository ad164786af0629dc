// Many placements in parallel: the same outcomes, in the order of submission, for any number of threads.
#include "sim/base/parallel.h"

#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

class Parallel : public testing::TestWithParam<int> {};

TEST_P(Parallel, BatchEqualsOneAfterTheOther) {
  for (const Rules rules : {Rules::kNative, Rules::kPublished}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      RandomCase c = MakeRandomCase(seed);
      c.cluster.rules = rules;
      const Problem problem(c.graph, c.cluster, c.costs);
      Dice dice(seed);
      std::vector<Placement> placements;
      for (int i = 0; i < 50; ++i) placements.push_back(MakeRandomPlacement(c.graph, c.cluster, dice));
      const RunOptions options{RunOptions::Record::kTimeline, {}};
      BatchSimulator batch(problem, GetParam());
      EXPECT_EQ(batch.threads(), GetParam());
      const auto simulator = MakeSimulator(problem);
      for (int round = 0; round < 2; ++round) {
        const std::vector<Outcome> outcomes = batch.Run(placements, options);
        ASSERT_EQ(outcomes.size(), placements.size());
        for (std::size_t i = 0; i < placements.size(); ++i) {
          const Outcome& alone = simulator->Run(placements[i], options);
          ASSERT_EQ("", FirstDifference(alone, outcomes[i], c.graph, c.cluster))
              << ToString(rules) << " placement " << i << "\n"
              << PrintCase(c);
        }
      }
    }
  }
}

TEST_P(Parallel, EveryItemOnceAndSlotsAreExclusive) {
  constexpr std::size_t kItems = 1000;
  std::vector<std::atomic<int>> done(kItems), inside(static_cast<std::size_t>(GetParam()));
  std::atomic<bool> shared = false;
  ParallelFor(kItems, GetParam(), [&](std::size_t item, int slot) {
    if (++inside.at(static_cast<std::size_t>(slot)) != 1) shared = true;
    ++done[item];
    --inside[static_cast<std::size_t>(slot)];
  });
  EXPECT_FALSE(shared);
  for (const auto& times : done) EXPECT_EQ(times, 1);
}

TEST_P(Parallel, TheExceptionOfTheLowestItemIsRethrown) {
  const auto run = [&] {
    ParallelFor(100, GetParam(), [](std::size_t item, int) {
      if (item >= 40) throw std::runtime_error(std::to_string(item));
    });
  };
  try {
    run();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "40");
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 8));

}  // namespace
}  // namespace stowplan::sim
