// Operator sets 18 to 23. Shapes beside those of onnx's own inference: tests/python/onnx_test.py.
#include "scenarios/importers/onnx.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

TEST(OnnxNewerSets, AxesOfReductionsAreInputs) {
  GraphMaker m;
  m.Input("x", {2, 3, 5}).Ints("axes", {-1}).Ints("none", {});
  m.Node("ReduceMean", {"x", "axes"}, {"mean"}, {{"keepdims", std::int64_t{0}}}).Output("mean");
  m.Node("ReduceMax", {"x"}, {"all"}).Output("all");
  m.Node("ReduceMax", {"x", "none"}, {"same"}, {{"noop_with_empty_axes", std::int64_t{1}}}).Output("same");
  const sim::OpGraph graph = Import(m, {}, 18);
  EXPECT_EQ(ShapeText(graph, "mean"), "f32[2,3]");
  EXPECT_EQ(ShapeText(graph, "all"), "f32[1,1,1]");
  EXPECT_EQ(ShapeText(graph, "same"), "f32[2,3,5]");
}

TEST(OnnxNewerSets, PartsOfASplitThatDoesNotComeOutEven) {
  GraphMaker m;
  m.Input("x", {7, 2});
  m.Node("Split", {"x"}, {"a", "b", "c"}, {{"num_outputs", std::int64_t{3}}}).Output("a").Output("c");
  const sim::OpGraph graph = Import(m, {}, 20);
  EXPECT_THAT(OpNamed(graph, "a").outputs[0].shape, ElementsAre(3, 2));
  EXPECT_THAT(OpNamed(graph, "a").outputs[2].shape, ElementsAre(1, 2));
}

TEST(OnnxNewerSets, AttentionIsOneOpWithTheWorkOfItsTwoProductsAndHasAGradient) {
  GraphMaker m;
  m.Input("x", {2, 7, 32}).Weight("wq", {32, 32}).Weight("wk", {32, 16});
  m.Node("MatMul", {"x", "wq"}, {"q"}).Node("MatMul", {"x", "wk"}, {"k"});
  m.Node("Attention", {"q", "k", "k"}, {"y"},
         {{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  m.Output("y");
  const sim::OpGraph graph = Import(m, {.training = "sgd"}, 23);
  const sim::Op& op = OpNamed(graph, "y");
  EXPECT_EQ(op.type, "Attention");
  EXPECT_EQ(ShapeText(graph, "y"), "f32[2,7,32]");
  EXPECT_EQ(op.flops, 2.0 * 2 * 4 * 7 * 7 * (8 + 8));
  EXPECT_EQ(OpNamed(graph, "gradients/y/input").flops, 2.5 * op.flops);
}

TEST(OnnxNewerSets, TypesBelowAByteArePacked) {
  GraphMaker m;
  m.Weight("w", {3, 5}, 22).Weight("scale", {}).Weight("x", {4, 5}, 17);  // INT4, FLOAT8E4M3FN
  m.Node("DequantizeLinear", {"w", "scale"}, {"y"}).Output("y");
  m.Node("Cast", {"x"}, {"z"}, {{"to", std::int64_t{TensorProto::BFLOAT16}}, {"saturate", std::int64_t{1}}});
  m.Output("z");
  const sim::OpGraph graph = Import(m, {}, 21);
  EXPECT_EQ(ShapeText(graph, "w"), "i4[3,5]");
  EXPECT_EQ(OpNamed(graph, "w").outputs[0].bytes, 8);
  EXPECT_EQ(OpNamed(graph, "x").outputs[0].bytes, 20);
  EXPECT_EQ(ShapeText(graph, "y"), "f32[3,5]");
  EXPECT_EQ(ShapeText(graph, "z"), "bf16[4,5]");
}

TEST(OnnxNewerSets, WhatContradictsItselfIsRefused) {
  const auto refusal = [](const GraphMaker& m) { return RefusalOf(m, {}, 23); };
  GraphMaker axes;
  axes.Input("x", {2, 3}).Ints("a", {0, -2}).Node("ReduceMean", {"x", "a"}, {"y"}).Output("y");
  EXPECT_THAT(refusal(axes), AllOf(HasSubstr("node 'y' (ReduceMean)"), HasSubstr("twice")));
  GraphMaker split;
  split.Input("x", {2, 3}).Node("Split", {"x"}, {"y", "z"}, {{"num_outputs", std::int64_t{3}}}).Output("y");
  EXPECT_THAT(refusal(split), HasSubstr("num_outputs is 3, but it has 2 outputs"));
  GraphMaker pad;
  pad.Input("x", {2, 3}).Ints("p", {1, 1}).Ints("a", {5}).Node("Pad", {"x", "p", "", "a"}, {"y"}).Output("y");
  EXPECT_THAT(refusal(pad), HasSubstr("an entry of its axes is 5"));
  GraphMaker heads;
  heads.Input("q", {1, 4, 5, 8})
      .Input("k", {1, 3, 5, 8})
      .Node("Attention", {"q", "k", "k"}, {"y"})
      .Output("y");
  EXPECT_THAT(refusal(heads), HasSubstr("a multiple of that of queries"));
  GraphMaker groups;
  groups.Input("x", {2, 6, 4}).Input("s", {3});
  groups.Node("GroupNormalization", {"x", "s", "s"}, {"y"}, {{"num_groups", std::int64_t{3}}}).Output("y");
  EXPECT_THAT(refusal(groups), HasSubstr("a number for each channel"));
  EXPECT_EQ(RefusalOf(groups, {}, 20), "no error") << "one for each group, before set 21";
}

TEST(OnnxNewerSets, AxesThatAreNotInTheFileAreAskedForAndMayBeStated) {
  GraphMaker m;
  m.Input("x", {2, 3})
      .Input("axes", {1}, TensorProto::INT64)
      .Node("ReduceMean", {"x", "axes"}, {"y"})
      .Output("y");
  EXPECT_THAT(RefusalOf(m, {}, 18), AllOf(HasSubstr("depends on data"), HasSubstr("--dim y:0=N")));
  m.Hint("y", {2, 1});
  EXPECT_EQ(ShapeText(Import(m, {}, 18), "y"), "f32[2,1]");
}

// Fields that the library of set 17 does not know, written by hand.
std::string Field(std::uint32_t number, const std::string& body) {
  std::string out;
  for (std::uint64_t rest : {std::uint64_t{number} << 3 | 2, std::uint64_t{body.size()}}) {
    for (; rest >= 0x80; rest >>= 7) out.push_back(static_cast<char>((rest & 0x7F) | 0x80));
    out.push_back(static_cast<char>(rest));
  }
  return out + body;
}

onnx::FunctionProto FunctionOf(const std::string& type) {
  onnx::FunctionProto function;
  function.set_name("f");
  function.set_domain("local");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("to");
  auto* opset = function.add_opset_import();
  opset->set_version(20);
  auto* node = function.add_node();
  node->set_op_type(type);
  node->add_input("a");
  node->add_output("b");
  if (type == "Cast") {
    auto* attribute = node->add_attribute();
    attribute->set_name("to");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_ref_attr_name("to");
  }
  return function;
}

TEST(OnnxNewerSets, FunctionsHaveOverloadsAndDefaults) {
  GraphMaker m;
  m.Input("x", {2, 3}).Node("f", {"x"}, {"y"}, {}, "local").Node("f", {"y"}, {"z"}, {}, "local").Output("z");
  onnx::ModelProto model = ModelOf(m, 20);
  onnx::AttributeProto fallback;
  fallback.set_name("to");
  fallback.set_type(onnx::AttributeProto::INT);
  fallback.set_i(TensorProto::FLOAT16);
  std::string bytes;
  {
    const std::string called = model.graph().node(1).SerializeAsString() + Field(8, "fast");
    onnx::ModelProto shell = model;
    shell.mutable_graph()->clear_node();
    onnx::GraphProto graph = shell.graph();
    shell.clear_graph();
    bytes = shell.SerializeAsString() +
            Field(7, graph.SerializeAsString() + Field(1, model.graph().node(0).SerializeAsString()) +
                         Field(1, called));
  }
  bytes += Field(25, FunctionOf("Cast").SerializeAsString() + Field(11, fallback.SerializeAsString()));
  bytes += Field(25, FunctionOf("Gelu").SerializeAsString() + Field(13, "fast"));
  const sim::OpGraph graph = ImportOnnx(bytes, "model.onnx", {}).graph;
  EXPECT_THAT(TypesOf(graph), ElementsAre("Cast", "Gelu"));
  EXPECT_EQ(graph.ops.back().outputs[0].dtype, "f16");
}

TEST(OnnxNewerSets, NodesAreNamedByTheModuleThatTheirExporterSays) {
  GraphMaker m;
  m.Input("x", {2, 3}).Output("y");
  onnx::NodeProto node;
  node.set_op_type("Relu");
  node.set_name("node_relu_1");
  node.add_input("x");
  node.add_output("y");
  const std::string entry = Field(1, "pkg.torch.onnx.name_scopes") +
                            Field(2, "['', 'layer1', 'layer1.0', 'layer1.0.act', 'relu_1']");
  onnx::ModelProto shell = ModelOf(m, 20);
  const std::string graph =
      shell.graph().SerializeAsString() + Field(1, node.SerializeAsString() + Field(9, entry));
  shell.clear_graph();
  const sim::OpGraph imported =
      ImportOnnx(shell.SerializeAsString() + Field(7, graph), "model.onnx", {}).graph;
  const sim::Op& op = OpNamed(imported, "layer1.0.act/Relu");
  EXPECT_EQ(op.group, "layer1.0");
  EXPECT_EQ(sim::FindString(op.attributes, "onnx_node"), "node_relu_1") << "what exports go by";
}

}  // namespace
}  // namespace stowplan::scenarios
