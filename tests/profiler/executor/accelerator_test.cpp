// The executor's logic for accelerators, on one that is late on purpose (late_accelerator.h).
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "profiler/executor/device_group.h"
#include "profiler/host_machine.h"
#include "tests/profiler/executor/byte_mover.h"
#include "tests/profiler/executor/executing.h"
#include "tests/profiler/executor/late_accelerator.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using testing::ClusterOf;
using testing::LateAccelerator;
using testing::Mix;

using Numbers = std::vector<std::uint32_t>;

// Some sources, then ops that read up to three of those before them; few sizes, so that blocks are used again.
sim::OpGraph RandomGraph() {
  sim::OpGraph graph;
  graph.name = "random";
  const int ops = *rc::gen::inRange(2, 26);
  for (int i = 0; i < ops; ++i) {
    const bool source = i < 2;
    sim::Op op =
        testing::ByteMover("op" + std::to_string(i), source ? (i == 0 ? "Variable" : "Placeholder") : "Mix",
                           64 * *rc::gen::inRange(0, 4));
    if (i == 0) op.outputs[0].storage = sim::Output::Storage::kPersistent;
    if (i == 0) op.persistent_bytes = op.outputs[0].bytes;
    if (!source) testing::DrawReads(graph, &op);
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

// What every op reads, one after the other: the first word of each input.
class Readings {
 public:
  explicit Readings(const sim::OpGraph& graph) : graph_(graph), read_(graph.ops.size()) {}
  LateAccelerator::Done Recorder() {
    return [this](sim::OpIndex op, const KernelArguments& a) {
      Numbers& numbers = read_[static_cast<std::size_t>(op)];
      numbers.clear();
      const sim::Op& graph_op = graph_.ops[static_cast<std::size_t>(op)];
      for (std::size_t i = 0; i < graph_op.inputs.size(); ++i) {
        const sim::TensorRef input = graph_op.inputs[i];
        const bool empty = graph_.ops[static_cast<std::size_t>(input.op)]
                               .outputs[static_cast<std::size_t>(input.output)]
                               .bytes == 0;
        numbers.push_back(empty ? 0 : a.in<std::uint32_t>(i)[0]);
      }
    };
  }
  const std::vector<Numbers>& numbers() const { return read_; }

 private:
  const sim::OpGraph& graph_;
  std::vector<Numbers> read_;  // by op; each written by the thread of its device
};

std::vector<ExecutedStep> RunLate(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                  const sim::Placement& placement, const ExecuteOptions& options,
                                  std::uint32_t seed, Readings* readings) {
  const LateAccelerator::Done record = readings->Recorder();
  ExecutorParts parts;
  parts.cpu_kernel = [&record](const sim::OpGraph& g, sim::OpIndex op) -> MadeKernel {
    if (g.ops[static_cast<std::size_t>(op)].IsSource()) return {};
    auto mix = std::make_unique<Mix>(g, op);
    mix->done = &record;
    return {std::move(mix), false};
  };
  parts.accelerator = [&](sim::DeviceIndex device) {
    return std::make_unique<LateAccelerator>(graph, seed + static_cast<std::uint32_t>(device), &record);
  };
  const std::vector<int> available = AvailableCores();
  CoresByDevice cores;
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) cores.push_back({available[d % available.size()]});
  return MakeExecutor(graph, cluster, cores, parts)->Run(placement, options);
}

constexpr ExecuteOptions kThree{.warm_up = 0, .steps = 3, .at_most = 3};

RC_GTEST_PROP(AcceleratorTest, ComputesWhatOneCpuDoes, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Bytes memory = sim::Bytes{1} << 30;
  sim::Placement alone, spread;
  alone.device.assign(graph.ops.size(), 0);
  const int devices = *rc::gen::inRange(2, 4);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) spread.device.push_back(*rc::gen::inRange(0, devices));
  Readings expected(graph), found(graph);
  RunLate(graph, ClusterOf({"c"}, memory), alone, kThree, 1, &expected);
  const std::vector<std::string> names = *rc::gen::elementOf(std::vector<std::vector<std::string>>{
      {"c", "g", "h"}, {"g", "c", "h"}, {"g", "h", "i"}, {"c", "d", "g"}});
  const sim::Cluster cluster = ClusterOf({names.begin(), names.begin() + devices}, memory);
  ExecuteOptions options = kThree;
  options.traced = *rc::gen::arbitrary<bool>();
  const auto steps = RunLate(graph, cluster, spread, options, *rc::gen::inRange(1U, 1000U), &found);
  RC_ASSERT(steps.size() == 3U);
  RC_ASSERT(found.numbers() == expected.numbers());
  for (const ExecutedStep& step : steps) RC_ASSERT(!step.oom);
}

RC_GTEST_PROP(AcceleratorTest, TracesEveryOpAndCopyOnceBehindWhatItWaitsFor, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Cluster cluster = ClusterOf({"g", "c", "h"}, sim::Bytes{1} << 30);
  sim::Placement placement;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) placement.device.push_back(*rc::gen::inRange(0, 3));
  ExecuteOptions options = kThree;
  options.traced = true;
  Readings readings(graph);
  for (const ExecutedStep& step : RunLate(graph, cluster, placement, options, 5, &readings)) {
    testing::CheckSpans(graph, placement, step);
  }
}

// Ops in order, memory counted in the order of issue: the simulator's peak, whatever the accelerator's pace.
RC_GTEST_PROP(AcceleratorTest, OnOneAcceleratorThePeakIsTheSimulators, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Cluster cluster = ClusterOf({"g", "h"}, sim::Bytes{1} << 30);
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  placement.order = graph.topological_order();
  const sim::Bytes peak = testing::SimulatedPeak(graph, cluster, placement);
  Readings readings(graph);
  for (const ExecutedStep& step : RunLate(graph, cluster, placement, kThree, 3, &readings)) {
    RC_ASSERT(step.peak[0] == peak);
    RC_ASSERT(step.peak[1] == 0);
  }
}

TEST(AcceleratorTest, ACopyThatDoesNotFitEndsTheStepAtTheReceiver) {
  sim::OpGraph graph;
  graph.name = "pair";
  graph.ops = {testing::ByteMover("a", "Mix", 640), testing::ByteMover("b", "Mix", 64)};
  graph.ops[1].inputs = {{0, 0}};
  graph.Finish();
  sim::Placement placement;
  placement.device = {0, 1};
  for (const auto& names : std::vector<std::vector<std::string>>{{"g", "c"}, {"c", "g"}, {"g", "h"}}) {
    sim::Cluster cluster = ClusterOf(names, 1 << 20);
    cluster.devices[1].memory = 639;
    Readings readings(graph);
    const auto steps = RunLate(graph, cluster, placement, kThree, 9, &readings);
    ASSERT_THAT(steps, SizeIs(1));
    ASSERT_TRUE(steps[0].oom) << names[0] << names[1];
    EXPECT_EQ(steps[0].oom->device, 1);
    EXPECT_EQ(steps[0].oom->op, 0);
    EXPECT_EQ(steps[0].oom->what, sim::OutOfMemory::What::kCopy);
    EXPECT_EQ(steps[0].oom->needed, 640);
  }
}

}  // namespace
}  // namespace stowplan::profiler
