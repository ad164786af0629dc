// What a search or a training leaves in its checkpoint, and how it goes on from there.
#include <atomic>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/rl/learners.h"
#include "sim/base/error.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"

namespace stowplan::agents::rl {
namespace {

// Ended at a sample and resumed from the checkpoint, several times in a row: the same samples, weights and
// log as without an interruption.
void ExpectResumedEqualsUninterrupted(const std::string& spec) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  const std::int64_t budget = 11 * 4 * 5 + 7;
  const std::string whole_path = InTemp("whole.ckpt");
  const Samples whole =
      SearchOnce(*MakePlaceto(AgentSettings(spec)), made->task, budget, {.checkpoint = whole_path});

  Rng rng(1, "moments");
  for (int trial = 0; trial < 4; ++trial) {
    const std::string path = InTemp("parts.ckpt");
    Samples parts;
    std::int64_t stop_at = 1;
    for (int run = 0; parts.counted < budget; ++run) {
      std::atomic<bool> stop = false;
      Evaluator evaluator(made->task, {.budget = budget, .stop = &stop});
      stop_at += static_cast<std::int64_t>(rng.Below(70));
      evaluator.observer = [&](std::int64_t sample, const UnitPlacement& placement,
                               const Evaluation& evaluation) {
        parts.placements.push_back(placement);
        parts.runtimes.push_back(evaluation.runtime);
        if (sample >= stop_at) stop = true;
      };
      MakePlaceto(AgentSettings(spec))
          ->Search(made->task, evaluator, {.checkpoint = path, .resume = run > 0});
      parts.counted = evaluator.samples();
      parts.proposals = evaluator.proposals();
    }
    EXPECT_EQ(parts, whole) << "trial " << trial;
    EXPECT_EQ(ReadCheckpoint(path).section("weights", path),
              ReadCheckpoint(whole_path).section("weights", whole_path));
    EXPECT_EQ(Slurp(path + ".log.csv"), Slurp(whole_path + ".log.csv"));
  }
  // A finished run that is resumed does nothing more.
  Evaluator again(made->task, {.budget = budget});
  MakePlaceto(AgentSettings(spec))->Search(made->task, again, {.checkpoint = whole_path, .resume = true});
  EXPECT_EQ(again.samples(), budget);
}

TEST(PlacetoCheckpoint, ResumedEqualsUninterrupted) {
  ExpectResumedEqualsUninterrupted("placeto(preset=walk,lr=0.01,greedy=6,start=random-each)");
  ExpectResumedEqualsUninterrupted("placeto(every=3)");
}

TEST(PlacetoCheckpoint, RefusesAForeignCheckpoint) {
  const auto made = MakeTestTask(RandomDag(7, 1));
  const auto larger = MakeTestTask(RandomDag(8, 1));
  const std::string path = InTemp("foreign.ckpt");
  SearchOnce(*MakePlaceto(AgentSettings("placeto")), made->task, 20, {.checkpoint = path});
  const auto resume = [&path](const std::string& spec, const Task& task, std::uint64_t seed) {
    SearchOnce(*MakePlaceto(AgentSettings(spec)), task, 40,
               {.seed = seed, .checkpoint = path, .resume = true});
  };
  EXPECT_THROW(resume("placeto(preset=walk,rounds=7)", made->task, 1), InputError);
  EXPECT_THROW(resume("placeto", made->task, 2), InputError);
  EXPECT_THROW(resume("placeto", larger->task, 1), InputError);
  resume("placeto", made->task, 1);
}

TEST(PlacetoCheckpoint, TrainingOfSeveralGraphsResumes) {
  const auto a = MakeTestTask(RandomDag(6, 1)), b = MakeTestTask(RandomDag(11, 2));
  const auto train = [&](const SearchOptions& options, std::int64_t stop_at) {
    std::atomic<bool> stop = false;
    Evaluator first(a->task, {.budget = 90, .stop = &stop}), second(b->task, {.budget = 110, .stop = &stop});
    second.observer = [&](std::int64_t sample, const UnitPlacement&, const Evaluation&) {
      if (sample >= stop_at) stop = true;
    };
    const auto agent = MakePlaceto(AgentSettings("placeto(preset=walk,lr=0.01)"));
    dynamic_cast<Transferable&>(*agent).Train({&a->task, &b->task}, {&first, &second}, options);
    return ReadCheckpoint(options.checkpoint).section("weights", options.checkpoint);
  };
  const std::int64_t never = std::numeric_limits<std::int64_t>::max();
  const std::string whole = train({.checkpoint = InTemp("train_whole.ckpt")}, never);
  const std::string path = InTemp("train_parts.ckpt");
  train({.checkpoint = path}, 17);
  train({.checkpoint = path, .resume = true}, 60);
  EXPECT_EQ(train({.checkpoint = path, .resume = true}, never), whole);
}

}  // namespace
}  // namespace stowplan::agents::rl
