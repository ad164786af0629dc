#include "scenarios/scenarios.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

TEST(ChainTest, IsARowOfEqualOps) {
  const sim::OpGraph graph = LoadGraph("chain(ops=4,us=7.5,bytes=3)");
  ASSERT_EQ(graph.size(), 4);
  EXPECT_EQ(graph.edges(), 3);
  for (sim::OpIndex i = 0; i < 4; ++i) {
    const sim::Op& op = graph.ops[static_cast<std::size_t>(i)];
    EXPECT_EQ(op.cost_us, 7.5);
    EXPECT_EQ(op.outputs.at(0).bytes, 3);
    if (i > 0) {
      EXPECT_THAT(op.inputs, ElementsAre(sim::TensorRef{i - 1, 0}));
    }
  }
}

TEST(ChainTest, FlopsLeaveThePriceToACostModel) {
  const sim::Op op = LoadGraph("chain(ops=1,us=100,cost=flops)").ops.at(0);
  EXPECT_FALSE(op.cost_us.has_value());
  EXPECT_EQ(op.flops, 100e6);  // 100 us at 1 TFLOP/s
  EXPECT_EQ(op.type, "MatMul");
}

TEST(DiamondTest, HasParallelPaths) {
  const sim::OpGraph graph = LoadGraph("diamond(width=3,depth=2)");
  ASSERT_EQ(graph.size(), 3 * 2 + 2);
  EXPECT_EQ(graph.edges(), 3 * 3);  // into each path, inside it, out of it
  EXPECT_EQ(graph.consumers(graph.Find("source")).size(), 3u);
  EXPECT_EQ(graph.ops.back().inputs.size(), 3u);
  std::set<double> branches;
  for (const sim::Op& op : graph.ops) branches.insert(*sim::FindNumber(op.attributes, "branch"));
  EXPECT_THAT(branches, ElementsAre(0, 1, 2));
}

TEST(DiamondTest, RefusesWhatIsTooLarge) {
  EXPECT_THROW(LoadGraph("diamond(width=10000,depth=10000)"), InputError);
}

// The engine of the standard is fixed by it and the rest is ours, so these hold on every platform.
TEST(RandomDagTest, SameSeedSameGraphEverywhere) {
  const sim::OpGraph graph = LoadGraph("random_dag(ops=6,width=2,seed=1)");
  std::vector<double> micros;
  for (const sim::Op& op : graph.ops) micros.push_back(*op.cost_us);
  EXPECT_THAT(micros, ElementsAre(100, 39, 4, 182, 11, 120));
  EXPECT_THAT(graph.ops[5].inputs,
              ElementsAre(sim::TensorRef{2, 0}, sim::TensorRef{3, 0}, sim::TensorRef{0, 0}));
  EXPECT_NE(*LoadGraph("random_dag(ops=6,width=2,seed=2)").ops[0].cost_us, micros[0]);
}

TEST(RandomDagTest, RefusesWhatIsTooLarge) {
  try {
    LoadGraph("random_dag(ops=100000,fan_in=101)");
    FAIL() << "it was made";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("random_dag of 100000 ops that read up to 101 others each; ops"));
  }
}

TEST(RandomDagTest, KeepsItsBoundsAndMeans) {
  const sim::OpGraph graph = LoadGraph("random_dag(ops=20000,width=100,fan_in=4,us=50,bytes=1000,seed=3)");
  double micros = 0;
  double bytes = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const sim::Op& op = graph.ops[i];
    const auto layer = static_cast<sim::OpIndex>(i / 100);
    ASSERT_LE(op.inputs.size(), 4u);
    ASSERT_EQ(op.inputs.empty(), layer == 0);
    if (layer > 0) {
      ASSERT_EQ(op.inputs[0].op / 100, layer - 1);
    }
    for (const auto input : op.inputs) ASSERT_LT(input.op, layer * 100);
    ASSERT_GE(*op.cost_us, 1);
    ASSERT_LE(*op.cost_us, 99);
    ASSERT_LE(op.outputs[0].bytes, 2000);
    micros += *op.cost_us;
    bytes += static_cast<double>(op.outputs[0].bytes);
  }
  // Uniform with means 50 and 1000: standard deviations 28.6 and 577, of the means of 20,000 ops 0.2 and 4.1.
  EXPECT_NEAR(micros / 20000, 50, 1);
  EXPECT_NEAR(bytes / 20000, 1000, 20);
}

TEST(RandomDagTest, OneWideLayerHasNoEdges) {
  EXPECT_EQ(LoadGraph("random_dag(ops=5,width=9)").edges(), 0);
}

}  // namespace
}  // namespace stowplan::scenarios
