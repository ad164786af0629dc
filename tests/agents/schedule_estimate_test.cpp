// The estimate is exact where its rules are the machine's, and orders what it does not model.
#include "agents/schedule_estimate.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agents/placements.h"
#include "agents/random.h"
#include "tests/agents/problems.h"

namespace berth::agents {
namespace {

// a -> b on one device, c -> d where d reads a too: worked by hand, in us. A link moves 10 GB/s behind 5 us.
TEST(ScheduleEstimate, WorkedByHand) {
  Case c;
  c.Add("a", {100}, {}, 1'000'000);
  c.Add("b", {100}, {0});
  c.Add("c", {50});
  c.Add("d", {10}, {2, 0});
  c.UseGpus(2, /*cpu=*/false);
  const Task task = MakeTask(c.Finish(), "");
  ScheduleEstimate estimate(task);
  const std::vector<sim::DeviceIndex>& devices = task.devices;
  const auto runtime_us = [&](std::vector<std::size_t> at) {
    UnitPlacement placement;
    for (const std::size_t device : at) placement.push_back(devices[device]);
    return static_cast<double>(estimate.Of(placement).runtime) / 1e6;
  };
  // One after another on one device.
  EXPECT_DOUBLE_EQ(runtime_us({0, 0, 0, 0}), 260);
  // d waits for a's tensor: 100 + 100 (1 MB at 10 GB/s) + two links of 5 us, then 10.
  EXPECT_DOUBLE_EQ(runtime_us({0, 0, 1, 1}), 220);
}

TEST(ScheduleEstimate, CountsBytesAboveTheCapacity) {
  Case c;
  c.Add("a", {100}, {}, 3'000'000'000);
  c.Add("b", {100}, {0}, 3'000'000'000);
  c.UseGpus(2, /*cpu=*/false);
  for (sim::Device& device : c.cluster.devices) device.memory = 4'000'000'000;
  const Task task = MakeTask(c.Finish(), "");
  ScheduleEstimate estimate(task);
  EXPECT_EQ(estimate.Of({task.devices[0], task.devices[0]}).overflow, 2'000'000'000);
  // The copy that b reads is on its device beside its own output.
  EXPECT_EQ(estimate.Of({task.devices[0], task.devices[1]}).overflow, 2'000'000'000);
}

TEST(ScheduleEstimate, LearnsWhatItsPeaksFallShortOf) {
  Case c;
  c.Add("a", {100}, {}, 3'000'000'000);
  c.UseGpus(1, /*cpu=*/false);
  c.cluster.devices[0].memory = 4'000'000'000;
  const Task task = MakeTask(c.Finish(), "");
  ScheduleEstimate estimate(task);
  const UnitPlacement placement = {task.devices[0]};
  EXPECT_EQ(estimate.Of(placement).overflow, 0);
  std::vector<sim::Bytes> peak(task.problem->cluster().devices.size(), 0);
  peak[static_cast<std::size_t>(task.devices[0])] = 4'500'000'000;
  estimate.CorrectPeaks(placement, peak);
  EXPECT_EQ(estimate.Of(placement).overflow, 500'000'000);
}

// Ranks, not seconds, are what a screen is for: over random pairs it says most often which is faster.
TEST(ScheduleEstimate, OrdersRandomPlacements) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Rng dice(seed, "graph");
    Case c;
    for (int i = 0; i < 60; ++i) {
      std::vector<sim::OpIndex> inputs;
      for (int k = 0; k < std::min(i, 2); ++k)
        inputs.push_back(i - 1 - static_cast<int>(dice.Below(static_cast<std::uint64_t>(std::min(i, 6)))));
      c.Add("op" + std::to_string(i), {50.0 + static_cast<double>(dice.Below(150))}, inputs,
            static_cast<sim::Bytes>(dice.Below(1'000'000)));
    }
    c.UseGpus(3);
    const Task task = MakeTask(c.Finish(), "");
    ScheduleEstimate estimate(task);
    Evaluator evaluator(task, {.budget = 200});
    Rng rng(seed, "test");
    std::vector<std::pair<sim::Picos, sim::Picos>> runs;  // simulated, estimated
    for (int i = 0; i < 200; ++i) {
      const UnitPlacement placement = UniformPlacement(task, rng);
      runs.emplace_back(evaluator.Evaluate(placement).runtime, estimate.Of(placement).runtime);
    }
    int right = 0;
    int pairs = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::size_t j = i + 1; j < runs.size(); ++j) {
        if (runs[i].first == runs[j].first) continue;
        ++pairs;
        right += (runs[i].first < runs[j].first) == (runs[i].second < runs[j].second);
      }
    }
    EXPECT_GT(right, 0.62 * pairs) << "seed " << seed;
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
}  // namespace berth::agents
