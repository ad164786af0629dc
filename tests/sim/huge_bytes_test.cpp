// Sums of bytes and elements that come near 64 bits: refused with one sentence, or exact; never wrapped.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/base/exact.h"
#include "sim/cost_model.h"
#include "sim/simulator.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

// The same cases in every run; RC_PARAMS in the environment wins.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120", 0);

namespace gen = rc::gen;
__extension__ using Wide = __int128;

// All sizes are multiples of this, so that doubles add them without loss and limits are met exactly.
constexpr Bytes kStep = Bytes{1} << 40;

Bytes RandomHuge() {
  return *gen::element<Bytes>(0, kStep, kMaxBytes / 2, kMaxBytes - kStep, kMaxBytes);
}

// What `refused` says; empty where it passes.
template <typename Check>
std::string MessageOf(const Check& refused) {
  return tests::ErrorOf([&] { refused(); });
}

bool Mentions(const std::string& message, const std::string& what) {
  return message.find(what) != std::string::npos;
}

// Some ops with up to a few thousand outputs in all: on either side of 2^60 bytes.
OpGraph RandomHugeGraph() {
  OpGraph graph;
  graph.name = "huge";
  const int ops = *gen::element(1, 2, 3, 4);
  for (int i = 0; i < ops; ++i) {
    Op op{.name = "op" + std::to_string(i), .type = "T", .cost_us = 1};
    op.persistent_bytes = RandomHuge();
    op.workspace_bytes = RandomHuge();
    Output output;
    output.bytes = RandomHuge();
    op.outputs.assign(*gen::element<std::size_t>(0, 1, 255, 341, 511, 512, 1022), output);
    graph.ops.push_back(op);
  }
  return graph;
}

RC_GTEST_PROP(HugeBytes, GraphsAreRefusedOrSummedExactly, ()) {
  OpGraph graph = RandomHugeGraph();
  Wide outputs = 0, persistent = 0, workspace = 0;
  for (const Op& op : graph.ops) {
    persistent += op.persistent_bytes;
    workspace += op.workspace_bytes;
    for (const Output& output : op.outputs) outputs += output.bytes;
  }
  const bool refused = outputs + persistent + workspace > Wide{1} << 60;
  RC_CLASSIFY(refused);
  const std::string message = MessageOf([&] { graph.Finish(); });
  RC_ASSERT(Mentions(message, "graph 'huge' holds more than 2^60 bytes in all") == refused);
  if (refused) return;
  RC_ASSERT(message.empty());
  RC_ASSERT(Wide{graph.totals().output_bytes} == outputs);
  RC_ASSERT(Wide{graph.totals().persistent_bytes} == persistent);
}

RC_GTEST_PROP(HugeBytes, ShapesAreRefusedOrCountedExactly, ()) {
  OpGraph graph;
  graph.name = "huge";
  Wide elements = 0;
  bool refused = false;
  const int ops = *gen::element(1, 2, 8, 20);
  for (int i = 0; i < ops; ++i) {
    Op op{.name = "v" + std::to_string(i), .type = "Variable"};
    op.outputs.resize(1);
    Wide without_zeros = 1;  // no product may wrap on the way to a dimension of 0 either
    bool zero = false;
    for (int d = *gen::element(1, 2, 3); d > 0; --d) {
      const auto dim =
          *gen::element<std::int64_t>(0, 1, 1, 1 << 10, 1 << 20, std::int64_t{1} << 38, kMaxBytes);
      op.outputs[0].shape.push_back(dim);
      without_zeros = std::min(without_zeros * std::max<Wide>(1, dim), Wide{1} << 62);
      zero = zero || dim == 0;
    }
    refused = refused || without_zeros > Wide{1} << 60;
    elements += zero ? 0 : without_zeros;
    graph.ops.push_back(op);
  }
  const std::string message = MessageOf([&] { graph.Finish(); });
  RC_CLASSIFY(!message.empty());
  if (refused || elements > Wide{1} << 60) {
    RC_ASSERT(Mentions(message, "more than 2^60 elements"));
  } else if (message.empty()) {
    RC_ASSERT(Wide{graph.totals().parameters} == elements);
  } else {
    RC_ASSERT(Mentions(message, "more than 2^60 elements in all"));  // those of 0 elements count as 1 or more
  }
}

// One op whose outputs, some hundreds of 2^50 bytes, all go to every other device of a machine without links, where a
// transfer takes no time: on either side of 2^62 live bytes.
RC_GTEST_PROP(HugeBytes, LiveBytesAreRefusedOrExact, ()) {
  OpGraph graph;
  graph.name = "huge";
  Cluster cluster;
  cluster.name = "box";
  const int devices = *gen::element(2, 5, 7, 8, 9);
  const auto outputs = *gen::element<std::size_t>(1, 455, 511, 512, 513, 1000);
  const Bytes granularity = *gen::element<Bytes>(1, 256, 1 << 30);
  graph.ops.push_back({.name = "a", .type = "T", .cost_us = 1});
  graph.ops[0].outputs.assign(outputs, {.bytes = kMaxBytes});
  Placement placement;
  for (DeviceIndex d = 0; d < devices; ++d) {
    cluster.devices.push_back({.name = "d" + std::to_string(d), .kind = "k", .granularity = granularity});
    placement.device.push_back(d);
    if (d == 0) continue;
    Op reader{.name = "r" + std::to_string(d), .type = "T", .cost_us = 1};
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(outputs); ++i) reader.inputs.push_back({0, i});
    graph.ops.push_back(reader);
  }
  graph.Finish();
  cluster.Finish();
  CostTable costs;
  costs.devices = devices;
  costs.picos.assign(graph.ops.size() * cluster.devices.size(), kPicosPerMicro);
  costs.tier.assign(costs.picos.size(), Tier::kMeasured);

  std::vector<Outcome> run;
  const std::string message = MessageOf([&] {
    const Problem problem(graph, cluster, costs);
    run.push_back(MakeSimulator(problem)->Run(placement, {}));
  });
  const Wide sent = Wide{kMaxBytes} * static_cast<Wide>(outputs);
  RC_CLASSIFY(!message.empty());
  if (sent * devices > Wide{1} << 62) RC_ASSERT(!message.empty());
  if (message.empty()) {
    for (const auto& device : run.front().devices) RC_ASSERT(Wide{device.peak} == sent);
  } else {
    RC_ASSERT(Mentions(message, "could hold more than 2^62 bytes at once"));
    // Refused for a reason: what is rounded up is less than a hundredth of it.
    RC_ASSERT(sent * devices * 101 / 100 > Wide{1} << 62);
  }
}

// A TiB at 1000 s a byte: 10^15 s, beyond any time, whatever shares the link.
TEST(HugeTimes, TransfersOverSteepCurvesAreRefused) {
  for (const char* interconnect : {"ideal", "fifo", "fair"}) {
    TwoGpus world;
    world.cluster.interconnect = interconnect;
    Link& link = world.cluster.links[0];
    link.curve = {{0, link.latency}, {1, link.latency + 1000 * kPicosPerSecond}};
    const OpIndex a = world.Add(0, 1, {Bytes{1} << 40});
    world.Add(1, 1, {}, {{a, 0}});
    EXPECT_TRUE(Mentions(MessageOf([&] { world.Run(); }), "could run for more than 26 simulated days"))
        << interconnect;
  }
}

// While two transfers share a link, the end of the longer looks twice as far off: beyond any time, though it is not.
TEST(HugeTimes, AnEndThatLooksTooFarOffIsNoEnd) {
  TwoGpus world;
  world.cluster.interconnect = "fair";
  for (Device& device : world.cluster.devices) device.copy_engines = 64;
  world.cluster.links[0].bandwidth = 1000;
  const OpIndex huge = world.Add(0, 1, {Bytes{1'000'000'000}});  // 10^6 s
  world.Add(1, 1, {}, {{huge, 0}});
  for (int i = 0; i < 30; ++i) {
    const OpIndex small = world.Add(0, 0, {1000});
    world.Add(1, 0, {}, {{small, 0}});
  }
  // The link carries all bytes one way; shares are rounded down.
  const Picos runtime = world.Run().runtime;
  EXPECT_GE(runtime, 1'000'030 * kPicosPerSecond);
  EXPECT_LT(runtime, 1'000'031 * kPicosPerSecond);
}

}  // namespace
}  // namespace stowplan::sim
