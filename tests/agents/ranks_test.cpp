// Work that is shared by several processes: every rank is told what one process alone would have found.
#include "agents/ranks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agents/agent.h"
#include "agents/placements.h"
#include "agents/random_numbers.h"
#include "agents/shared_evaluation.h"
#include "tests/agents/problems.h"
#include "tests/agents/threaded_ranks.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using testing::ThreadedRanks;

TEST(Ranks, OneRankIsAlone) {
  Ranks& one = OneRank();
  EXPECT_TRUE(one.alone());
  EXPECT_TRUE(one.first());
  EXPECT_EQ(one.Exchange("x"), std::vector<std::string>{"x"});
  std::vector<double> values = {1, 2};
  one.Sum(values);
  EXPECT_EQ(values, (std::vector<double>{1, 2}));
  EXPECT_FALSE(IsFurtherRank());
  EXPECT_EQ(&World(), &one);  // tests are not started by mpirun
}

RC_GTEST_PROP(Ranks, SharesAreInOrderWholeAndNearlyEqual, ()) {
  const int size = *rc::gen::inRange(1, 9);
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(0, 100));
  ThreadedRanks ranks(size);
  ranks.Run([&](Ranks& rank) {
    std::size_t end = 0;
    for (int r = 0; r < size; ++r) {
      const Ranks::Share share = rank.ShareOf(count, r);
      RC_ASSERT(share.begin == end);
      const std::size_t length = share.end - share.begin;
      RC_ASSERT(length == count / static_cast<std::size_t>(size) ||
                length == count / static_cast<std::size_t>(size) + 1);
      end = share.end;
    }
    RC_ASSERT(end == count);
  });
}

TEST(Ranks, ReportsSurviveTheWire) {
  RankReport report;
  report.stop = true;
  Evaluation fits;
  fits.runtime = 42;
  fits.peak = {1, 2, 3};
  fits.start = {7};
  Evaluation fails;
  fails.feasible = false;
  fails.stopped = true;
  fails.oom = sim::OutOfMemory{1, 2, sim::OutOfMemory::What::kCopy, 3, 4, 5};
  report.evaluations = {fits, fails, Evaluation{}};
  const RankReport read = FromBytes(ToBytes(report)).value();
  EXPECT_TRUE(read.stop);
  ASSERT_EQ(read.evaluations.size(), 3u);
  EXPECT_EQ(read.evaluations[0].runtime, 42);
  EXPECT_EQ(read.evaluations[0].peak, fits.peak);
  EXPECT_EQ(read.evaluations[0].start, fits.start);
  EXPECT_FALSE(read.evaluations[1].feasible);
  ASSERT_TRUE(read.evaluations[1].oom.has_value());
  EXPECT_EQ(read.evaluations[1].oom->what, sim::OutOfMemory::What::kCopy);
  EXPECT_EQ(read.evaluations[1].oom->capacity, 5);
  EXPECT_EQ(ToBytes(read), ToBytes(report));
  const std::string whole = ToBytes(report);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(FromBytes(whole.substr(0, size))) << size;
  EXPECT_FALSE(FromBytes(whole + '\0'));
  EXPECT_FALSE(FromBytes(std::string(1, '\2') + whole.substr(1))) << "a flag that is none";
}

// More ranks than placements in a batch, and a batch that the budget cuts.
TEST(Ranks, BatchesAreWhatOneProcessFinds) {
  const auto made = RandomCase(5, {.ops = 30, .gpus = 3});
  const Task task = MakeTask(*made->problem, "colocation");
  std::vector<UnitPlacement> placements;
  Rng rng(1, "placements");
  for (int i = 0; i < 7; ++i) placements.push_back(UniformPlacement(task, rng));
  const auto run = [&](Ranks* ranks) {
    Evaluator evaluator(task, {.budget = 12, .ranks = ranks});
    RankReport all;
    for (const std::size_t count : {7u, 2u, 7u}) {
      const auto part = evaluator.EvaluateBatch(std::span(placements).first(count), true);
      all.evaluations.insert(all.evaluations.end(), part.begin(), part.end());
    }
    all.evaluations.push_back({.runtime = evaluator.best_runtime()});
    EXPECT_EQ(evaluator.samples(), 12);
    return ToBytes(all);
  };
  const std::string alone = run(nullptr);
  for (const int size : {2, 5}) {
    ThreadedRanks ranks(size);
    ranks.Run([&](Ranks& rank) { EXPECT_EQ(run(&rank), alone) << rank.rank(); });
  }
}

TEST(Ranks, OneThatIsAskedToStopStopsAllAtTheSameSample) {
  const auto made = RandomCase(5, {.ops = 30, .gpus = 2});
  const Task task = MakeTask(*made->problem, "colocation");
  ThreadedRanks ranks(3);
  std::mutex mutex;
  std::vector<std::int64_t> samples;
  ranks.Run([&](Ranks& rank) {
    std::atomic<bool> stop = false;
    Evaluator evaluator(task, {.budget = 1000, .stop = &stop, .ranks = &rank});
    evaluator.observer = [&](std::int64_t sample, const UnitPlacement&, const Evaluation&) {
      if (rank.rank() == 1 && sample == 57) stop = true;
    };
    MakeAgent("genetic")->Search(task, evaluator, {.ranks = &rank});
    const std::lock_guard<std::mutex> lock(mutex);
    samples.push_back(evaluator.samples());
  });
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0], samples[1]);
  EXPECT_EQ(samples[0], samples[2]);
  EXPECT_GE(samples[0], 57);
  EXPECT_LT(samples[0], 1000);
}

// Agents that evaluate one placement at a time do the same on every rank.
TEST(Ranks, SearchesFindTheSameWithAnyNumberOfThem) {
  const auto made = RandomCase(5, {.ops = 20, .gpus = 3});
  const Task task = MakeTask(*made->problem, "colocation");
  for (const char* agent : {"random", "local_search", "cross_entropy", "heft"}) {
    const auto best = [&](Ranks* ranks) {
      Evaluator evaluator(task, {.budget = 60, .ranks = ranks});
      MakeAgent(agent)->Search(task, evaluator, {.seed = 5, .ranks = ranks == nullptr ? &OneRank() : ranks});
      return evaluator.best();
    };
    const UnitPlacement alone = best(nullptr);
    ThreadedRanks ranks(2);
    ranks.Run([&](Ranks& rank) { EXPECT_EQ(best(&rank), alone) << agent; });
  }
}

}  // namespace
}  // namespace stowplan::agents
