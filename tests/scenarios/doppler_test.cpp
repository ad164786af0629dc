#include "scenarios/importers/doppler.h"

#include "scenarios/scenarios.h"
#include "sim/cost_model.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

const std::string kFile = STOWPLAN_SOURCE_DIR "/tests/scenarios/data/doppler_small.txt";

// Four nodes beside two inputs: node0 -> node1, node2 -> node3.
TEST(DopplerGraphTest, ReadsNodesAndEdges) {
  const sim::OpGraph graph = LoadGraph(kFile);
  EXPECT_EQ(graph.name, "doppler_small");
  ASSERT_EQ(graph.size(), 4);
  std::vector<double> costs;
  std::vector<sim::Bytes> bytes;
  for (const sim::Op& op : graph.ops) {
    costs.push_back(op.cost_us.value());
    ASSERT_EQ(op.outputs.size(), 1u);
    bytes.push_back(op.outputs[0].bytes);
    EXPECT_EQ(op.type, "Profiled");
  }
  EXPECT_THAT(costs, ElementsAre(1000, 2000, 3000, 1000));
  EXPECT_THAT(bytes, ElementsAre(5'000'000'000, 10'000'000'000, 40'000'000'000, 1));
  EXPECT_THAT(graph.ops[3].inputs, ElementsAre(sim::TensorRef{1, 0}, sim::TensorRef{2, 0}));
}

// On cluster `doppler` an edge between two devices takes the communication of its source, whatever else is sent:
// node0 ends at 1 ms, node1 runs there until 3, node2 on the other device from 1.5 to 4.5, node3 where node1 is from 8.5.
TEST(DopplerGraphTest, RunsByTheRulesOfItsSimulator) {
  const sim::OpGraph graph = LoadGraph(kFile);
  const sim::Cluster cluster = LoadCluster("doppler(gpus=2)", TestCatalogue());
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, sim::NoCostModel{}));
  const auto simulator = sim::MakeSimulator(problem);
  const auto millis = [&](const std::vector<sim::DeviceIndex>& devices) {
    return sim::ToMicros(simulator->Run({devices}).runtime) / 1000;
  };
  EXPECT_EQ(millis({0, 0, 1, 0}), 9.5);
  EXPECT_EQ(millis({0, 0, 0, 0}), 7);
  EXPECT_EQ(millis({0, 1, 0, 0}), 5.5) << "node1 from 1.5 to 3.5, its copy until 4.5; node2 until 4";
}

TEST(DopplerGraphTest, TakesTypes) {
  const std::string text = "3\n0\n0\n1\n10,20,einsummable\n10,20,formation\n";
  EXPECT_TRUE(RecognisesDopplerGraph(text));
  EXPECT_EQ(ImportDopplerGraph(text, "g.txt").ops[1].type, "formation");
}

std::string DopplerError(const std::string& text) {
  return tests::ErrorOf([&] { ImportDopplerGraph(text, "g.txt"); }, "no error");
}

TEST(DopplerGraphTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(DopplerError("2 3\n"), "g.txt:1: has 2 numbers; expected the number of nodes alone");
  EXPECT_EQ(DopplerError("2\n\n0\n"), "g.txt: ends before the targets of the edges");
  EXPECT_THAT(DopplerError("2\n\n0\n1, 1\n"), StartsWith("g.txt:4: has 2 targets of edges; expected 1, as"));
  EXPECT_THAT(DopplerError("2\n\n0\n-1\n"), HasSubstr("g.txt:4: has \"-1\" where a whole number from 0 to"));
  EXPECT_THAT(DopplerError("2\n\n0\n1\n1,2\n1,2,add,3\n"), StartsWith("g.txt:6: has 4 words; expected"));
  EXPECT_THAT(DopplerError("3\n\n0\n1\n1,2\n1,2\n"), StartsWith("g.txt: has 2 nodes with costs and 0"));
  EXPECT_EQ(DopplerError("2\n\n0\n2\n1,2\n1,2\n"), "g.txt: edge 1 names node 2; expected one below 2");
  EXPECT_THAT(DopplerError("2\n\n0, 1\n1, 0\n1,2\n1,2\n"), HasSubstr("cycle"));
}

TEST(DopplerGraphTest, RefusesTooMany) {
  EXPECT_EQ(DopplerError("1000001\n\n\n\n"), "g.txt:1: says 1000001 nodes; 1000000 are the most");
  EXPECT_EQ(DopplerError("1\n\n\n\n1,2\n1,2\n"), "g.txt:6: has a node more than the 1 of line 1");
  EXPECT_EQ(DopplerError("1\n\n\n\n" + std::string(10'000'001, ' ')),
            "g.txt:5: has 10000001 bytes; 10000000 are the most of a line");
}

// A graph file has collectives of these names, which this is none of.
TEST(DopplerGraphTest, ANameOfACollectiveIsNone) {
  EXPECT_EQ(ImportDopplerGraph("1\n\n\n\n1,2,AllGather\n", "g.txt").ops[0].type, "other.AllGather");
  EXPECT_EQ(ImportDopplerGraph("1\n\n\n\n1,2,Gather\n", "g.txt").ops[0].type, "Gather");
}

// Each edge was looked for among all that its target had before.
TEST(DopplerGraphTest, ManyReadersOfOneNodeAreNoWork) {
  constexpr int kNodes = 150'000;
  std::string from, to, costs;
  for (int i = 1; i < kNodes; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      from += std::to_string(i) + ",";
      to += "0,";
    }
  }
  for (int i = 0; i < kNodes; ++i) costs += "1,1\n";
  const std::string text = std::to_string(kNodes) + "\n\n" + from + "\n" + to + "\n" + costs;
  const sim::OpGraph graph = ImportDopplerGraph(text, "g.txt");
  ASSERT_EQ(graph.ops[0].inputs.size(), kNodes - 1u);
  EXPECT_EQ(graph.ops[0].inputs.front().op, 1);
  EXPECT_EQ(graph.ops[0].inputs.back().op, kNodes - 1);
}

TEST(DopplerGraphTest, IsToldFromOtherFiles) {
  EXPECT_TRUE(RecognisesDopplerGraph(formats::ReadFile(kFile)));
  EXPECT_FALSE(RecognisesDopplerGraph("{}"));
  EXPECT_FALSE(RecognisesDopplerGraph("1\n2\n"));
  EXPECT_FALSE(RecognisesDopplerGraph("format: stowplan.graph\nversion: 1\nops: []\nname: x\n"));
}

}  // namespace
}  // namespace stowplan::scenarios
