#include "cost_models/ops/op_types.h"

#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

sim::Op OpOf(const std::string& type) {
  sim::Op op;
  op.name = "op";
  op.type = type;
  return op;
}

TEST(OpTypes, EveryTypeStandsOnce) {
  std::set<std::string_view> seen;
  for (const OpType& row : OpTypes()) {
    EXPECT_TRUE(seen.insert(row.type).second) << row.type;
    EXPECT_EQ(FindOpType(row.type), &row);
    EXPECT_EQ(ClassOf(OpOf(std::string(row.type))), row.op_class) << row.type;
    EXPECT_EQ(row.words > 0, row.access == Access::kUpdate) << row.type;
    EXPECT_TRUE(row.grid == Grid::kNone || IsContraction(row.op_class)) << row.type;
  }
}

TEST(OpTypes, TypesOfListsEveryTypeInOneClass) {
  std::size_t listed = 0;
  for (int i = 0; i <= kOpClasses; ++i) {
    const auto types = TypesOf(static_cast<OpClass>(i));
    EXPECT_EQ(types.empty(), i == static_cast<int>(OpClass::kDilatedConvolution)) << i;
    EXPECT_TRUE(std::is_sorted(types.begin(), types.end()));
    listed += types.size();
  }
  EXPECT_EQ(listed, OpTypes().size());
}

// docs/op_types.md lists the types of each class in a table row: "| `gemm` | arithmetic | … |".
TEST(OpTypes, TheDocsListExactlyTheTypesOfEachClass) {
  std::ifstream docs(std::string(STOWPLAN_SOURCE_DIR) + "/docs/op_types.md");
  ASSERT_TRUE(docs);
  int classes = 0;
  for (std::string line; std::getline(docs, line);) {
    for (int i = 0; i <= kOpClasses; ++i) {
      const auto op_class = static_cast<OpClass>(i);
      if (!line.starts_with("| `" + std::string(ToString(op_class)) + "` |")) continue;
      ++classes;
      std::string types;
      for (const std::string& type : TypesOf(op_class)) types += (types.empty() ? "" : ", ") + type;
      EXPECT_TRUE(line.ends_with(types + " |")) << "the row should end with: " << types;
    }
  }
  EXPECT_EQ(classes, kOpClasses + 1);
}

// The names that workloads and importers use; one of each class that must not fall through to element-wise.
TEST(OpTypes, WorkloadTypesAreKnown) {
  for (const char* type : {"Conv2D",
                           "Conv2DBackpropInput",
                           "Conv2DBackpropFilter",
                           "DepthwiseConv2D",
                           "DepthwiseConv2DBackpropInput",
                           "DepthwiseConv2DBackpropFilter",
                           "MatMul",
                           "BatchMatMul",
                           "BiasAdd",
                           "BiasAddGrad",
                           "Relu",
                           "ReluGrad",
                           "Sigmoid",
                           "Tanh",
                           "Mul",
                           "Add",
                           "AddN",
                           "Sub",
                           "FusedBatchNorm",
                           "FusedBatchNormGrad",
                           "LayerNorm",
                           "MaxPool",
                           "MaxPoolGrad",
                           "AvgPool",
                           "AvgPoolGrad",
                           "Concat",
                           "Split",
                           "Slice",
                           "Pad",
                           "Reshape",
                           "Transpose",
                           "Softmax",
                           "SoftmaxCrossEntropy",
                           "Gather",
                           "GatherGrad",
                           "ReduceSum",
                           "Mean",
                           "Dropout",
                           "ApplyAdam",
                           "ApplyMomentum",
                           "ApplyRMSProp",
                           "ApplyGradientDescent",
                           "Identity",
                           "NoOp"}) {
    EXPECT_NE(FindOpType(type), nullptr) << type;
  }
}

TEST(ClassOf, AttributesRefineTheType) {
  sim::Op matmul = OpOf("MatMul");
  matmul.attributes = {{"recurrent", {true}}};
  EXPECT_EQ(ClassOf(matmul), OpClass::kRecurrentGemm);
  matmul.attributes = {{"recurrent", {false}}};
  EXPECT_EQ(ClassOf(matmul), OpClass::kGemm);
  sim::Op add = OpOf("Add");
  add.attributes = {{"recurrent", {true}}};
  EXPECT_EQ(ClassOf(add), OpClass::kElementwise);

  sim::Op conv = OpOf("Conv2D");
  const auto dilations = [](std::int64_t rate) {
    return sim::Attributes{{"dilations", {sim::Attribute::List{{std::int64_t{1}}, {rate}}}}};
  };
  conv.attributes = dilations(4);
  EXPECT_EQ(ClassOf(conv), OpClass::kDilatedConvolution);
  conv.attributes = dilations(1);
  EXPECT_EQ(ClassOf(conv), OpClass::kConvolution);
  conv.attributes = {{"dilations", {std::string("4")}}};
  EXPECT_EQ(ClassOf(conv), OpClass::kConvolution);
}

TEST(ClassOf, UnknownTypesGoByWhatTheyDo) {
  sim::Op op = OpOf("MyOp");
  EXPECT_EQ(ClassOf(op), OpClass::kElementwise);
  op.outputs.push_back({16, "f32", {4}, sim::Output::Storage::kInput, {}});
  EXPECT_EQ(ClassOf(op), OpClass::kNothing);
  op.outputs.push_back({16, "f32", {4}, sim::Output::Storage::kOwn, {}});
  EXPECT_EQ(ClassOf(op), OpClass::kElementwise);
  op.flops = 1;
  EXPECT_EQ(ClassOf(op), OpClass::kGemm);
}

TEST(OpClass, NamesRoundTrip) {
  for (int i = 0; i < kOpClasses; ++i) {
    EXPECT_EQ(OpClassNamed(ToString(static_cast<OpClass>(i))), static_cast<OpClass>(i));
  }
  EXPECT_EQ(OpClassNamed("nothing"), std::nullopt);
  EXPECT_EQ(OpClassNamed("Gemm"), std::nullopt);
}

}  // namespace
}  // namespace stowplan::cost_models
