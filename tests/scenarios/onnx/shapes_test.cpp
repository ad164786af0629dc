// Shapes that are worked out while a model is imported, and subgraphs.
#include "scenarios/importers/onnx.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

GraphMaker::Attribute Axis(std::int64_t axis) {
  return {"axis", axis};
}

TEST(OnnxShapes, ReshapeToAShapeThatIsComputed) {
  // x.view(x.size(0), x.size(1) * x.size(2)), as exporters write it
  GraphMaker m;
  m.Input("x", {"batch", "length", 6}).Ints("zero", {0}).Ints("one", {1}).Ints("two", {2}).Ints("axes", {0});
  m.Node("Shape", {"x"}, {"s"});
  for (const char* at : {"zero", "one", "two"}) m.Node("Gather", {"s", at}, {std::string("d_") + at});
  m.Node("Mul", {"d_one", "d_two"}, {"rest"}).Node("Concat", {"d_zero", "rest"}, {"target"}, {Axis(0)});
  m.Node("Reshape", {"x", "target"}, {"y"}).Output("y");
  const sim::OpGraph graph = Import(m, {.dims = {{"batch", 8}, {"length", 5}}});
  EXPECT_EQ(ShapeText(graph, "y"), "f32[8,30]");
  EXPECT_THAT(TypesOf(graph), ElementsAre("Reshape")) << "what works out the shape costs nothing";
}

TEST(OnnxShapes, EveryOpThatExportersPutBetweenAShapeAndItsUser) {
  GraphMaker m;
  m.Input("x", {4, 6, 10, 3})
      .Ints("zero", {0})
      .Ints("one", {1})
      .Ints("two", {2})
      .Ints("last", {9'223'372'036'854'775'807});
  m.Node("Shape", {"x"}, {"s"}).Node("Slice", {"s", "one", "last"}, {"tail"});  // 6 10 3
  m.Node("Split", {"tail"}, {"a", "b", "c"}, {Axis(0)});                        // 6 | 10 | 3
  m.Node("Cast", {"b"}, {"bf"}, {{"to", std::int64_t{TensorProto::FLOAT}}});
  m.Node("Cast", {"two"}, {"twof"}, {{"to", std::int64_t{TensorProto::FLOAT}}});
  m.Node("Div", {"bf", "twof"}, {"half"}).Node("Floor", {"half"}, {"floor"});  // 5.0
  m.Node("Cast", {"floor"}, {"five"}, {{"to", std::int64_t{TensorProto::INT64}}});
  m.Node("Sub", {"a", "two"}, {"four"}).Node("Div", {"four", "two"}, {"halved"});                 // 2
  m.Node("Equal", {"halved", "two"}, {"same"}).Node("Where", {"same", "five", "a"}, {"chosen"});  // 5
  m.Node("Squeeze", {"chosen"}, {"scalar"}).Node("Unsqueeze", {"scalar", "zero"}, {"vector"});    // 5
  m.Node("ConstantOfShape", {"one"}, {"ones"}, {{"value", IntTensor({7})}});                      // 7
  m.Node("Squeeze", {"zero"}, {"from"}).Node("Squeeze", {"two"}, {"to"}).Node("Squeeze", {"one"}, {"by"});
  m.Node("Range", {"from", "to", "by"}, {"range"})
      .Node("ReduceProd", {"tail"}, {"all"}, {{"keepdims", std::int64_t{0}}});
  m.Node("Unsqueeze", {"all", "zero"}, {"all1"});                                         // 180
  m.Node("Gather", {"range", "one"}, {"unit"}).Node("Max", {"unit", "one"}, {"larger"});  // 1
  m.Node("Concat", {"vector", "ones", "larger", "all1"}, {"joined"}, {Axis(0)});          // 5 7 1 180
  m.Node("Transpose", {"joined"}, {"turned"}).Node("Identity", {"turned"}, {"target"});
  m.Input("v", {1, 1, 1, 1}).Node("Expand", {"v", "target"}, {"y"}).Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(ShapeText(graph, "y"), "f32[5,7,1,180]");
  EXPECT_THAT(TypesOf(graph), ElementsAre("Expand"));
}

TEST(OnnxShapes, ResizeByScalesOfAConstant) {
  GraphMaker m;
  onnx::TensorProto scales;
  scales.set_data_type(TensorProto::FLOAT);
  scales.add_dims(4);
  for (const float scale : {1.F, 1.F, 2.F, 2.F}) scales.add_float_data(scale);
  m.Input("x", {1, 8, 5, 5}).Node("Constant", {}, {"scales"}, {{"value", scales}});
  m.Node("Resize", {"x", "", "scales"}, {"y"}).Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(ShapeText(graph, "y"), "f32[1,8,10,10]");
}

TEST(OnnxShapes, DimensionsThatDependOnDataAreGivenByName) {
  GraphMaker m;
  m.Input("x", {4, 6}).Node("NonZero", {"x"}, {"found"}).Node("Transpose", {"found"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(m), HasSubstr("--dim found:1=N"));
  EXPECT_EQ(ShapeText(Import(m, {.dims = {{"found:1", 24}}}), "y"), "i64[24,2]");
}

TEST(OnnxShapes, AKnownConditionChoosesItsBranch) {
  GraphMaker narrow;
  narrow.Node("Tanh", {"x"}, {"t"}).Output("t");
  GraphMaker wide;
  wide.Weight("w", {6, 9}).Node("MatMul", {"x", "w"}, {"t"}).Output("t");
  GraphMaker m;
  m.Input("x", {"batch", 6}).Ints("zero", {0}).Ints("eight", {8});
  m.Node("Shape", {"x"}, {"s"})
      .Node("Gather", {"s", "zero"}, {"n"})
      .Node("Equal", {"n", "eight"}, {"is_eight"});
  m.Node("If", {"is_eight"}, {"y"}, {{"then_branch", wide.graph}, {"else_branch", narrow.graph}}).Output("y");
  EXPECT_THAT(TypesOf(Import(m, {.dims = {{"batch", 8}}})), ElementsAre("MatMul"));
  EXPECT_THAT(TypesOf(Import(m, {.dims = {{"batch", 2}}})), ElementsAre("Tanh"));
}

TEST(OnnxShapes, AnUnknownConditionTakesTheThenBranchWhereShapesAgree) {
  GraphMaker yes;
  yes.Node("Tanh", {"x"}, {"t"}).Output("t");
  GraphMaker no;
  no.Weight("w", {6, 6}).Node("MatMul", {"x", "w"}, {"t"}).Output("t");
  GraphMaker m;
  m.Input("x", {2, 6}).Input("c", {}, TensorProto::BOOL);
  m.Node("If", {"c"}, {"y"}, {{"then_branch", yes.graph}, {"else_branch", no.graph}}).Output("y");
  const ImportedGraph imported = ImportOnnx(BytesOf(m), "model.onnx", {});
  EXPECT_THAT(TypesOf(imported.graph), ElementsAre("Tanh"));
  EXPECT_EQ(imported.graph.totals().parameters, 0) << "the weights of the other branch are not there";
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr("then-branch")));

  // A file that is given where a graph is wanted has the same notes.
  const tests::TempFolder folder;
  const std::string path = folder / "then_branch.onnx";
  formats::WriteFile(path, BytesOf(m));
  std::vector<std::string> notes;
  LoadGraph(path, nullptr, &notes);
  EXPECT_EQ(notes, imported.notes);

  no.graph.mutable_initializer(0)->set_dims(1, 7);
  *m.graph.mutable_node(0)->mutable_attribute(1)->mutable_g() = no.graph;
  EXPECT_THAT(RefusalOf(m), HasSubstr("different shapes"));
}

GraphMaker LoopOf(const std::string& trips) {
  GraphMaker body;
  body.Input("i", {}, TensorProto::INT64).Input("go", {}, TensorProto::BOOL).Input("state", {2, 6});
  body.Weight("w", {6, 6}).Node("MatMul", {"state", "w"}, {"next"}).Node("Tanh", {"next"}, {"seen"});
  body.Node("Identity", {"go"}, {"go_on"}).Output("go_on").Output("next").Output("seen");
  GraphMaker m;
  m.Input("x", {2, 6})
      .Input("n", {}, TensorProto::INT64)
      .Node("Constant", {}, {"four"}, {{"value", IntTensor({4}, true)}});
  m.Node("Loop", {trips, "", "x"}, {"last", "all"}, {{"body", body.graph}}).Output("last").Output("all");
  return m;
}

TEST(OnnxShapes, ALoopIsWrittenOutTripByTripWithOneSetOfWeights) {
  const sim::OpGraph graph = Import(LoopOf("four"));
  EXPECT_EQ(graph.totals().flops, 4 * 2.0 * 2 * 6 * 6);
  EXPECT_EQ(graph.totals().parameters, 36);
  EXPECT_EQ(ShapeText(graph, "last/pack"), "f32[4,2,6]");
  EXPECT_EQ(OpNamed(graph, "last/3/next").inputs[0].op, graph.Find("last/2/next"));
}

TEST(OnnxShapes, ALoopWhoseTripsDependOnDataIsRefused) {
  EXPECT_THAT(RefusalOf(LoopOf("n")), HasSubstr("node 'last' (Loop): how often its body runs depends on"));
}

TEST(OnnxShapes, AScanReadsSlicesAndCollectsResults) {
  GraphMaker body;
  body.Input("state", {3})
      .Input("slice", {3})
      .Node("Add", {"state", "slice"}, {"sum"})
      .Node("Relu", {"sum"}, {"out"});
  body.Output("sum").Output("out");
  GraphMaker m;
  m.Input("start", {3}).Input("xs", {5, 3});
  m.Node("Scan", {"start", "xs"}, {"last", "all"},
         {{"body", body.graph}, {"num_scan_inputs", std::int64_t{1}}});
  m.Output("all");
  const sim::OpGraph graph = Import(m);
  const auto types = TypesOf(graph);
  EXPECT_EQ(std::count(types.begin(), types.end(), "Add"), 5);
  EXPECT_EQ(OpNamed(graph, "last/unpack").outputs.size(), 5u);
  EXPECT_EQ(ShapeText(graph, "last/pack"), "f32[5,3]");
}

TEST(OnnxShapes, FunctionsOfTheModelAreWrittenOut) {
  GraphMaker m;
  m.Input("x", {2, 6, 4, 4}).Weight("w", {8, 6, 3, 3});
  m.Node("Block", {"x", "w"}, {"y"}, {{"stride", Ints{2, 2}}}, "mine").Output("y");
  onnx::ModelProto model = ModelOf(m);
  auto* function = model.add_functions();
  function->set_name("Block");
  function->set_domain("mine");
  for (const char* input : {"a", "b"}) function->add_input(input);
  function->add_output("r");
  GraphMaker inside;
  inside.Node("Conv", {"a", "b"}, {"c"}).Node("Relu", {"c"}, {"r"});
  auto* strides = inside.graph.mutable_node(0)->add_attribute();
  strides->set_name("strides");
  strides->set_ref_attr_name("stride");
  *function->mutable_node() = inside.graph.node();
  const sim::OpGraph graph = ImportOnnx(model.SerializeAsString(), "model.onnx", {}).graph;
  EXPECT_THAT(TypesOf(graph), ElementsAre("Conv2D", "Relu"));
  EXPECT_EQ(ShapeText(graph, "y/r"), "f32[2,8,1,1]");
}

TEST(OnnxShapes, NodesMayStandInAnyOrder) {
  GraphMaker m;
  m.Input("x", {4})
      .Node("Tanh", {"b"}, {"y"})
      .Node("Exp", {"a"}, {"b"})
      .Node("Relu", {"x"}, {"a"})
      .Output("y");
  EXPECT_THAT(TypesOf(Import(m)), ElementsAre("Relu", "Exp", "Tanh"));
}

}  // namespace
}  // namespace stowplan::scenarios
