#include "agents/bounds/bounds.h"

#include "agents/bounds/work_bound.h"
#include "agents/random_numbers.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

constexpr sim::Picos kMicro = sim::kPicosPerMicro;

// Calls `check` with the outcome of every placement that keeps colocation sets whole.
template <typename Check>
void ForEveryPlacement(const Case& c, const std::vector<sim::DeviceIndex>& devices, const Check& check) {
  const auto sets = static_cast<std::size_t>(c.graph.colocation_sets());
  const auto simulator = sim::MakeSimulator(*c.problem);
  std::vector<std::size_t> digits(sets, 0);
  sim::Placement placement;
  for (bool more = true; more;) {
    placement.device.clear();
    for (const std::int32_t set : c.graph.colocation_set()) {
      placement.device.push_back(devices[digits[static_cast<std::size_t>(set)]]);
    }
    check(simulator->Run(placement));
    more = false;
    for (std::size_t i = 0; i < sets && !more; ++i) {
      more = ++digits[i] < devices.size();
      if (!more) digits[i] = 0;
    }
  }
}

// The chains of docs/model.md 7 under dispatch: 5 + 5 + 5 + 2 and 5 + 60. The bound meets both.
TEST(Bounds, CriticalPathCountsDispatch) {
  for (const auto& [cost, expected] : {std::pair(2.0, 17 * kMicro), std::pair(20.0, 65 * kMicro)}) {
    Case c;
    c.Add("a", {cost});
    c.Add("b", {cost}, {0});
    c.Add("c", {cost}, {1});
    c.UseGpus(1, false);
    c.cluster.dispatch.cost = 5 * kMicro;
    EXPECT_EQ(ComputeLowerBound(c.Finish()).critical_path, expected);
  }
}

// a is fast on gpu0 alone, b on gpu1 alone. 1 MB between them takes 2 * 5 + 100 us: 10 + 110 + 10 apart, 10 +
// 500 on one device. With 1 GB it is better to stay: 10 + 500.
TEST(Bounds, CriticalPathCountsTransfers) {
  for (const auto& [bytes, expected] : {std::pair(1'000'000, 130), std::pair(1'000'000'000, 510)}) {
    Case c;
    c.Add("a", {10, 500}, {}, bytes);
    c.Add("b", {500, 10}, {0});
    c.UseGpus(2, false);
    EXPECT_EQ(ComputeLowerBound(c.Finish()).critical_path, expected * kMicro);
  }
}

TEST(Bounds, ColocatedOpsHaveNoTransferToChooseFrom) {
  Case c;
  c.Add("a", {10, 500}, {}, 8).colocate = "x";
  c.Add("b", {500, 10}, {0}).colocate = "x";
  c.UseGpus(2, false);
  EXPECT_EQ(ComputeLowerBound(c.Finish()).critical_path, 510 * kMicro);
}

TEST(Bounds, WorkIsSharedByEqualDevices) {
  Case c;
  for (int i = 0; i < 10; ++i) c.Add("op" + std::to_string(i), {7});
  c.UseGpus(4, false);
  const LowerBound bound = ComputeLowerBound(c.Finish());
  EXPECT_EQ(bound.critical_path, 7 * kMicro);
  EXPECT_EQ(bound.work, 17'500'000);  // 70 us over 4 devices
  EXPECT_EQ(bound.memory, 0);
  EXPECT_EQ(bound.best(), bound.work);
}

// Speeds 1 and 1/9: 90 us of work for the GPU are done in 90 / (1 + 1/9) = 81 us at the earliest.
TEST(Bounds, WorkIsSharedBySpeed) {
  Case c;
  for (int i = 0; i < 9; ++i) c.Add("op" + std::to_string(i), {90, 10});
  c.UseGpus(1);
  const sim::Picos work = ComputeLowerBound(c.Finish()).work;
  EXPECT_LE(work, 81 * kMicro);
  EXPECT_GE(work, 81 * kMicro - 100);  // prices are rounded to 1 / 2^24
}

// Each device is good at half of the ops: 5 * 10 us on either, not the 55 that equal speeds would give.
TEST(Bounds, WorkFindsWhoIsGoodAtWhat) {
  Case c;
  for (int i = 0; i < 5; ++i) c.Add("a" + std::to_string(i), {10, 1000});
  for (int i = 0; i < 5; ++i) c.Add("b" + std::to_string(i), {1000, 10});
  c.UseGpus(1);
  const sim::Picos work = ComputeLowerBound(c.Finish()).work;
  EXPECT_LE(work, 50 * kMicro);
  EXPECT_GE(work, 49 * kMicro);
}

TEST(Bounds, WorkRespectsCalibratedConcurrency) {
  Case c;
  for (int i = 0; i < 4; ++i) c.Add("op" + std::to_string(i), {8});
  c.UseGpus(1, false);
  c.cluster.devices[0].streams = 2;
  EXPECT_EQ(ComputeLowerBound(c.Finish()).work, 32 * kMicro) << "1/k each adds no throughput";

  Case faster;
  for (int i = 0; i < 4; ++i) faster.Add("op" + std::to_string(i), {8});
  faster.UseGpus(1, false);
  faster.cluster.devices[0].streams = 2;
  faster.cluster.devices[0].concurrency_ppm = {1'000'000, 800'000};
  EXPECT_EQ(ComputeLowerBound(faster.Finish()).work, 20 * kMicro) << "32 / 1.6";
}

// One host thread issues 8 ops for 5 us each, whatever the devices.
TEST(Bounds, WorkCountsTheHostThread) {
  Case c;
  for (int i = 0; i < 8; ++i) c.Add("op" + std::to_string(i), {1});
  c.UseGpus(4, false);
  c.cluster.dispatch.per = sim::Dispatch::Per::kProcess;
  c.cluster.dispatch.cost = 5 * kMicro;
  const sim::Picos work = ComputeLowerBound(c.Finish()).work;
  EXPECT_LE(work, 40 * kMicro);
  EXPECT_GE(work, 38 * kMicro);
}

// The GPU holds three of six variables of 1 MB with an op each that takes 10 us there and 100 us on the CPU:
// three ops stay on the CPU, 300 us, where time alone would leave it half an op.
TEST(Bounds, MemoryForcesWorkOntoTheCpu) {
  Case c;
  for (int i = 0; i < 6; ++i) {
    sim::Op& op = c.Add("op" + std::to_string(i), {100, 10}, {}, 0);
    op.persistent_bytes = 1 << 20;
  }
  c.UseGpus(1);
  c.cluster.devices[1].memory = 3 << 20;
  const LowerBound bound = ComputeLowerBound(c.Finish());
  EXPECT_LE(bound.work, 55 * kMicro);
  EXPECT_LE(bound.memory, 300 * kMicro);
  EXPECT_GE(bound.memory, 290 * kMicro);
  EXPECT_FALSE(bound.nothing_fits);
}

// The op's workspace does not fit on the GPU, so it runs on the CPU.
TEST(Bounds, MemoryRulesDevicesOut) {
  Case c;
  c.Add("a", {100, 10}, {}, 0).workspace_bytes = 2000;
  c.UseGpus(1);
  c.cluster.devices[1].memory = 1024;
  const LowerBound bound = ComputeLowerBound(c.Finish());
  EXPECT_EQ(bound.critical_path, 10 * kMicro);
  EXPECT_EQ(bound.memory, 100 * kMicro);
}

TEST(Bounds, SaysWhenNothingFits) {
  Case c;
  c.Add("a", {10}, {}, 0).persistent_bytes = 800;
  c.Add("b", {10}, {}, 0).persistent_bytes = 800;
  c.UseGpus(1);
  for (sim::Device& device : c.cluster.devices) device.memory = 1000;
  EXPECT_FALSE(ComputeLowerBound(c.Finish()).nothing_fits) << "one each";
  EXPECT_TRUE(ComputeLowerBound(*c.problem, {1}).nothing_fits) << "1600 bytes on the GPU alone";
}

// 5.7 us behind each op of non-zero cost, the last one's included; on another device instead bytes / 7600 us.
TEST(Bounds, PublishedRulesCountTheirGaps) {
  Case c;
  c.Add("a", {10}, {}, 76'000);  // 10 us to send: it is better to wait 5.7
  c.Add("b", {0}, {0}, 7600);    // 1 us to send, but no gap at home
  c.Add("c", {10}, {1}, 7600);
  c.UseGpus(2, false);
  c.cluster.rules = sim::Rules::kPublished;
  const LowerBound bound = ComputeLowerBound(c.Finish());
  EXPECT_EQ(bound.critical_path, 31'400'000);  // 10 + 5.7 + 0 + 10 + 5.7
  EXPECT_EQ(bound.work, 15'700'000);           // half of 2 * 15.7
}

// 10 us before, three branches of 20 us on one device, 10 us behind: 80 us with the branches as one, 40 without.
TEST(Bounds, WhatIsPlacedAsOneRunsOnOneDevice) {
  Case c;
  c.Add("first", {10}, {}, 0);
  for (int i = 0; i < 3; ++i) c.Add("branch" + std::to_string(i), {20}, {0}, 0);
  c.Add("last", {10}, {1, 2, 3}, 0);
  c.UseGpus(3, false);
  EXPECT_EQ(ComputeLowerBound(c.Finish()).best(), 40 * kMicro);
  const LowerBound bound = ComputeLowerBound(*c.problem, {}, std::vector<std::int32_t>{0, 1, 1, 1, 2});
  EXPECT_EQ(bound.together, 80 * kMicro);
  EXPECT_EQ(bound.best(), bound.together);
}

TEST(Bounds, HoldForEveryPlacementOfGroups) {
  int added = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 8, .gpus = 2, .tight_memory = seed % 3 == 0});
    const Task task = MakeTask(*c->problem, seed % 2 == 0 ? "neighbour(groups=3)" : "tied(groups=3)");
    const LowerBound bound = ComputeLowerBound(*c->problem, {}, task.units.unit_of_op);
    Evaluator every(task, {.budget = 27});
    every.observer = [&](std::int64_t, const UnitPlacement&, const Evaluation& evaluation) {
      EXPECT_LE(std::max({bound.critical_path, bound.work, bound.window, bound.together}),
                evaluation.runtime);
      if (!evaluation.feasible) return;
      EXPECT_LE(bound.memory, evaluation.runtime);
      EXPECT_FALSE(bound.nothing_fits);
    };
    MakeAgent("brute_force")->Search(task, every, {});
    added += bound.together > 0;
  }
  EXPECT_GT(added, 10);
}

// Whether the window added to it.
bool ExpectBoundsHold(const Case& c, const std::vector<sim::DeviceIndex>& devices) {
  const LowerBound bound = ComputeLowerBound(*c.problem, devices);
  ForEveryPlacement(c, devices, [&](const sim::Outcome& outcome) {
    ASSERT_LE(bound.critical_path, outcome.runtime);
    ASSERT_LE(bound.work, outcome.runtime);
    ASSERT_LE(bound.window, outcome.runtime);
    if (!outcome.feasible()) return;
    ASSERT_LE(bound.memory, outcome.runtime);
    ASSERT_FALSE(bound.nothing_fits);
  });
  return bound.window > 0;
}

// One op alone at either end: 10 us before and 10 us behind 80 us of work for two devices. The path takes 40, all work 50.
TEST(Bounds, AWindowAddsWhatIsBeforeAndBehind) {
  Case c;
  c.Add("first", {10}, {}, 0);
  for (int i = 0; i < 4; ++i) c.Add("branch" + std::to_string(i), {20}, {0}, 0);
  c.Add("last", {10}, {1, 2, 3, 4}, 0);
  c.UseGpus(2, false);
  const LowerBound bound = ComputeLowerBound(c.Finish());
  EXPECT_EQ(bound.critical_path, 40 * kMicro);
  EXPECT_EQ(bound.work, 50 * kMicro);
  EXPECT_EQ(bound.window, 60 * kMicro);
  EXPECT_EQ(bound.best(), bound.window);
}

// Sends are before and behind it, too: the ends are for gpu0, what is between for gpu1, 110 us away.
TEST(Bounds, AWindowBeginsBehindASend) {
  Case c;
  c.Add("first", {10, 500}, {}, 1'000'000);
  std::vector<sim::OpIndex> branches;
  for (sim::OpIndex i = 1; i <= 20; ++i) {
    c.Add("branch" + std::to_string(i), {500, 20}, {0}, 1'000'000);
    branches.push_back(i);
  }
  c.Add("last", {10, 500}, branches, 0);
  c.UseGpus(2, false);
  const LowerBound bound = ComputeLowerBound(c.Finish());
  EXPECT_EQ(bound.critical_path, 260 * kMicro);  // 10 + 110 + 20 + 110 + 10
  EXPECT_GE(bound.window, bound.work + 200 * kMicro);
}

TEST(Bounds, HoldForEveryPlacementOfRandomProblems) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomOptions options;
    options.ops = 1 + static_cast<int>(seed % 7);
    options.gpus = 1 + static_cast<int>(seed % 2);
    options.tight_memory = seed % 3 == 0;
    const auto c = RandomCase(seed, options);
    std::vector<sim::DeviceIndex> devices = {0, 1};
    if (options.gpus == 2 && seed % 5 != 0) devices.push_back(2);
    ExpectBoundsHold(*c, devices);
  }
}

TEST(Bounds, HoldForEveryPlacementUnderPublishedRules) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 1 + static_cast<int>(seed % 7), .rules = sim::Rules::kPublished});
    ExpectBoundsHold(*c, {0, 1, 2});
  }
}

// Branches between a beginning and an end, where windows add most: two such parts one behind the other, on two devices.
TEST(Bounds, HoldForEveryPlacementOfBranches) {
  int windows = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, "test");
    Case c;
    const auto us = [&] { return 1.0 + static_cast<double>(rng.Below(40)); };
    const auto costs = [&] {
      return seed % 3 == 0 ? std::vector<double>{us(), us()} : std::vector<double>{us()};
    };
    const auto bytes = [&] { return static_cast<sim::Bytes>(rng.Below(3) * 100'000); };
    c.Add("first", costs(), {}, bytes());
    sim::OpIndex before = 0;
    for (const char* part : {"a", "b"}) {
      std::vector<sim::OpIndex> branches;
      for (int i = 0; i < 3; ++i) {
        branches.push_back(static_cast<sim::OpIndex>(c.graph.ops.size()));
        c.Add(part + std::to_string(i), costs(), {before}, bytes());
      }
      before = static_cast<sim::OpIndex>(c.graph.ops.size());
      c.Add(part, costs(), branches, bytes());
    }
    c.UseGpus(2, false);
    if (seed % 4 == 0) c.cluster.rules = sim::Rules::kPublished;
    if (seed % 4 == 1) c.cluster.dispatch.cost = 3 * kMicro;
    if (seed % 4 == 2) {
      c.cluster.devices[0].streams = 2;
      c.cluster.devices[0].concurrency_ppm = {1'000'000, 700'000};
    }
    c.Finish();
    windows += ExpectBoundsHold(c, {0, 1});
  }
  EXPECT_GT(windows, 40);
}

// Three items, classes of one fast device and two slow ones, by hand: 6 us of work at speeds 1, 1/2, 1/2.
TEST(WorkBound, SharesByClass) {
  WorkProblem problem;
  problem.items = 3;
  problem.devices = {1, 2};
  for (int i = 0; i < 3; ++i) {
    problem.loads.push_back({2'000'000, 0, 0, true});
    problem.loads.push_back({4'000'000, 0, 0, true});
  }
  EXPECT_LE(WorkBound(problem), 3'000'000);
  EXPECT_GE(WorkBound(problem), 2'999'990);
}

}  // namespace
}  // namespace stowplan::agents
