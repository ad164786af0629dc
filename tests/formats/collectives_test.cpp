// Collectives as rings: worked out by hand, docs/model.md "Collectives".
#include "sim/formats/collectives.h"

#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/formats/sample_catalogue.h"
#include "tests/temp_folder.h"

namespace berth::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// All ops here have a cost of their own.
class NoPrices : public sim::CostModel {
 public:
  std::string name() const override { return "none"; }
  std::optional<sim::Price> Predict(const sim::OpGraph& /*graph*/, sim::OpIndex /*op*/,
                                    const sim::Device& /*device*/) const override {
    return std::nullopt;
  }
};

// Neighbours are joined by links of 1 GB/s and 1 us.
sim::Cluster RingCluster(int ranks, const std::string& interconnect) {
  std::string text = "format: berth.cluster\nversion: 1\ninterconnect: " + interconnect + "\ndevices:\n";
  for (int i = 0; i < ranks; ++i) text += fmt::format("  - {{name: d{}, kind: cpu-bare, memory: 1GiB}}\n", i);
  text += "links:\n";
  for (int i = 0; i < (ranks == 2 ? 1 : ranks); ++i)
    text += fmt::format("  - {{name: l{0}, ends: [d{0}, d{1}], bandwidth: 1GB/s, latency: 1us}}\n", i,
                        (i + 1) % ranks);
  return ParseCluster(text, "ring", SampleCatalogue());
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
sim::Outcome Simulate(const sim::OpGraph& graph, int ranks, const std::string& interconnect) {
  const sim::Cluster cluster = RingCluster(ranks, interconnect);
  sim::Placement placement;
  for (const sim::Op& op : graph.ops) placement.device.push_back(op.colocate.back() - '0');
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, NoPrices()));
  return sim::MakeSimulator(problem)->Run(placement);
}

double Micros(const std::string& type, int ranks, sim::Bytes in, const std::vector<sim::Bytes>& out,
              const std::string& interconnect, int count = 1) {
  return sim::ToMicros(
      Simulate(ExpandCollectives(Graph(type, ranks, in, out, count)), ranks, interconnect).runtime);
}

std::string RefusalOf(const sim::OpGraph& graph) {
  try {
    ExpandCollectives(graph);
  } catch (const InputError& wrong) {
    return wrong.what();
  }
  return "";
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

TEST(Collectives, RefusesRingsOfTooManyOps) {
  const auto of = [](int ranks, int count) {
    return RefusalOf(
        Graph("AllReduce", ranks, 8, std::vector<sim::Bytes>(static_cast<std::size_t>(ranks), 8), count));
  };
  EXPECT_THAT(of(513, 1), HasSubstr("op 'all0': a collective of 513 ranks; 512 are the most"));
  EXPECT_THAT(of(512, 3),
              HasSubstr("op 'all2': the collectives up to here are rings of 1572864 ops; 1048576"));
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
  EXPECT_THAT(RefusalOf(graph),
              HasSubstr("op 'waits2048': up to here the ranks of collectives and those that wait for "
                        "them make 1049088 waits; 1048576 are the most"));
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
  EXPECT_THAT(error(Graph("AllReduce", 2, 8, {8})),
              HasSubstr("has 1 outputs, but must have one for each of its 2"));
  EXPECT_THAT(error(Graph("AllReduce", 2, 8, {8, 4})), HasSubstr("output 1 has 4 bytes, but must have 8"));
  EXPECT_THAT(error(Graph("ReduceScatter", 2, 8, {8, 8})),
              HasSubstr("output 0 has 8 bytes, but must have 4"));
  EXPECT_THAT(error(Graph("AllGather", 2, 8, {8, 8})), HasSubstr("output 0 has 8 bytes, but must have 16"));
  sim::OpGraph twice = Graph("AllReduce", 2, 8, {8, 8});
  twice.ops[2].inputs[1] = twice.ops[2].inputs[0];
  twice.Finish();
  EXPECT_THAT(error(twice), HasSubstr("two ranks read tensors of 'make0_0'"));
  sim::OpGraph unlike = Graph("AllReduce", 2, 8, {8, 8});
  unlike.ops[1].outputs[0].bytes = 4;
  unlike.Finish();
  EXPECT_THAT(error(unlike), HasSubstr("adds tensors of 8 and 4 bytes"));
}

}  // namespace
}  // namespace berth::formats
