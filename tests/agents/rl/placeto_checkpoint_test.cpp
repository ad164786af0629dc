// What a search or a training leaves in its checkpoint, and how it goes on from there.
#include "agents/rl/learners.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

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
