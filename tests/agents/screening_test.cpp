// What searches see of a screen; the screen itself is tested in tests/sim/screen_test.cpp.
#include "agents/search/screening.h"

#include "agents/placements.h"
#include "agents/random_numbers.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

TEST(Screening, CountsBytesAboveTheCapacityAndScreens) {
  Case c;
  c.Add("a", {100}, {}, 3'000'000'000);
  c.Add("b", {100}, {0}, 3'000'000'000);
  c.UseGpus(2, /*cpu=*/false);
  for (sim::Device& device : c.cluster.devices) {
    device.memory = 4'000'000'000;
    device.granularity = 1;
  }
  const Task task = MakeTask(c.Finish(), "");
  Evaluator evaluator(task, {.budget = 1});
  Screening screening(task, evaluator, 1);
  const std::vector<Screened> screened = screening.Of(std::vector<UnitPlacement>{{0, 0}, {0, 1}});
  EXPECT_EQ(screened[0].objective.overflow, 2'000'000'000);
  // The copy that b reads is on its device beside its own output.
  EXPECT_EQ(screened[1].objective.overflow, 2'000'000'000);
  EXPECT_EQ(evaluator.screens(), 2);
  EXPECT_EQ(evaluator.samples(), 0);
}

TEST(Screening, EverythingFitsUnderTheRulesPublished) {
  const auto c = RandomCase(3, {.ops = 30, .tight_memory = true, .rules = sim::Rules::kPublished});
  const Task task = MakeTask(*c->problem, "");
  Evaluator evaluator(task, {.budget = 1});
  const UnitPlacement placement(task.units.ops.size(), task.devices.front());
  const Screened screened = Screening(task, evaluator, 1).Of({&placement, 1}).front();
  EXPECT_EQ(screened.objective.overflow, 0);
  EXPECT_GT(screened.peak[static_cast<std::size_t>(task.devices.front())],
            task.device(task.devices.front()).capacity());
}

TEST(Screening, LearnsWhatItsPeaksFallShortOf) {
  Case c;
  c.Add("a", {100}, {}, 3'000'000'000);
  c.UseGpus(1, /*cpu=*/false);
  c.cluster.devices[0].memory = 4'000'000'000;
  c.cluster.devices[0].granularity = 1;
  const Task task = MakeTask(c.Finish(), "");
  Evaluator evaluator(task, {.budget = 1});
  Screening screening(task, evaluator, 1);
  const UnitPlacement placement = {task.devices[0]};
  const Screened before = screening.Of({&placement, 1}).front();
  EXPECT_EQ(before.objective.overflow, 0);
  screening.CorrectPeaks(before, {4'500'000'000});
  EXPECT_EQ(screening.Of({&placement, 1}).front().objective.overflow, 500'000'000);
}

// Ranks, not seconds, are what a screen is for: over random pairs it says most often which is faster, on machines with
// all that it leaves out.
TEST(Screening, OrdersRandomPlacements) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const auto c = RandomCase(seed, {.ops = 60, .gpus = 3});
    const Task task = MakeTask(*c->problem, "");
    Evaluator evaluator(task, {.budget = 200});
    Rng rng(seed, "test");
    std::vector<UnitPlacement> placements;
    for (int i = 0; i < 200; ++i) placements.push_back(UniformPlacement(task, rng));
    const std::vector<Screened> screened = Screening(task, evaluator, 1).Of(placements);
    const std::vector<Evaluation> simulated = evaluator.EvaluateBatch(placements);
    int right = 0;
    int pairs = 0;
    for (std::size_t i = 0; i < placements.size(); ++i) {
      for (std::size_t j = i + 1; j < placements.size(); ++j) {
        if (simulated[i].runtime == simulated[j].runtime) continue;
        ++pairs;
        right += (simulated[i].runtime < simulated[j].runtime) ==
                 (screened[i].objective.runtime < screened[j].objective.runtime);
      }
    }
    EXPECT_GT(right, 0.65 * pairs) << "seed " << seed;
  }
}

// What the search is for: at few samples it is ahead of local search on a problem with structure.
TEST(Pilot, IsAheadOfLocalSearchAtFewSamples) {
  const auto c = RandomCase(9, {.ops = 120, .gpus = 3, .cpu = false});
  const Task task = MakeTask(*c->problem, "");
  double pilot = 0;
  double local = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (double* best : {&pilot, &local}) {
      Evaluator evaluator(task, {.budget = 30});
      MakeAgent(best == &pilot ? "pilot(plan=2000)" : "local_search")
          ->Search(task, evaluator, {.seed = seed});
      *best += static_cast<double>(evaluator.best_runtime());
      EXPECT_EQ(evaluator.screens() > 0, best == &pilot);
    }
  }
  EXPECT_LT(pilot, local);
}

}  // namespace
}  // namespace stowplan::agents
