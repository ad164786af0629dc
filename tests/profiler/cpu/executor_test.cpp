#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "profiler/cpu/cpu_executor.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/host_machine.h"
#include "sim/formats/formats.h"
#include "tests/profiler/executor/byte_mover.h"
#include "tests/profiler/executor/executing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

sim::Cluster TwoCpus(sim::Bytes memory) {
  return testing::ClusterOf({"cpu0", "cpu1"}, memory);
}

std::unique_ptr<Executor> TwoDevices(const sim::OpGraph& graph, const sim::Cluster& cluster) {
  const std::vector<int> cores = AvailableCores();
  return MakeCpuExecutor(graph, cluster, {{cores.front()}, {cores.back()}});
}

sim::Op ByteMover(const std::string& name, sim::Bytes bytes) {
  return testing::ByteMover(name, "Opaque", bytes);
}

sim::OpGraph RandomGraph() {
  sim::OpGraph graph;
  graph.name = "random";
  const int ops = *rc::gen::inRange(1, 30);
  for (int i = 0; i < ops; ++i) {
    sim::Op op = ByteMover("op" + std::to_string(i), *rc::gen::inRange(0, 5000));
    testing::DrawReads(graph, &op);
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

// The receiver copies itself: while it does, none of its ops runs.
void CheckReceiversCopy(const ExecutedStep& step) {
  for (const CopySpan& copy : step.copies) {
    for (const OpSpan& span : step.ops)
      RC_ASSERT(span.device != copy.to || span.end_ns <= copy.start_ns || copy.end_ns <= span.start_ns);
  }
}

constexpr ExecuteOptions kTwoTraced{.warm_up = 0, .steps = 2, .at_most = 2, .traced = true, .checked = false};

RC_GTEST_PROP(ExecutorTest, EveryOpRunsOnceOnItsDeviceAfterWhatItWaitsFor, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Cluster cluster = TwoCpus(sim::Bytes{1} << 30);
  sim::Placement placement;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) placement.device.push_back(*rc::gen::inRange(0, 2));
  const auto steps = TwoDevices(graph, cluster)->Run(placement, kTwoTraced);
  for (const ExecutedStep& step : steps) {
    testing::CheckSpans(graph, placement, step);
    CheckReceiversCopy(step);
  }
}

// On one device the order of ops, and with it every request and free, does not depend on how long they take.
RC_GTEST_PROP(ExecutorTest, OnOneDeviceThePeakIsTheSimulators, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Cluster cluster = TwoCpus(sim::Bytes{1} << 30);
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  const sim::Bytes peak = testing::SimulatedPeak(graph, cluster, placement);
  const auto steps = TwoDevices(graph, cluster)->Run(placement, kTwoTraced);
  for (const ExecutedStep& step : steps) {
    RC_ASSERT(step.peak[0] == peak);
    RC_ASSERT(step.peak[1] == 0);
  }
}

// What is sent to a device is counted there although the device does not look at it yet. Whether it comes while `busy`
// runs is for the system to say, so of many steps one must show it.
TEST(ExecutorTest, ACopyIsCountedWhenItIsSent) {
  constexpr sim::Bytes kBusy = 1 << 22;
  sim::OpGraph graph;
  graph.name = "busy";
  graph.ops = {ByteMover("sent", 640), ByteMover("busy", kBusy), ByteMover("end", 64)};
  graph.ops[2].inputs = {{0, 0}};
  graph.ops[2].control = {1};
  graph.Finish();
  sim::Placement placement;
  placement.device = {0, 1, 1};
  const sim::Cluster cluster = TwoCpus(sim::Bytes{1} << 30);
  std::vector<sim::Bytes> peaks;
  const auto executor = TwoDevices(graph, cluster);
  for (const ExecutedStep& step : executor->Run(placement, {.warm_up = 2, .steps = 200, .at_most = 200}))
    peaks.push_back(step.peak[1]);
  EXPECT_THAT(peaks, ::testing::Contains(kBusy + 640));
  EXPECT_THAT(peaks, ::testing::Each(::testing::AnyOf(kBusy, kBusy + 640)));
}

sim::OpGraph Pair(sim::Bytes first, sim::Bytes second) {
  sim::OpGraph graph;
  graph.name = "pair";
  graph.ops = {ByteMover("a", first), ByteMover("b", second)};
  graph.ops[1].inputs = {{0, 0}};
  graph.Finish();
  return graph;
}

TEST(ExecutorTest, ARequestBeyondTheLimitEndsTheStep) {
  const sim::OpGraph graph = Pair(640, 704);
  sim::Placement together, apart;
  together.device = {0, 0};
  apart.device = {0, 1};
  for (const sim::Bytes memory : {1343, 1344}) {
    const sim::Cluster cluster = TwoCpus(memory);
    const auto executor = TwoDevices(graph, cluster);
    const auto steps = executor->Run(together, {.warm_up = 5, .steps = 3, .at_most = 3});
    if (memory == 1344) {
      EXPECT_THAT(steps, SizeIs(3));
      EXPECT_FALSE(steps[0].oom);
      continue;
    }
    ASSERT_THAT(steps, SizeIs(1));
    ASSERT_TRUE(steps[0].oom);
    EXPECT_EQ(steps[0].oom->op, 1);
    EXPECT_EQ(steps[0].oom->device, 0);
    EXPECT_EQ(steps[0].oom->needed, 1344);
    EXPECT_EQ(steps[0].oom->what, sim::OutOfMemory::What::kOutput);
    // The copy and b's output meet on the other device, too; a device that ran out of memory runs on.
    EXPECT_TRUE(executor->Run(apart, {.warm_up = 0, .steps = 1, .at_most = 1})[0].oom);
  }
}

TEST(ExecutorTest, IssuesByPriorityOrListWhereThePlacementHasOne) {
  sim::OpGraph graph;
  graph.name = "three";
  for (const char* name : {"a", "b", "c"}) graph.ops.push_back(ByteMover(name, 64));
  graph.Finish();
  const sim::Cluster cluster = TwoCpus(1 << 20);
  const auto executor = TwoDevices(graph, cluster);
  const auto order = [&](const sim::Placement& placement) {
    std::vector<sim::OpIndex> ops;
    const auto steps = executor->Run(placement, kTwoTraced);
    for (const OpSpan& span : steps[1].ops) ops.push_back(span.op);
    return ops;
  };
  sim::Placement placement;
  placement.device = {0, 0, 0};
  EXPECT_THAT(order(placement), ElementsAre(0, 1, 2));
  placement.priority = {1, 3, 2};
  EXPECT_THAT(order(placement), ElementsAre(1, 2, 0));
  placement.priority.clear();
  placement.order = {2, 0, 1};
  EXPECT_THAT(order(placement), ElementsAre(2, 0, 1));
}

TEST(ExecutorTest, SaysWhichOpsAStandInRuns) {
  const sim::OpGraph graph = Pair(640, 704);
  const sim::Cluster cluster = TwoCpus(1 << 20);
  EXPECT_THAT(TwoDevices(graph, cluster)->stand_ins(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace stowplan::profiler
