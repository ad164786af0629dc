// Collectives, worked out by hand: docs/model.md, "Collectives".
#include "sim/formats/collectives.h"

#include <fmt/format.h>

#include "sim/formats/formats.h"
#include "sim/simulator.h"
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
      Simulate(ExpandCollectives(Graph(type, ranks, in, out, count)), ranks, interconnect, all).runtime);
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
  return tests::ErrorOf([&] { ExpandCollectives(graph); });
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

// All chunks of 1,000 cross at once, each on a link of its own.
TEST(Collectives, AnAllToAllIsOneStep) {
  for (const char* interconnect : {"fifo", "fair", "ideal"})
    EXPECT_EQ(MicrosOfFour("AllToAll", interconnect), 10 + 2 + 5);
}

// Over a switch a chunk of 1,000 takes 2 us to begin and 1 us to cross. What sends one after the other takes three steps, in
// each of which every link carries one chunk each way; what sends all at once takes the time of all on its link.
TEST(Collectives, AnAllToAllOverASwitchTakesItsStepsInPairs) {
  const sim::OpGraph graph = ExpandCollectives(Graph("AllToAll", 4, 4000, {4000, 4000, 4000, 4000}));
  const auto micros = [&](const char* interconnect, const char* kind) {
    return sim::ToMicros(Simulate(graph, StarCluster(interconnect, kind)).runtime);
  };
  for (const char* kind : {"cpu-bare", "gpu-a"}) {
    EXPECT_EQ(micros("fifo", kind), 10 + 3 * (2 + 1) + 5);
    EXPECT_EQ(micros("ideal", kind), 10 + (2 + 1) + 5);
  }
  EXPECT_EQ(micros("fair", "gpu-a"), 10 + 3 * (2 + 1) + 5) << "one copy engine sends";
  EXPECT_NEAR(micros("fair", "cpu-bare"), 10 + (2 + 3 * 1) + 5, 1e-4)
      << "a third of the rate is rounded down";
}

TEST(Collectives, TwoAllToAllsShareTheirLinks) {
  EXPECT_EQ(MicrosOfFour("AllToAll", "ideal", 2), 10 + (1 + 1) + 5);
  EXPECT_EQ(MicrosOfFour("AllToAll", "fair", 2), 10 + (1 + 2) + 5);
}

// Each of four in a ring sends a chunk to two neighbours, and one over two links to the rank across.
TEST(Collectives, AnAllToAllOfNeighboursGoesAcrossThem) {
  const sim::OpGraph graph = ExpandCollectives(Graph("AllToAll", 4, 4000, {4000, 4000, 4000, 4000}));
  sim::Bytes sent = 0;
  for (const sim::LinkUse& link : Simulate(graph, 4, "fair").links) sent += link.bytes;
  EXPECT_EQ(sent, 8 * 1000 + 4 * 2 * 1000);
}

// Rank r gets chunk r of every tensor: 400, 200 and 100 bytes of tensors of 1,200, 600 and 300; its own goes nowhere.
TEST(Collectives, AnAllToAllOfUnequalTensors) {
  sim::OpGraph graph = Graph("AllToAll", 3, 1200, {700, 700, 700});
  graph.ops[1].outputs[0].bytes = 600;
  graph.ops[2].outputs[0].bytes = 300;
  graph.Finish();
  const sim::Outcome outcome = Simulate(ExpandCollectives(graph), 3, "fifo");
  EXPECT_DOUBLE_EQ(sim::ToMicros(outcome.runtime), 10 + (1 + 0.4) + 5);
  sim::Bytes sent = 0;
  for (const sim::LinkUse& link : outcome.links) sent += link.bytes;
  EXPECT_EQ(sent, 2 * (400 + 200 + 100));
}

// A rank's tensor, what it received of three others, and both put together.
TEST(Collectives, AnAllToAllNeedsBothTensorsAndWhatItReceived) {
  const sim::Outcome outcome =
      Simulate(ExpandCollectives(Graph("AllToAll", 4, 4096, {4096, 4096, 4096, 4096})), 4, "fifo", true);
  for (const sim::DeviceUse& device : outcome.devices) EXPECT_EQ(device.peak, 2 * 4096 + 3 * 1024);
}

// The tensor of 2,100,000 bytes is cut into four, 300,000, then 600,000 each. Under `fifo` a chain of four sends one chunk
// after the other; the last goes two links further. All ranks are joined alike, so it does not matter whose tensor it is.
TEST(Collectives, ATensorOfOneRankGoesAlongAChain) {
  const std::vector<sim::Bytes> out(4, 2'100'000);
  for (const char* type : {"Broadcast", "Reduce"}) {
    for (const std::int64_t root : {0, 2, 3}) {
      const sim::OpGraph graph = ExpandCollectives(WithRoot(Graph(type, 4, 2'100'000, out), {root}));
      const sim::Outcome outcome = Simulate(graph, 4, "fifo");
      EXPECT_EQ(sim::ToMicros(outcome.runtime), 10 + (301 + 3 * 601) + 2 * 601 + 5) << type << root;
      sim::Bytes sent = 0;
      for (const sim::LinkUse& link : outcome.links) sent += link.bytes;
      EXPECT_EQ(sent, 3 * 2'100'000) << type << root;
    }
  }
}

// Under `fair` two chunks are on the way at once. The first rank's link is busy from 1 us to 2,101: chunks arrive at 601,
// 1,199 (the next began to cross at 603), 1,801 and 2,101. The next two pass on the first two alone; the last two share
// each link for its last 600 us.
TEST(Collectives, AChainKeepsItsLinkBusy) {
  const std::vector<sim::Bytes> out(4, 2'100'000);
  for (const char* type : {"Broadcast", "Reduce"})
    EXPECT_EQ(Micros(type, 4, 2'100'000, out, "fair"), 10 + (1 + 2100) + (1 + 900) + (1 + 900) + 5);
}

// Small ones are not cut, two ranks have nobody to pass on to.
TEST(Collectives, AChainOfOneChunk) {
  for (const char* interconnect : {"fifo", "fair", "ideal"}) {
    for (const char* type : {"Broadcast", "Reduce"}) {
      EXPECT_EQ(MicrosOfFour(type, interconnect), 10 + 3 * (4 + 1) + 5);
      EXPECT_EQ(Micros(type, 2, 700'000, {700'000, 700'000}, interconnect), 10 + (700 + 1) + 5);
    }
  }
}

TEST(Collectives, ChunksOfAChainAreAllSent) {
  for (const sim::Bytes bytes : {0, 1, 1001, 3'000'001, 700'000'003}) {
    const std::vector<sim::Bytes> out(5, bytes);
    for (const char* type : {"Broadcast", "Reduce"}) {
      sim::Bytes sent = 0;
      for (const sim::LinkUse& link :
           Simulate(ExpandCollectives(Graph(type, 5, bytes, out)), 5, "fair").links)
        sent += link.bytes;
      EXPECT_EQ(sent, 4 * bytes) << type;
    }
  }
}

TEST(Collectives, OnlyTheRootWaitsForAReduce) {
  const sim::OpGraph graph =
      ExpandCollectives(WithRoot(Graph("Reduce", 3, 900, {900, 900, 900}), {std::int64_t{1}}));
  const auto inputs = [&](const char* name) {
    return graph.ops[static_cast<std::size_t>(graph.Find(name))].inputs.size();
  };
  EXPECT_EQ(inputs("all0/all/rank0"), 1u);
  EXPECT_EQ(inputs("all0/all/rank1"), 2u);
  EXPECT_EQ(inputs("all0/all/rank2"), 1u);
}

TEST(Collectives, ABroadcastIsOfTheRoot) {
  const sim::OpGraph graph =
      ExpandCollectives(WithRoot(Graph("Broadcast", 3, 900, {900, 900, 900}), {std::int64_t{2}}));
  const auto from = [&](const char* name) {
    return graph.ops[static_cast<std::size_t>(graph.Find(name))].inputs;
  };
  EXPECT_THAT(from("all0/chunk0/rank2"), ElementsAre(sim::TensorRef{graph.Find("all0/rank2"), 0}));
  EXPECT_THAT(from("all0/chunk0/rank0"), ElementsAre(sim::TensorRef{graph.Find("all0/chunk0/rank2"), 0}));
  EXPECT_THAT(from("all0/chunk0/rank1"), ElementsAre(sim::TensorRef{graph.Find("all0/chunk0/rank0"), 0}));
}

TEST(Collectives, EachLinkCarriesTwiceAllChunksButOne) {
  const sim::Outcome outcome =
      Simulate(ExpandCollectives(Graph("AllReduce", 4, 4000, {4000, 4000, 4000, 4000})), 4, "fair");
  ASSERT_EQ(outcome.links.size(), 4u);
  for (const sim::LinkUse& link : outcome.links) EXPECT_EQ(link.bytes, 6 * 1000);
}

// Two that begin at once go on step by step: each link carries two chunks, in twice the time but one latency.
TEST(Collectives, TwoRingsShareTheirLinks) {
  EXPECT_EQ(Micros("AllReduce", 4, 4000, {4000, 4000, 4000, 4000}, "ideal", 2), 10 + 6 * 2 + 5);
  EXPECT_EQ(Micros("AllReduce", 4, 4000, {4000, 4000, 4000, 4000}, "fair", 2), 10 + 6 * 3 + 5);
}

TEST(Collectives, BytesThatDoNotDivideAreAllSent) {
  for (const int ranks : {2, 3, 5}) {
    const std::vector<sim::Bytes> out(static_cast<std::size_t>(ranks), 1001);
    const sim::OpGraph graph = ExpandCollectives(Graph("AllReduce", ranks, 1001, out));
    sim::Bytes sent = 0;
    for (const sim::LinkUse& link : Simulate(graph, ranks, "fair").links) sent += link.bytes;
    EXPECT_EQ(sent, 2 * (ranks - 1) * 1001) << ranks;
  }
}

// Two chunks of 2,000 cross at once: 2 us and a latency of 1 us a step.
TEST(Collectives, TwoRanksTakeTwoSteps) {
  for (const char* interconnect : {"fifo", "fair", "ideal"})
    EXPECT_EQ(Micros("AllReduce", 2, 4000, {4000, 4000}, interconnect), 10 + 2 * 3 + 5);
}

// The largest of the three goes two steps in a row, from rank 2 over rank 0 to rank 1.
TEST(Collectives, GathersTensorsOfUnequalSizes) {
  sim::OpGraph graph = Graph("AllGather", 3, 1000, {6000, 6000, 6000});
  graph.ops[1].outputs[0].bytes = 2000;
  graph.ops[2].outputs[0].bytes = 3000;
  graph.Finish();
  EXPECT_EQ(sim::ToMicros(Simulate(ExpandCollectives(graph), 3, "fifo").runtime), 10 + 2 * (3 + 1) + 5);
}

// A rank's own tensor, in which the result stands, and beside it its sum and the chunks that it received.
TEST(Collectives, NeedTwiceTheTensorAtThePeak) {
  const sim::Outcome outcome =
      Simulate(ExpandCollectives(Graph("AllReduce", 4, 4096, {4096, 4096, 4096, 4096})), 4, "fifo");
  ASSERT_EQ(outcome.devices.size(), 4u);
  for (const sim::DeviceUse& device : outcome.devices) EXPECT_EQ(device.peak, 2 * 4096);
}

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
  const sim::OpGraph ring = ExpandCollectives(graph);
  const auto& waits = ring.ops[static_cast<std::size_t>(ring.Find("after"))].control;
  EXPECT_THAT(waits, ElementsAre(ring.Find("all0/all/rank0"), ring.Find("all0/all/rank1")));
  for (const char* begins : {"all0/rank0", "all0/rank1"})
    EXPECT_THAT(ring.ops[static_cast<std::size_t>(ring.Find(begins))].control,
                ElementsAre(ring.Find("late")));
}

TEST(Collectives, ASetOfTheUserIsNotJoined) {
  sim::OpGraph graph = Graph("AllReduce", 2, 100, {100, 100});
  for (sim::Op& op : graph.ops) op.colocate.clear();
  graph.ops[3].colocate = "all0/rank1";  // the consumer of rank 0
  graph.Finish();
  const sim::OpGraph ring = ExpandCollectives(graph);
  EXPECT_EQ(ring.ops[static_cast<std::size_t>(ring.Find("make0_0"))].colocate, "all0/rank0");
  EXPECT_EQ(ring.ops[static_cast<std::size_t>(ring.Find("make0_1"))].colocate, "all0/rank1'");
}

TEST(Collectives, RefusesTooManyOps) {
  const auto of = [](int ranks, int count) {
    return RefusalOf(
        Graph("AllReduce", ranks, 8, std::vector<sim::Bytes>(static_cast<std::size_t>(ranks), 8), count));
  };
  EXPECT_THAT(of(513, 1), HasSubstr("op 'all0': a collective of 513 ranks; 512 are the most"));
  EXPECT_THAT(of(512, 3), HasSubstr("op 'all2': the collectives up to here become 1572864 ops; 1048576"));
  const auto exchanges = [](int count) {
    return RefusalOf(Graph("AllToAll", 512, 512, std::vector<sim::Bytes>(512, 512), count));
  };
  EXPECT_EQ(exchanges(3), "");
  EXPECT_THAT(exchanges(4), HasSubstr("op 'all3': the collectives up to here become 1050624 ops"));
}

// 8192 ops, each of which would have a name, or a set, of 40 kB.
TEST(Collectives, RefusesToCopyTooLongNames) {
  const std::string longest(40'000, 'n');
  sim::OpGraph graph = Graph("AllReduce", 64, 8, std::vector<sim::Bytes>(64, 8), 1);
  graph.ops[static_cast<std::size_t>(graph.Find("all0"))].name = longest;
  graph.Finish();
  EXPECT_THAT(RefusalOf(graph), HasSubstr("the names of what the collectives up to here become take"));
  graph = Graph("AllReduce", 64, 8, std::vector<sim::Bytes>(64, 8), 1);
  graph.ops[0].colocate = longest;
  graph.Finish();
  EXPECT_THAT(RefusalOf(graph), HasSubstr("op 'all0': the names of what the collectives up to here become"));
}

TEST(Collectives, RefusesTooManyThatWaitForTooMany) {
  sim::OpGraph graph = Graph("AllReduce", 512, 8, std::vector<sim::Bytes>(512, 8), 1);
  const auto ring = static_cast<sim::OpIndex>(graph.Find("all0"));
  for (int i = 0; i < 2049; ++i) {
    sim::Op& op = graph.ops.emplace_back();
    op.name = "waits" + std::to_string(i);
    op.type = "T";
    op.cost_us = 1;
    op.control = {ring};
  }
  graph.Finish();
  EXPECT_THAT(RefusalOf(graph), HasSubstr("op 'waits2048': up to here the ranks of collectives and those"));
}

TEST(Collectives, RefusesWhatARingWouldLose) {
  const auto with = [](const auto& set) {
    sim::OpGraph graph = Graph("AllReduce", 2, 8, {8, 8});
    set(graph.ops[2]);
    graph.Finish();
    return RefusalOf(graph);
  };
  EXPECT_EQ(with([](sim::Op& op) { op.cost_us = 3; }),
            "op 'all0': has cost_us, but AllReduce must have none: its links price it");
  EXPECT_THAT(with([](sim::Op& op) { op.cost_us_by_kind = {{"gpu", 3}}; }), HasSubstr("has cost_us,"));
  EXPECT_THAT(with([](sim::Op& op) { op.flops = 1; }), HasSubstr("has flops,"));
  EXPECT_THAT(with([](sim::Op& op) { op.persistent_bytes = 1; }), HasSubstr("has persistent_bytes,"));
  EXPECT_THAT(with([](sim::Op& op) { op.workspace_bytes = 1; }), HasSubstr("has workspace_bytes,"));
  EXPECT_THAT(with([](sim::Op& op) {
                op.attributes = {{"stage", {std::int64_t{1}}}};
              }),
              HasSubstr("has attributes,"));
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
  const sim::OpGraph both = ExpandCollectives(graph);
  EXPECT_FALSE(HasCollectives(both));
  EXPECT_EQ(sim::ToMicros(Simulate(both, 4, "fair").runtime),
            10 + 3 * 2 + 3 * 2 + 5);  // the uses of the chunks in between
}

TEST(Collectives, FilesMayHaveThem) {
  const tests::TempFolder folder;
  WriteGraph(folder / "graph.json", Graph("AllReduce", 2, 100, {100, 100}));
  const sim::OpGraph graph = ReadGraph(folder / "graph.json");
  EXPECT_EQ(graph.Find("all0"), -1);
  EXPECT_GE(graph.Find("all0/add0/rank1"), 0);
  const auto end = graph.Find("all0/all/rank1");
  ASSERT_GE(end, 0);
  EXPECT_EQ(graph.ops[static_cast<std::size_t>(end)].colocate, "rank1");
  EXPECT_EQ(graph.ops[static_cast<std::size_t>(graph.Find("use0_1"))].inputs[0].op, end);
}

TEST(Collectives, RefusesWhatMakesNoSense) {
  const auto error = RefusalOf;
  EXPECT_THAT(error(Graph("AllReduce", 1, 8, {8})), HasSubstr("op 'all0': a collective of 1 rank"));
  EXPECT_THAT(error(Graph("AllReduce", 2, 8, {8})), HasSubstr("has 1 outputs, but must have one for each"));
  EXPECT_THAT(error(Graph("AllReduce", 2, 8, {8, 4})), HasSubstr("output 1 has 4 bytes, but must have 8"));
  EXPECT_THAT(error(Graph("ReduceScatter", 2, 8, {8, 8})), HasSubstr("output 0 has 8 bytes, but must have"));
  EXPECT_THAT(error(Graph("AllGather", 2, 8, {8, 8})), HasSubstr("output 0 has 8 bytes, but must have 16"));
  sim::OpGraph twice = Graph("AllReduce", 2, 8, {8, 8});
  twice.ops[2].inputs[1] = twice.ops[2].inputs[0];
  twice.Finish();
  EXPECT_THAT(error(twice), HasSubstr("two ranks read tensors of 'make0_0'"));
  sim::OpGraph unlike = Graph("AllReduce", 2, 8, {8, 8});
  unlike.ops[1].outputs[0].bytes = 4;
  unlike.Finish();
  EXPECT_THAT(error(unlike), HasSubstr("adds tensors of 8 and 4 bytes"));
  unlike.ops[2].type = "Broadcast";
  EXPECT_THAT(error(unlike), HasSubstr("copies into tensors of 8 and 4 bytes"));
  EXPECT_THAT(error(Graph("AllToAll", 2, 9, {9, 9})), HasSubstr("output 0 has 9 bytes, but must have 8"));
  for (const sim::Attribute& root : {sim::Attribute{std::int64_t{2}}, {std::int64_t{-1}}, {std::string("x")}})
    EXPECT_THAT(error(WithRoot(Graph("Reduce", 2, 8, {8, 8}), root)), StartsWith("op 'all0': `root` must"));
  EXPECT_THAT(error(WithRoot(Graph("AllReduce", 2, 8, {8, 8}), {std::int64_t{0}})),
              HasSubstr("has attributes, but AllReduce must have none"));
  sim::OpGraph more = WithRoot(Graph("Reduce", 2, 8, {8, 8}), {std::int64_t{0}});
  more.ops[2].attributes.emplace_back("stage", sim::Attribute{std::int64_t{1}});
  more.Finish();
  EXPECT_THAT(error(more), HasSubstr("has attributes but `root`, but Reduce must have none"));
}

}  // namespace
}  // namespace stowplan::formats
