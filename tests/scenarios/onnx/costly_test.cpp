// Models of about a megabyte that were made to be costly: refused by a sentence, or read in seconds. Without the limits that
// they are held to, each of them takes minutes or many gigabytes.
#include "scenarios/importers/onnx.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

std::string Numbered(const char* name, int number) {
  return name + std::to_string(number);
}

GraphMaker WithARelu() {
  GraphMaker m;
  m.Input("x", {4}).Node("Relu", {"x"}, {"y"}).Output("y");
  return m;
}

// Each of them is small enough to be worked out; all together are not. Axes count, as every number is found by them.
TEST(OnnxCostly, ManyConstantsThatAreWorkedOut) {
  GraphMaker m = WithARelu();
  std::vector<std::int64_t> dims(64, 1);
  dims[0] = 1 << 16;
  m.Ints("dims", dims);
  for (int i = 0; i < 40; ++i) m.Node("ConstantOfShape", {"dims"}, {Numbered("c", i)});
  EXPECT_THAT(RefusalOf(m), HasSubstr("the constants of the model take more than 2^26 numbers"));
}

TEST(OnnxCostly, AConcatOfVeryManyLongParts) {
  GraphMaker m = WithARelu();
  m.Ints("dims", {0, 1 << 16}).Node("ConstantOfShape", {"dims"}, {"empty"});
  m.Node("Concat", GraphMaker::Names(20'000, "empty"), {"joined"}, {{"axis", std::int64_t{1}}});
  EXPECT_EQ(RefusalOf(m), "no error");
}

TEST(OnnxCostly, TensorsOfMoreAxesThanAnyHas) {
  const auto of = [](std::size_t rank) {
    GraphMaker m;
    m.Input("x", std::vector<GraphMaker::Dim>(rank, std::int64_t{1})).Node("Relu", {"x"}, {"y"}).Output("y");
    return RefusalOf(m);
  };
  EXPECT_EQ(of(64), "no error");
  EXPECT_THAT(of(65), HasSubstr("tensor 'x' has 65 axes, but may have at most 64"));
}

// What a trip costs is told by the tensors and the text of its nodes, not by their number.
TEST(OnnxCostly, ALoopWithAWideBody) {
  GraphMaker body;
  body.Input("i", {}).Input("go", {}, onnx::TensorProto::BOOL).Input("s", {4});
  body.Node("Wide", GraphMaker::Names(40'000, "s"), {"t"}, {}, "com.example").Output("go").Output("t");
  GraphMaker m;
  m.Input("x", {4}).Ints("trips", {100'000}).Node("Loop", {"trips", "", "x"}, {"y"}, {{"body", body.graph}});
  EXPECT_THAT(RefusalOf(m.Output("y")), HasSubstr("loops are written out to more than 262144 nodes"));
}

// Their shapes take more memory than their names.
TEST(OnnxCostly, ALoopOfTensorsOfManyAxes) {
  const std::vector<GraphMaker::Dim> axes(64, std::int64_t{1});
  GraphMaker body;
  body.Input("i", {}).Input("go", {}, onnx::TensorProto::BOOL).Input("s", axes);
  const GraphMaker::Names outputs = {"t", "a", "b", "c", "d", "e"};
  body.Node("Wide", {"s"}, outputs, {}, "com.example").Output("go").Output("t");
  GraphMaker m;
  m.Input("x", axes).Ints("trips", {100'000}).Node("Loop", {"trips", "", "x"}, {"y"}, {{"body", body.graph}});
  EXPECT_THAT(RefusalOf(m.Output("y")), HasSubstr("loops are written out to more than 262144 nodes"));
}

// What is let be grows with the file.
TEST(OnnxCostly, ALargeModelIsWrittenOutToMore) {
  GraphMaker body;
  body.Input("i", {}).Input("go", {}, onnx::TensorProto::BOOL).Input("s", {4});
  body.Node("Wide", GraphMaker::Names(40'000, "s"), {"t"}, {}, "com.example").Output("go").Output("t");
  GraphMaker m;
  m.Input("x", {4}).Ints("trips", {30}).Node("Loop", {"trips", "", "x"}, {"y"}, {{"body", body.graph}});
  m.Output("y");
  EXPECT_THAT(RefusalOf(m), HasSubstr("loops are written out to more than 262144 nodes"));
  m.graph.set_doc_string(std::string(2'000'000, 'a'));
  EXPECT_EQ(RefusalOf(m), "no error");
}

TEST(OnnxCostly, ALoopWithManyWeights) {
  GraphMaker body;
  body.Input("i", {}).Input("go", {}, onnx::TensorProto::BOOL).Input("s", {4});
  for (int i = 0; i < 5'000; ++i) body.Weight(Numbered("w", i), {4});
  body.Output("go").Output("s");
  GraphMaker m;
  m.Input("x", {4}).Ints("trips", {100'000}).Node("Loop", {"trips", "", "x"}, {"y"}, {{"body", body.graph}});
  EXPECT_THAT(RefusalOf(m.Output("y")), HasSubstr("loops are written out to more than 262144 nodes"));
}

// What the branch that is not taken had is forgotten, without a look at all other weights.
TEST(OnnxCostly, ManyBranchesAndManyWeights) {
  GraphMaker branch;
  branch.Weight("inner", {4}).Node("Add", {"x", "inner"}, {"b"}).Output("b");
  GraphMaker m;
  m.Input("x", {4}).Input("go", {}, onnx::TensorProto::BOOL);
  for (int i = 0; i < 10'000; ++i) m.Weight(Numbered("w", i), {4});
  for (int i = 0; i < 2'000; ++i)
    m.Node("If", {"go"}, {Numbered("y", i)}, {{"then_branch", branch.graph}, {"else_branch", branch.graph}});
  const sim::OpGraph graph = Import(m.Output("y0").Output("y1999"));
  EXPECT_EQ(std::ranges::count(graph.ops, "Variable", &sim::Op::type), 2);
}

TEST(OnnxCostly, ANodeOfManyAttributes) {
  std::vector<GraphMaker::Attribute> attributes;
  for (int i = 0; i < 257; ++i) attributes.push_back({Numbered("a", i), std::int64_t{1}});
  GraphMaker m;
  m.Input("x", {4}).Node("Shuffle", {"x"}, {"y"}, attributes, "com.example").Output("y");
  EXPECT_THAT(RefusalOf(m), HasSubstr("node 'y' (com.example.Shuffle): has 257 attributes"));
}

TEST(OnnxCostly, VeryManyDimensionsWithoutAValue) {
  GraphMaker m = WithARelu();
  for (int i = 0; i < 40'000; ++i) m.Input(Numbered("x", i), {Numbered("d", i)});
  EXPECT_THAT(RefusalOf(m), HasSubstr("'d39999' (axis 0 of input x39999)"));
}

TEST(OnnxCostly, AnEinsumOfVeryManyOperands) {
  constexpr int kOperands = 40'000;
  std::string equation = "a";
  for (int i = 1; i < kOperands; ++i) equation += ",a";
  GraphMaker m;
  m.Input("x", {4}).Node("Einsum", GraphMaker::Names(kOperands, "x"), {"y"}, {{"equation", equation + "->"}});
  const sim::OpGraph graph = Import(m.Output("y"));
  EXPECT_EQ(OpNamed(graph, "y").flops, 2 * 4) << "the label goes with the last operand";
}

TEST(OnnxCostly, ANodeOfVeryManyInputsThatNodesGive) {
  constexpr int kInputs = 40'000;
  GraphMaker m;
  m.Input("x", {4});
  GraphMaker::Names names;
  for (int i = 0; i < kInputs; ++i) {
    names.push_back(Numbered("n", i));
    m.Node("Identity", {"x"}, {names.back()});
  }
  EXPECT_EQ(RefusalOf(m.Node("Sum", names, {"y"}).Output("y")), "no error");
}

}  // namespace
}  // namespace stowplan::scenarios
