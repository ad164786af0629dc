#include "profiler/cpu/probes.h"

#include "profiler/cpu/pace.h"
#include "profiler/host_machine.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using ::testing::Ge;
using ::testing::Gt;

sim::Output F32(std::vector<std::int64_t> shape) {
  sim::Output output;
  output.dtype = "f32";
  output.bytes = 4;
  for (const std::int64_t size : shape) output.bytes *= size;
  output.shape = std::move(shape);
  return output;
}

sim::OpIndex Add(sim::OpGraph& graph, const std::string& type, std::vector<std::int64_t> shape,
                 std::vector<sim::OpIndex> inputs) {
  sim::Op op;
  op.name = "op" + std::to_string(graph.ops.size());
  op.type = type;
  op.outputs = {F32(std::move(shape))};
  for (const sim::OpIndex input : inputs) op.inputs.push_back({input, 0});
  graph.ops.push_back(std::move(op));
  return static_cast<sim::OpIndex>(graph.ops.size()) - 1;
}

// Joins of unequal parts, which copy, and updates, which write what they read; each twice in a row, so that the
// second finds the code cached. What a kernel reads and writes must be as far apart there as in a step.
TEST(ProbeOpsTest, EverySetInTheWaysThatItsOpsFindTheCaches) {
  sim::OpGraph graph;
  graph.name = "probed";
  const auto left = Add(graph, "Placeholder", {4, 1}, {}), right = Add(graph, "Placeholder", {4, 3}, {});
  std::vector<std::vector<sim::OpIndex>> sets(2);
  for (int i = 0; i < 3; ++i) {
    const auto joined = Add(graph, "ConcatV2", {4, 4}, {left, right});
    graph.ops.back().attributes = {{"axis", {std::int64_t{1}}}};
    const auto weights = Add(graph, "Variable", {4, 4}, {});
    graph.ops.back().outputs[0].storage = sim::Output::Storage::kPersistent;
    graph.ops.back().persistent_bytes = 3 * 64;
    sim::Op update;
    update.name = "update" + std::to_string(i);
    update.type = "ApplyAdam";
    update.inputs = {{weights, 0}, {joined, 0}};
    graph.ops.push_back(update);
    sets[0].push_back(joined);
    sets[1].push_back(static_cast<sim::OpIndex>(graph.ops.size()) - 1);
  }
  graph.Finish();
  const auto probed =
      ProbeOps(graph, sets, {{AvailableCores().front()}}, {.warm_up = 1, .repeats = 2, .at_most = 50});
  std::vector<int> ops(sets.size());
  for (const ProbedOp& probe : probed) {
    EXPECT_THAT(probe.ns, Each(Ge(0)));
    EXPECT_FALSE(probe.ns.empty());
    ops[probe.set] += probe.stands_for;
  }
  EXPECT_THAT(ops, Each(3));
}

// What the rates are is for a quiet machine to say (results/accuracy).
TEST(ProbeOverlapTest, GivesBothEndsOfEveryStepOfBothDirections) {
  const std::vector<int> cores = AvailableCores();
  if (cores.size() < 2) GTEST_SKIP() << "this process may use one core";
  sim::Cluster cluster;
  cluster.name = "two";
  for (const char* name : {"cpu0", "cpu1"})
    cluster.devices.push_back(
        {.name = name, .kind = "cpu", .device_class = sim::DeviceClass::kCpu, .memory = sim::Bytes{1} << 30});
  cluster.links.push_back({.name = "copies", .ends = {0, 1}, .bandwidth = 1'000'000'000});
  cluster.Finish();
  const std::vector<ProbedOverlap> ends = ProbeOverlap(
      cluster, {{cores[0]}, {cores[1]}}, {.warm_up = 1, .repeats = 5, .at_most = 5, .disturbed = true});
  int receivers = 0;
  for (const ProbedOverlap& end : ends) {
    receivers += end.receives ? 1 : 0;
    EXPECT_THAT(end.alone, AllOf(SizeIs(5), Each(Gt(0))));
    EXPECT_THAT(end.copying, AllOf(SizeIs(5), Each(Gt(0))));
    EXPECT_THAT(end.both, AllOf(SizeIs(5), Each(Gt(0))));
  }
  EXPECT_THAT(ends, SizeIs(4));
  EXPECT_EQ(receivers, 2);
}

TEST(ProbeOptionsTest, StopEndsAProbeWithWhatThereIs) {
  sim::OpGraph graph;
  graph.name = "one";
  Add(graph, "Add", {64}, {Add(graph, "Placeholder", {64}, {}), Add(graph, "Placeholder", {64}, {})});
  graph.Finish();
  int asked = 0;
  const auto probed = ProbeOps(
      graph, {{2}}, {{AvailableCores().front()}},
      {.warm_up = 1, .repeats = 1'000'000, .at_most = 1'000'000, .stop = [&] { return ++asked > 3; }});
  EXPECT_THAT(probed, SizeIs(1));
  EXPECT_LE(probed[0].ns.size(), 3u);
}

TEST(FindPaceTest, IsOneThatWasMeasured) {
  const Pace pace = FindPace({{AvailableCores().front()}}, 0);
  EXPECT_GT(pace.ns, 0);
}

}  // namespace
}  // namespace stowplan::profiler
