// Collectives, worked out by hand: docs/model.md, "Collectives".
#include "sim/formats/collectives.h"

#include <fmt/format.h>

#include "sim/collectives.h"
#include "sim/formats/formats.h"
#include "sim/native/ring_prices.h"
#include "sim/simulator.h"
#include "tests/formats/expansion.h"
#include "tests/formats/sample_catalogue.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

// Links of 1 GB/s and 1 us join neighbours, or `all` pairs.
sim::Cluster RingCluster(int ranks, const std::string& interconnect, bool all = false) {
  std::string text = "format: stowplan.cluster\nversion: 1\ninterconnect: " + interconnect + "\ndevices:\n";
  for (int i = 0; i < ranks; ++i) text += fmt::format("  - {{name: d{}, kind: cpu-bare, memory: 1GiB}}\n", i);
  text += "links:\n";
  for (int i = 0; i < ranks; ++i) {
    for (int j = 0; j < i; ++j) {
      if (all || i - j == 1 || i - j == ranks - 1)
        text +=
            fmt::format("  - {{name: l{1}{0}, ends: [d{1}, d{0}], bandwidth: 1GB/s, latency: 1us}}\n", i, j);
    }
  }
  return ParseCluster(text, "ring", SampleCatalogue());
}

// Each of four joined to a switch by such a link; copies of a `kind` pass its engines.
sim::Cluster StarCluster(const std::string& interconnect, const std::string& kind) {
  std::string text = "format: stowplan.cluster\nversion: 1\ninterconnect: " + interconnect +
                     "\ndispatch: {cost: 0us}\ndevices:\n";
  for (int i = 0; i < 4; ++i) text += fmt::format("  - {{name: d{}, kind: {}, memory: 1GiB}}\n", i, kind);
  text += "switches: [middle]\nlinks:\n";
  for (int i = 0; i < 4; ++i)
    text += fmt::format("  - {{name: l{0}, ends: [d{0}, middle], bandwidth: 1GB/s, latency: 1us}}\n", i);
  return ParseCluster(text, "star", SampleCatalogue());
}

sim::Op Op(const std::string& name, const std::string& type, std::vector<sim::TensorRef> inputs,
           const std::vector<sim::Bytes>& outputs, std::optional<double> us) {
  sim::Op op;
  op.name = name;
  op.type = type;
  op.inputs = std::move(inputs);
  for (const sim::Bytes bytes : outputs) op.outputs.emplace_back().bytes = bytes;
  op.cost_us = us;
  return op;
}

// For each rank a producer of 10 us, then `count` collectives beside each other, and a consumer of 5 us of each result.
sim::OpGraph Graph(const std::string& type, int ranks, sim::Bytes in, const std::vector<sim::Bytes>& out,
                   int count = 1) {
  sim::OpGraph graph;
  graph.name = "collective";
  for (int c = 0; c < count; ++c) {
    const auto first = graph.size();
    std::vector<sim::TensorRef> tensors;
    for (int rank = 0; rank < ranks; ++rank) {
      sim::Op& op =
          graph.ops.emplace_back(Op(fmt::format("make{}_{}", c, rank), "Make", {}, {in}, c == 0 ? 10 : 0));
      op.colocate = fmt::format("rank{}", rank);
      tensors.push_back({first + rank, 0});
    }
    graph.ops.push_back(Op(fmt::format("all{}", c), type, tensors, out, {}));
    for (int rank = 0; rank < static_cast<int>(out.size()); ++rank) {
      sim::Op& op = graph.ops.emplace_back(
          Op(fmt::format("use{}_{}", c, rank), "Use", {{first + ranks, rank}}, {}, c == 0 ? 5 : 0));
      op.colocate = fmt::format("rank{}", rank);
    }
  }
  graph.Finish();
  return graph;
}

// Rank r on device r: what shares a set with its producer.
sim::Outcome Simulate(const sim::OpGraph& graph, const sim::Cluster& cluster) {
  sim::Placement placement;
  for (const sim::Op& op : graph.ops) placement.device.push_back(op.colocate.back() - '0');
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, sim::NoCostModel()));
  return sim::MakeSimulator(problem)->Run(placement);
}
sim::Outcome Simulate(const sim::OpGraph& graph, int ranks, const std::string& interconnect,
                      bool all = false) {
  return Simulate(graph, RingCluster(ranks, interconnect, all));
}

double Micros(const std::string& type, int ranks, sim::Bytes in, const std::vector<sim::Bytes>& out,
              const std::string& interconnect, int count = 1, bool all = false) {
  return sim::ToMicros(
      Simulate(SplitCollectives(Graph(type, ranks, in, out, count)), ranks, interconnect, all).runtime);
}

// Four ranks, each joined to each, with results as large as their tensors of 4,000 bytes.
double MicrosOfFour(const std::string& type, const std::string& interconnect, int count = 1) {
  return Micros(type, 4, 4000, {4000, 4000, 4000, 4000}, interconnect, count, true);
}
sim::OpGraph WithRoot(sim::OpGraph graph, const sim::Attribute& root) {
  graph.ops[static_cast<std::size_t>(graph.Find("all0"))].attributes = {{"root", root}};
  graph.Finish();
  return graph;
}

std::string RefusalOf(const sim::OpGraph& graph) {
  return tests::ErrorOf([&] { SplitCollectives(graph); });
}

// 4,000 bytes on four ranks are chunks of 1,000, which take 1 us and a latency of 1 us a step: three steps to add, three to
// gather, between 10 us and 5 us.
TEST(Collectives, ARingOfFourTakesItsSteps) {
  for (const char* interconnect : {"fifo", "fair", "ideal"}) {
    EXPECT_EQ(Micros("AllReduce", 4, 4000, {4000, 4000, 4000, 4000}, interconnect), 10 + 6 * 2 + 5);
    EXPECT_EQ(Micros("ReduceScatter", 4, 4000, {1000, 1000, 1000, 1000}, interconnect), 10 + 3 * 2 + 5);
    EXPECT_EQ(Micros("AllGather", 4, 1000, {4000, 4000, 4000, 4000}, interconnect), 10 + 3 * 2 + 5);
  }
}

// All chunks of 1,000 cross at once, each on a link of its own. Over a switch one takes 2 us to begin and 1 us to cross, and
// three share each link.
TEST(Collectives, AnAllToAllIsOneStep) {
  const sim::OpGraph graph = SplitCollectives(Graph("AllToAll", 4, 4000, {4000, 4000, 4000, 4000}));
  const auto over_switch = [&](const char* interconnect) {
    return sim::ToMicros(Simulate(graph, StarCluster(interconnect, "gpu-a")).runtime);
  };
  for (const char* interconnect : {"fifo", "fair"}) {
    EXPECT_EQ(MicrosOfFour("AllToAll", interconnect), 10 + 2 + 5);
    EXPECT_EQ(over_switch(interconnect), 10 + (2 + 3 * 1) + 5);
  }
  EXPECT_EQ(MicrosOfFour("AllToAll", "ideal"), 10 + 2 + 5);
  EXPECT_EQ(over_switch("ideal"), 10 + (2 + 1) + 5);
}

// The tensor of 2,100,000 bytes is cut into four, 300,000, then 600,000 each; a chain of four sends one chunk after the
// other, and the last goes two links further.
TEST(Collectives, ATensorOfOneRankGoesAlongAChain) {
  const std::vector<sim::Bytes> out(4, 2'100'000);
  for (const char* type : {"Broadcast", "Reduce"}) {
    for (const std::int64_t root : {0, 2, 3}) {
      const sim::OpGraph graph = SplitCollectives(WithRoot(Graph(type, 4, 2'100'000, out), {root}));
      EXPECT_EQ(sim::ToMicros(Simulate(graph, 4, "fifo").runtime), 10 + (301 + 3 * 601) + 2 * 601 + 5)
          << type << root;
    }
  }
}

// A device runs one collective at a time. The reader of the second takes no time.
TEST(Collectives, TwoWaitForEachOther) {
  for (const char* interconnect : {"fifo", "fair", "ideal"})
    EXPECT_EQ(Micros("AllReduce", 4, 4000, {4000, 4000, 4000, 4000}, interconnect, 2), 10 + 2 * 6 * 2);
}

// An AllReduce's result stands in its tensor; others have outputs of their own, and no copies are received.
TEST(Collectives, NeedTheirTensorsAndResults) {
  const auto peak = [](const char* type, sim::Bytes in, sim::Bytes out) {
    const sim::Outcome outcome =
        Simulate(SplitCollectives(Graph(type, 4, in, std::vector<sim::Bytes>(4, out))), 4, "fifo", true);
    for (const sim::DeviceUse& device : outcome.devices) EXPECT_EQ(device.peak, outcome.devices[0].peak);
    return outcome.devices[0].peak;
  };
  for (const char* type : {"AllReduce", "Broadcast", "Reduce"})
    EXPECT_EQ(peak(type, 4096, 4096), 4096) << type;
  EXPECT_EQ(peak("AllGather", 4096, 4 * 4096), 5 * 4096);
  EXPECT_EQ(peak("ReduceScatter", 4096, 1024), 4096 + 1024);
  EXPECT_EQ(peak("AllToAll", 4096, 4096), 2 * 4096);
}

// ---- as many steps: what the expansion takes ----

struct Shape {
  const char* type;
  sim::Bytes in;
  std::vector<sim::Bytes> out;
};
std::vector<Shape> ShapesOf(int ranks, sim::Bytes bytes) {
  std::vector<Shape> shapes;
  const auto count = static_cast<std::size_t>(ranks);
  for (const char* type : {"AllReduce", "Broadcast", "Reduce"})
    shapes.push_back({type, bytes, std::vector<sim::Bytes>(count, bytes)});
  std::vector<sim::Bytes> parts;
  for (int rank = 0; rank < ranks; ++rank) parts.push_back(sim::ChunkOf(bytes, rank, ranks));
  shapes.push_back({"ReduceScatter", bytes, parts});
  const sim::Bytes exchanged = bytes - bytes % ranks;  // a rank gives as much as it gets
  shapes.push_back({"AllToAll", exchanged, std::vector<sim::Bytes>(count, exchanged)});
  shapes.push_back({"AllGather", bytes, std::vector<sim::Bytes>(count, bytes * ranks)});
  return shapes;
}

// Devices in a row, each pair of neighbours joined by a link of its own speed, the ends too.
sim::Cluster UnequalRing(int ranks, const std::string& interconnect) {
  std::string text = "format: stowplan.cluster\nversion: 1\ninterconnect: " + interconnect +
                     "\ndispatch: {per: device, order: ready, cost: 0us}\ndevices:\n";
  for (int i = 0; i < ranks; ++i) text += fmt::format("  - {{name: d{}, kind: cpu-bare, memory: 1GiB}}\n", i);
  text += "links:\n";
  for (int i = 0; i < ranks - (ranks == 2 ? 1 : 0); ++i)
    text += fmt::format("  - {{name: l{0}, ends: [d{0}, d{1}], bandwidth: {2}MB/s, latency: {3}us}}\n", i,
                        (i + 1) % ranks, 1000 + 37 * i, 1 + i % 3);
  return ParseCluster(text, "unequal", SampleCatalogue());
}
sim::Cluster Ready(sim::Cluster cluster) {
  cluster.dispatch.order = sim::Dispatch::Order::kReady;
  cluster.dispatch.per = sim::Dispatch::Per::kDevice;
  return cluster;
}

// `ideal`: of any type, over any links. `fifo`: where links are alike and no two steps meet at one.
TEST(Collectives, TakeWhatTheirStepsTake) {
  int compared = 0;
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const sim::Bytes bytes : {0, 1, 1001, 123'457, 5'000'003}) {
      for (const Shape& shape : ShapesOf(ranks, bytes)) {
        const sim::OpGraph graph = Graph(shape.type, ranks, shape.in, shape.out);
        const sim::OpGraph split = SplitCollectives(graph), steps = ExpandCollectives(graph);
        std::vector<sim::Cluster> clusters = {
            UnequalRing(ranks, "ideal"), Ready(RingCluster(ranks, "ideal", true)),
            Ready(RingCluster(ranks, "ideal")), Ready(RingCluster(ranks, "fifo", true))};
        for (const sim::Cluster& cluster : clusters) {
          EXPECT_EQ(Simulate(split, cluster).runtime, Simulate(steps, cluster).runtime)
              << shape.type << " of " << bytes << " on " << ranks << ", " << cluster.name << " "
              << cluster.interconnect;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 900);
}

// Two hops that cross one link in one direction take turns there.
TEST(Collectives, StepsThatMeetTakeTurns) {
  const sim::Cluster cluster = ParseCluster(R"(format: stowplan.cluster
version: 1
interconnect: fifo
devices:
  - {name: d0, kind: cpu-bare, memory: 1GiB}
  - {name: d1, kind: cpu-bare, memory: 1GiB}
  - {name: d2, kind: cpu-bare, memory: 1GiB}
  - {name: d3, kind: cpu-bare, memory: 1GiB}
switches: [left, right]
links:
  - {name: l0, ends: [d0, left], bandwidth: 100GB/s}
  - {name: l1, ends: [d1, left], bandwidth: 100GB/s}
  - {name: l2, ends: [d2, right], bandwidth: 100GB/s}
  - {name: l3, ends: [d3, right], bandwidth: 100GB/s}
  - {name: trunk, ends: [left, right], bandwidth: 1GB/s}
)",
                                            "trunk", SampleCatalogue());
  const sim::RingPrices prices(cluster);
  const auto micros = [&](std::vector<sim::DeviceIndex> devices) {
    return sim::ToMicros(prices.TimeOf({sim::CollectiveType::kAllReduce, 4000, devices}));
  };
  EXPECT_DOUBLE_EQ(micros({0, 1, 2, 3}), 6 * 1) << "each direction of the trunk carries six chunks";
  EXPECT_DOUBLE_EQ(micros({0, 2, 1, 3}), 6 * 2) << "and here two at once in each";
}

// ---- orders ----

sim::OpGraph TwoOnTwo() {
  sim::OpGraph graph;
  graph.name = "two";
  for (const char* name : {"a", "b"})
    for (int rank = 0; rank < 2; ++rank)
      graph.ops.push_back(Op(fmt::format("{}{}", name, rank), "Make", {}, {1000}, rank == 0 ? 1 : 2));
  graph.ops.push_back(Op("A", "AllReduce", {{0, 0}, {1, 0}}, {1000, 1000}, {}));
  graph.ops.push_back(Op("B", "AllReduce", {{2, 0}, {3, 0}}, {1000, 1000}, {}));
  for (sim::OpIndex i = 0; i < 4; ++i)
    graph.ops[static_cast<std::size_t>(i)].colocate = fmt::format("rank{}", i % 2);
  graph.Finish();
  return SplitCollectives(graph);
}

TEST(Collectives, DifferentOrdersAreRefusedByName) {
  const sim::OpGraph graph = TwoOnTwo();
  const sim::Cluster cluster = RingCluster(2, "fifo");
  const auto of = [&](std::vector<const char*> names) {
    sim::Placement placement;
    for (const sim::Op& op : graph.ops) placement.device.push_back(op.colocate.back() - '0');
    for (const char* name : names) placement.order.push_back(graph.Find(name));
    sim::CheckPlacement(graph, cluster, placement);
    const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, sim::NoCostModel()));
    return tests::ErrorOf([&] { sim::MakeSimulator(problem)->Run(placement); });
  };
  EXPECT_EQ(of({"a0", "a1", "b0", "b1", "A/rank0", "A/rank1", "B/rank0", "B/rank1"}), "");
  EXPECT_EQ(of({"a0", "a1", "b0", "b1", "A/rank0", "B/rank0", "A/rank1", "B/rank1"}), "");
  const std::string error = of({"a0", "a1", "b0", "b1", "A/rank0", "B/rank0", "B/rank1", "A/rank1"});
  for (const char* name : {"'A/rank0'", "'A/rank1'", "'B/rank1'", "'d0'", "'d1'"})
    EXPECT_THAT(error, HasSubstr(name));
}

// Whose rank is ready first does not decide.
TEST(Collectives, ReadyOrderIsTheSameOnAllRanks) {
  sim::OpGraph graph = TwoOnTwo();
  graph.ops[0].cost_us = 9;  // A first on one, B first on the other
  graph.ops[3].cost_us = 9;
  graph.Finish();
  const sim::Cluster cluster = Ready(RingCluster(2, "fifo"));
  EXPECT_EQ(sim::ToMicros(Simulate(graph, cluster).runtime), 9 + 2 * 2 * (1 + 0.5));
}

// ---- the symmetric form ----

// `layers` times a product, its sum over the ranks, and something of its result; all of rank r where that stands for all.
sim::OpGraph RankProgram(std::optional<std::int64_t> stride) {
  sim::OpGraph graph;
  graph.name = "rank";
  sim::TensorRef at{-1, 0};
  const auto add = [&](const std::string& name, const char* type, sim::Bytes bytes,
                       std::optional<double> us) {
    graph.ops.push_back(
        Op(name, type, at.op < 0 ? std::vector<sim::TensorRef>{} : std::vector{at}, {bytes}, us));
    if (!us) {
      graph.ops.back().attributes = {{"ranks", {std::int64_t{3}}}};
      if (stride) graph.ops.back().attributes.emplace_back("stride", sim::Attribute{*stride});
    }
    at = {graph.size() - 1, 0};
  };
  for (int layer = 0; layer < 4; ++layer) {
    add(fmt::format("product{}", layer), "MatMul", 9'000, 7 + layer);
    add(fmt::format("sum{}", layer), "AllReduce", 9'000, {});
    add(fmt::format("part{}", layer), "ReduceScatter", 3'000, {});
    add(fmt::format("relu{}", layer), "Relu", 3'000, 2);
    add(fmt::format("all{}", layer), "AllGather", 9'000, {});
    add(fmt::format("swap{}", layer), "AllToAll", 9'000, {});
  }
  graph.Finish();
  return SplitCollectives(graph);
}

TEST(Collectives, OneRankStandsForAll) {
  for (const int stride : {1, 2}) {
    for (const char* interconnect : {"ideal", "fifo", "fair"}) {
      std::string text = fmt::format(
          "format: stowplan.cluster\nversion: 1\ninterconnect: {}\ndispatch: {{cost: 3us, per: device}}\n"
          "devices:\n  - {{name: cpu0, kind: cpu-bare, memory: 1GiB}}\n",
          interconnect);
      for (int i = 0; i < 3 * stride; ++i)
        text += fmt::format("  - {{name: g{}, kind: gpu-a, memory: 1GiB}}\n", i);
      text += "switches: [middle]\nlinks:\n  - {name: c, ends: [cpu0, middle], bandwidth: 1GB/s}\n";
      for (int i = 0; i < 3 * stride; ++i)
        text += fmt::format("  - {{name: l{0}, ends: [g{0}, middle], bandwidth: 1GB/s, latency: 1us}}\n", i);
      const sim::Cluster cluster = ParseCluster(text, "star", SampleCatalogue());
      const auto run = [&](const sim::OpGraph& graph) {
        sim::Placement placement;
        for (const sim::Op& op : graph.ops) {
          const int rank = op.name.starts_with("rank") ? op.name[4] - '0' : 0;
          placement.device.push_back(1 + rank * stride);
        }
        sim::CheckPlacement(graph, cluster, placement);
        const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, sim::NoCostModel()));
        return sim::Outcome(sim::MakeSimulator(problem)->Run(placement));
      };
      const sim::OpGraph one = RankProgram(stride), all = RankProgram({});
      EXPECT_EQ(3 * one.size(), all.size());
      const sim::Outcome symmetric = run(one), full = run(all);
      EXPECT_GT(symmetric.runtime, 4 * (9 + 8) * sim::kPicosPerMicro);
      EXPECT_EQ(symmetric.runtime, full.runtime);
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(full.devices[static_cast<std::size_t>(1 + rank * stride)].peak, symmetric.devices[1].peak);
        EXPECT_EQ(full.devices[static_cast<std::size_t>(1 + rank * stride)].busy, symmetric.devices[1].busy);
      }
    }
  }
}

TEST(Collectives, ARankOfTheSymmetricFormNeedsItsAccelerator) {
  const sim::OpGraph graph = RankProgram(2);
  const sim::Cluster cluster = StarCluster("fifo", "gpu-a");  // of four: 0, 2 and 4 are wanted
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  EXPECT_THAT(tests::ErrorOf([&] { sim::CheckPlacement(graph, cluster, placement); }),
              HasSubstr("op 'sum0' is placed on 'd0', and rank 2 of its 3 would be on accelerator 4"));
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, sim::NoCostModel()));
  const auto simulator = sim::MakeSimulator(problem);
  for (int again = 0; again < 2; ++again)
    EXPECT_THAT(tests::ErrorOf([&] { simulator->Run(placement); }), HasSubstr("op 'sum0' is placed on 'd0'"));
}

// ---- members ----

TEST(Collectives, KeepWhatWaitsForThemAndWhatTheyWaitFor) {
  sim::OpGraph graph = Graph("AllReduce", 2, 4000, {4000, 4000});
  const sim::OpIndex all = graph.Find("all0");
  const auto late = graph.size(), after = late + 1;
  graph.ops.push_back(Op("late", "Late", {}, {}, 50));
  graph.ops.push_back(Op("after", "After", {}, {}, 7));
  for (const auto op : {late, after}) graph.ops[static_cast<std::size_t>(op)].colocate = "rank0";
  graph.ops[static_cast<std::size_t>(all)].control = {late};
  graph.ops[static_cast<std::size_t>(after)].control = {all};
  graph.Finish();
  const sim::OpGraph split = SplitCollectives(graph);
  const auto control = [&](const char* name) {
    return split.ops[static_cast<std::size_t>(split.Find(name))].control;
  };
  EXPECT_THAT(control("after"), ElementsAre(split.Find("all0/rank0"), split.Find("all0/rank1")));
  for (const char* member : {"all0/rank0", "all0/rank1"})
    EXPECT_THAT(control(member), ElementsAre(split.Find("late")));
}

TEST(Collectives, ASetOfTheUserIsNotJoined) {
  sim::OpGraph graph = Graph("AllReduce", 2, 100, {100, 100});
  for (sim::Op& op : graph.ops) op.colocate.clear();
  graph.ops[3].colocate = "all0/rank1";  // the consumer of rank 0
  graph.Finish();
  const sim::OpGraph split = SplitCollectives(graph);
  const auto set_of = [&](const char* name) {
    return split.ops[static_cast<std::size_t>(split.Find(name))].colocate;
  };
  for (const char* name : {"make0_0", "all0/rank0"}) EXPECT_EQ(set_of(name), "all0/rank0");
  for (const char* name : {"make0_1", "all0/rank1"}) EXPECT_EQ(set_of(name), "all0/rank1'");
}

// Program order runs through them as one, wherever they stand.
TEST(Collectives, MembersComeTogether) {
  sim::OpGraph graph = SplitCollectives(Graph("AllReduce", 2, 100, {100, 100}));
  std::swap(graph.ops[0], graph.ops[4]);  // a producer behind the members
  for (sim::Op& op : graph.ops) {
    const auto move = [](sim::OpIndex& at) { at = at == 0 ? 4 : at == 4 ? 0 : at; };
    for (sim::TensorRef& input : op.inputs) move(input.op);
    for (sim::Output& output : op.outputs) move(output.alias.op);
  }
  graph.Finish();
  EXPECT_THAT(graph.topological_order(), ElementsAre(1, 4, 2, 3, 0, 5));
}

TEST(Collectives, MembersThatWaitForEachOtherAreACycle) {
  sim::OpGraph graph = SplitCollectives(Graph("AllReduce", 2, 100, {100, 100}));
  graph.ops[static_cast<std::size_t>(graph.Find("make0_1"))].control = {graph.Find("use0_0")};
  EXPECT_THAT(tests::ErrorOf([&] { graph.Finish(); }), HasSubstr("form a cycle"));
}

TEST(Collectives, RefusesTooMany) {
  const auto of = [](int ranks, int count) {
    const std::vector<sim::Bytes> out(static_cast<std::size_t>(ranks), 8);
    sim::OpGraph graph = Graph("AllReduce", ranks, 8, out);
    const std::vector<sim::TensorRef> tensors =
        graph.ops[static_cast<std::size_t>(graph.Find("all0"))].inputs;
    for (int c = 1; c < count; ++c)
      graph.ops.push_back(Op(fmt::format("all{}", c), "AllReduce", tensors, out, {}));
    graph.Finish();
    return RefusalOf(graph);
  };
  EXPECT_THAT(of(16'385, 1), HasSubstr("a collective of 16385 ranks; from 2 to 16384 are wanted"));
  EXPECT_THAT(of(16'384, 65),
              HasSubstr("op 'all64': the collectives up to here have 1064960 ranks; 1048576"));
}

TEST(Collectives, RefusesToCopyTooLongNames) {
  sim::OpGraph graph = Graph("AllReduce", 2048, 8, std::vector<sim::Bytes>(2048, 8), 1);
  graph.ops[static_cast<std::size_t>(graph.Find("all0"))].name = std::string(140'000, 'n');
  graph.Finish();
  EXPECT_THAT(RefusalOf(graph), HasSubstr("the names and attributes of the ranks of the collectives"));
}

TEST(Collectives, RefusesTooManyThatWaitForTooMany) {
  sim::OpGraph graph = Graph("AllReduce", 512, 8, std::vector<sim::Bytes>(512, 8), 1);
  const auto ring = static_cast<sim::OpIndex>(graph.Find("all0"));
  for (int i = 0; i < 2049; ++i) {
    sim::Op& op = graph.ops.emplace_back(Op("waits" + std::to_string(i), "T", {}, {}, 1));
    op.control = {ring};
  }
  graph.Finish();
  EXPECT_THAT(RefusalOf(graph), HasSubstr("op 'waits2048': up to here the ranks of collectives and those"));
}

TEST(Collectives, RefusesWhatWouldBeLost) {
  const auto with = [](const auto& set) {
    sim::OpGraph graph = Graph("AllReduce", 2, 8, {8, 8});
    set(graph.ops[2]);
    graph.Finish();
    return RefusalOf(graph);
  };
  EXPECT_EQ(with([](sim::Op& op) { op.cost_us = 3; }),
            "op 'all0/rank0': has cost_us, but AllReduce must have none: its cluster prices it");
  EXPECT_THAT(with([](sim::Op& op) { op.cost_us_by_kind = {{"gpu", 3}}; }), HasSubstr("has cost_us,"));
  EXPECT_THAT(with([](sim::Op& op) { op.flops = 1; }), HasSubstr("has flops,"));
  EXPECT_THAT(with([](sim::Op& op) { op.persistent_bytes = 1; }), HasSubstr("has persistent_bytes,"));
  EXPECT_THAT(with([](sim::Op& op) { op.workspace_bytes = 1; }), HasSubstr("has workspace_bytes,"));
  EXPECT_THAT(with([](sim::Op& op) { op.colocate = "rank0"; }), HasSubstr("has colocate,"));
  EXPECT_THAT(with([](sim::Op& op) {
                op.outputs[0].storage = sim::Output::Storage::kInput;
                op.outputs[0].alias = op.inputs[0];
              }),
              HasSubstr("has an output in another's storage,"));
}

TEST(Collectives, OneReadsWhatAnotherMakes) {
  sim::OpGraph graph = Graph("ReduceScatter", 4, 4000, {1000, 1000, 1000, 1000});
  const sim::OpIndex scatter = graph.Find("all0");
  graph.ops.push_back(Op("gather", "AllGather", {{scatter, 0}, {scatter, 1}, {scatter, 2}, {scatter, 3}},
                         {4000, 4000, 4000, 4000}, {}));
  graph.Finish();
  EXPECT_EQ(sim::ToMicros(Simulate(SplitCollectives(graph), 4, "fair").runtime),
            10 + 3 * 2 + 3 * 2);  // the uses of the chunks beside it
}

TEST(Collectives, FilesHaveThemWholeOrAsMembers) {
  const tests::TempFolder folder;
  WriteGraph(folder / "graph.json", Graph("AllReduce", 2, 100, {100, 100}));
  const sim::OpGraph graph = ReadGraph(folder / "graph.json");
  EXPECT_EQ(graph.Find("all0"), -1);
  const auto end = graph.Find("all0/rank1");
  ASSERT_GE(end, 0);
  EXPECT_EQ(graph.ops[static_cast<std::size_t>(end)].colocate, "rank1");
  EXPECT_EQ(graph.ops[static_cast<std::size_t>(graph.Find("use0_1"))].inputs[0].op, end);
  EXPECT_THAT(graph.collectives(), ElementsAre(ElementsAre(end - 1, end)));
  WriteGraph(folder / "members.json", graph);
  EXPECT_EQ(PrintGraph(ReadGraph(folder / "members.json")), PrintGraph(graph));
}

TEST(Collectives, RefusesWhatMakesNoSense) {
  const auto error = RefusalOf;
  EXPECT_THAT(error(Graph("AllReduce", 1, 8, {8})), HasSubstr("op 'all0': a collective of 1 rank"));
  EXPECT_THAT(error(Graph("AllReduce", 2, 8, {8})), HasSubstr("has 1 outputs, but must have one for each"));
  EXPECT_THAT(error(Graph("AllReduce", 2, 8, {8, 4})), HasSubstr("its output has 4 bytes, but must have 8"));
  EXPECT_THAT(error(Graph("ReduceScatter", 2, 8, {8, 8})),
              HasSubstr("its output has 8 bytes, but must have 4"));
  EXPECT_THAT(error(Graph("AllGather", 2, 8, {8, 8})), HasSubstr("its output has 8 bytes, but must have 16"));
  sim::OpGraph twice = Graph("AllReduce", 2, 8, {8, 8});
  twice.ops[2].inputs[1] = twice.ops[2].inputs[0];
  twice.Finish();
  EXPECT_THAT(error(twice), HasSubstr("two ranks read tensors of 'make0_0'"));
  sim::OpGraph unlike = Graph("AllReduce", 2, 8, {8, 8});
  unlike.ops[1].outputs[0].bytes = 4;
  unlike.Finish();
  for (const char* type : {"AllReduce", "Broadcast"}) {
    unlike.ops[2].type = type;
    EXPECT_THAT(error(unlike),
                HasSubstr("takes 4 bytes, but 'all0/rank0', another rank of it, 8; they must be"));
  }
  EXPECT_THAT(error(Graph("AllToAll", 2, 9, {9, 9})), HasSubstr("its output has 9 bytes, but must have 8"));
  for (const sim::Attribute& root : {sim::Attribute{std::int64_t{2}}, {std::int64_t{-1}}, {std::string("x")}})
    EXPECT_THAT(error(WithRoot(Graph("Reduce", 2, 8, {8, 8}), root)),
                StartsWith("op 'all0/rank0': `root` must"));
  for (const std::int64_t stride : {0, 20'000}) {
    sim::OpGraph symmetric = Graph("AllReduce", 1, 8, {8});
    symmetric.ops[1].attributes = {{"ranks", {std::int64_t{2}}}, {"stride", {stride}}};
    symmetric.Finish();
    EXPECT_THAT(error(symmetric), HasSubstr("op 'all0': `stride` must be a whole number from 1 to 16384"));
  }
}

}  // namespace
}  // namespace stowplan::formats
