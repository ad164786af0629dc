// Translation and transformer models against counts by hand: weights, multiply-adds, op counts, sums of
// outputs.
#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

TEST(NmtTest, RecurrentProductsAreMarked) {
  for (const sim::Op& op : LoadGraph("nmt(steps=3)").ops) {
    const bool in_cell = op.type == "MatMul" && op.name.find("/step") != std::string::npos &&
                         op.name.find("layer") != std::string::npos;
    EXPECT_EQ(sim::FindAttribute(op.attributes, "recurrent") != nullptr, in_cell) << op.name;
  }
}

// The table is looked up in and multiplied with: one dense gradient of both, on the table's device.
TEST(TransformerXlTest, TableAndSoftmaxShareOneGradient) {
  const sim::OpGraph graph = LoadGraph("transformer_xl(batch=2)");
  const auto& sum = graph.ops.at(static_cast<std::size_t>(graph.Find("gradients/embedding/weights/sum")));
  EXPECT_EQ(sum.type, "AddN");
  EXPECT_EQ(sum.outputs.at(0).shape, (std::vector<std::int64_t>{267'735, 410}));
  EXPECT_EQ(sum.inputs.size(), 2u);
}

// The memory is cut out of what a layer sees and read by nothing in this step; no gradient enters it.
TEST(TransformerXlTest, MemoryRecursWithoutGradient) {
  const sim::OpGraph graph = LoadGraph("transformer_xl(batch=2,segment=100,memory=30)");
  const sim::OpIndex memory = graph.Find("layer1/attention/new_memory");
  ASSERT_GE(memory, 0);
  EXPECT_TRUE(graph.consumers(memory).empty());
  EXPECT_EQ(
      graph.ops[static_cast<std::size_t>(memory)].outputs.at(0).shape,
      graph.ops.at(static_cast<std::size_t>(graph.Find("layer1/attention/memory"))).outputs.at(0).shape);
}

TEST(TransformersTest, RefuseWidthsThatHeadsDoNotDivide) {
  for (const char* name : {"bert(hidden=770)", "transformer_xl(heads=7)"}) {
    try {
      LoadGraph(name);
      FAIL() << name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("is no multiple of heads="), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace stowplan::scenarios
