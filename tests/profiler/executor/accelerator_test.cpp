// The executor's logic for accelerators, on one that is late on purpose: what is enqueued is done when somebody asks
// or waits, queues taking turns by chance. Work that is enqueued before it may be, or memory that is used again too
// early, shows in the numbers.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "profiler/executor/device_group.h"
#include "profiler/executor/device_thread.h"
#include "profiler/host_machine.h"
#include "sim/error.h"
#include "sim/simulator.h"
#include "tests/profiler/executor/byte_mover.h"

namespace berth::profiler {
namespace {

using ::testing::SizeIs;

using Numbers = std::vector<std::uint32_t>;

// An op mixes its own number with every word that it reads; an output that shares storage is left as it is.
class Mix : public Kernel {
 public:
  Mix(const sim::OpGraph& graph, sim::OpIndex op) : graph_(graph), op_(op) {}
  void Run(const KernelArguments& a) override {
    const sim::Op& op = graph_.ops[static_cast<std::size_t>(op_)];
    std::uint32_t mixed = static_cast<std::uint32_t>(op_) + 1;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const sim::TensorRef input = op.inputs[i];
      const auto& output =
          graph_.ops[static_cast<std::size_t>(input.op)].outputs[static_cast<std::size_t>(input.output)];
      for (sim::Bytes w = 0; w < output.bytes / 4; ++w) mixed = mixed * 31 + a.in<std::uint32_t>(i)[w];
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].storage != sim::Output::Storage::kOwn) continue;
      for (sim::Bytes w = 0; w < op.outputs[i].bytes / 4; ++w)
        a.out<std::uint32_t>(i)[w] = mixed + static_cast<std::uint32_t>(w);
    }
    if (done != nullptr) (*done)(op_, a);
  }
  // Told of every op that has run, with its tensors as they are then.
  const std::function<void(sim::OpIndex, const KernelArguments&)>* done = nullptr;

 private:
  const sim::OpGraph& graph_;
  sim::OpIndex op_;
};

class LateAccelerator : public Accelerator {
 public:
  using Done = std::function<void(sim::OpIndex, const KernelArguments&)>;
  LateAccelerator(const sim::OpGraph& graph, std::uint32_t seed, const Done* done)
      : graph_(graph), random_(seed), done_(done) {}

  Block NewBlock(sim::Bytes bytes) override { return profiler::NewBlock(bytes); }
  void Upload(void* to, const void* from, sim::Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void BeginStep(bool) override {
    EXPECT_TRUE(Idle());
    for (Line& line : lines_) line = {};
  }
  void RunOp(sim::OpIndex op, const KernelArguments& a) override {
    Enqueue(Queue::kOps, [this, op, inputs = *a.inputs, outputs = *a.outputs] {
      Mix mix(graph_, op);
      mix.done = done_;
      mix.Run({.inputs = &inputs, .outputs = &outputs});
    });
  }
  void Copy(Queue queue, void* to, const void* from, sim::Bytes bytes) override {
    EXPECT_NE(queue, Queue::kOps);
    Enqueue(queue, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  Mark Put(Queue queue) override {
    Line& line = LineOf(queue);
    line.marks.push_back(line.enqueued);
    line.reached.push_back(0);
    return static_cast<Mark>(line.marks.size()) - 1;
  }
  bool Reached(Queue queue, Mark mark) override {
    Advance();
    return LineOf(queue).done >= LineOf(queue).marks.at(static_cast<std::size_t>(mark));
  }
  void Wait() override {
    while (!Idle()) Advance();
  }
  std::int64_t TimeOf(Queue queue, Mark mark) override {
    return LineOf(queue).reached.at(static_cast<std::size_t>(mark));
  }
  bool AllFinite(const void*, std::int64_t) override { return true; }

 private:
  struct Line {
    std::deque<std::function<void()>> work;
    int enqueued = 0, done = 0;
    std::vector<int> marks;  // how much was enqueued before
    std::vector<std::int64_t> reached;
  };
  Line& LineOf(Queue queue) { return lines_[static_cast<std::size_t>(queue)]; }
  bool Idle() const {
    return std::all_of(std::begin(lines_), std::end(lines_), [](const Line& l) { return l.work.empty(); });
  }
  void Enqueue(Queue queue, std::function<void()> work) {
    LineOf(queue).work.push_back(std::move(work));
    ++LineOf(queue).enqueued;
  }
  // Half of the time nothing happens.
  void Advance() {
    Line& line = lines_[random_() % 3];
    if (random_() % 2 == 0) {
      if (!line.work.empty()) {
        line.work.front()();
        line.work.pop_front();
        ++line.done;
      }
    }
    for (Line& each : lines_) {
      for (std::size_t m = 0; m < each.marks.size(); ++m)
        if (each.reached[m] == 0 && each.done >= each.marks[m]) each.reached[m] = Now();
    }
  }

  const sim::OpGraph& graph_;
  std::minstd_rand random_;
  const Done* done_;
  Line lines_[3];
};

// Devices by their first letter: c is a CPU.
sim::Cluster ClusterOf(const std::vector<std::string>& names, sim::Bytes memory) {
  sim::Cluster cluster;
  cluster.name = "late";
  for (const std::string& name : names) {
    const bool cpu = name[0] == 'c';
    cluster.devices.push_back({.name = name,
                               .kind = cpu ? "cpu" : "gpu",
                               .device_class = cpu ? sim::DeviceClass::kCpu : sim::DeviceClass::kGpu,
                               .memory = memory,
                               .granularity = 64});
  }
  for (std::int32_t d = 1; d < cluster.size(); ++d)
    cluster.links.push_back(
        {.name = "l" + std::to_string(d), .ends = {0, d}, .bandwidth = 1'000'000'000, .latency = 0});
  if (names.size() > 2)
    cluster.links.push_back({.name = "last", .ends = {1, 2}, .bandwidth = 1'000'000'000, .latency = 0});
  cluster.Finish();
  return cluster;
}

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
    for (int k = *rc::gen::inRange(0, 4); !source && k > 0; --k)
      op.inputs.push_back({*rc::gen::inRange(0, i), 0});
    if (!source && *rc::gen::inRange(0, 4) == 0) op.control.push_back(*rc::gen::inRange(0, i));
    if (!op.inputs.empty() && *rc::gen::inRange(0, 5) == 0) {
      op.outputs[0].storage = sim::Output::Storage::kInput;
      op.outputs[0].alias = op.inputs[0];
      op.outputs[0].bytes = graph.ops[static_cast<std::size_t>(op.inputs[0].op)].outputs[0].bytes;
    }
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

std::vector<Step> RunLate(const sim::OpGraph& graph, const sim::Cluster& cluster,
                          const sim::Placement& placement, const ExecuteOptions& options, std::uint32_t seed,
                          Readings* readings) {
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
  for (const Step& step : steps) RC_ASSERT(!step.oom);
}

RC_GTEST_PROP(AcceleratorTest, TracesEveryOpAndCopyOnceBehindWhatItWaitsFor, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Cluster cluster = ClusterOf({"g", "c", "h"}, sim::Bytes{1} << 30);
  sim::Placement placement;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) placement.device.push_back(*rc::gen::inRange(0, 3));
  ExecuteOptions options = kThree;
  options.traced = true;
  Readings readings(graph);
  for (const Step& step : RunLate(graph, cluster, placement, options, 5, &readings)) {
    std::map<sim::OpIndex, OpSpan> ops;
    for (const OpSpan& span : step.ops) {
      RC_ASSERT(ops.emplace(span.op, span).second);
      RC_ASSERT(span.device == placement.device[static_cast<std::size_t>(span.op)]);
    }
    std::map<std::pair<sim::TensorRef, sim::DeviceIndex>, CopySpan> copies;
    for (const CopySpan& copy : step.copies) {
      RC_ASSERT(copies.emplace(std::pair(copy.tensor, copy.to), copy).second);
      if (!graph.ops[static_cast<std::size_t>(copy.tensor.op)].IsSource())
        RC_ASSERT(ops.at(copy.tensor.op).end_ns <= copy.start_ns);
    }
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      if (graph.ops[static_cast<std::size_t>(op)].IsSource()) continue;
      const auto here = placement.device[static_cast<std::size_t>(op)];
      for (const sim::TensorRef input : graph.ops[static_cast<std::size_t>(op)].inputs) {
        if (placement.device[static_cast<std::size_t>(input.op)] != here)
          RC_ASSERT(copies.at({input, here}).end_ns <= ops.at(op).start_ns);
      }
    }
  }
}

// Ops in order, memory counted in the order of issue: the simulator's peak, whatever the accelerator's pace.
RC_GTEST_PROP(AcceleratorTest, OnOneAcceleratorThePeakIsTheSimulators, ()) {
  const sim::OpGraph graph = RandomGraph();
  const sim::Cluster cluster = ClusterOf({"g", "h"}, sim::Bytes{1} << 30);
  sim::CostTable costs{.cost_model = "one", .devices = 2, .picos = {}, .tier = {}};
  costs.picos.assign(graph.ops.size() * 2, 1'000'000);
  costs.tier.assign(graph.ops.size() * 2, sim::Tier::kMeasured);
  const sim::Problem problem(graph, cluster, costs);
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  placement.order = graph.topological_order();
  const auto simulator = sim::MakeSimulator(problem);
  const sim::Bytes peak = simulator->Run(placement).devices[0].peak;
  Readings readings(graph);
  for (const Step& step : RunLate(graph, cluster, placement, kThree, 3, &readings)) {
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

// What fails on a device ends the job with its reason, and nobody waits for ever.
TEST(AcceleratorTest, AFailureOfADeviceIsThrown) {
  class Broken : public LateAccelerator {
   public:
    using LateAccelerator::LateAccelerator;
    void RunOp(sim::OpIndex, const KernelArguments&) override { throw RunError("the device is gone"); }
  };
  sim::OpGraph graph;
  graph.name = "one";
  graph.ops = {testing::ByteMover("a", "Mix", 64), testing::ByteMover("b", "Mix", 64)};
  graph.ops[1].inputs = {{0, 0}};
  graph.Finish();
  const sim::Cluster cluster = ClusterOf({"g", "h"}, 1 << 20);
  const LateAccelerator::Done nothing;
  ExecutorParts parts;
  parts.accelerator = [&](sim::DeviceIndex) { return std::make_unique<Broken>(graph, 1U, &nothing); };
  const CoresByDevice cores(2, {AvailableCores().front()});
  const auto executor = MakeExecutor(graph, cluster, cores, parts);
  sim::Placement placement;
  placement.device = {0, 1};
  EXPECT_THROW(executor->Run(placement, kThree), RunError);
}

TEST(AcceleratorTest, ADeviceOfNoKnownClassIsRefused) {
  sim::OpGraph graph;
  graph.name = "one";
  graph.ops = {testing::ByteMover("a", "Mix", 64)};
  graph.Finish();
  const sim::Cluster cluster = ClusterOf({"c", "g"}, 1 << 20);
  const int core = AvailableCores().front();
  EXPECT_THROW(MakeExecutor(graph, cluster, {{core}, {core}}, {}), InputError);
}

}  // namespace
}  // namespace berth::profiler
