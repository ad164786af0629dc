// Ops of a model as ops of ours: types, shapes, FLOPs, storage, parameters.
#include "scenarios/importers/onnx.h"
#include "scenarios/importers/onnx/model.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/scenarios/onnx/samples.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

TEST(OnnxOps, ConvolutionHasTheFlopsOfItsFilterAndABiasOpOfItsOwn) {
  GraphMaker m;
  m.Input("x", {2, 4, 9, 9}).Weight("w", {8, 4, 3, 3}).Weight("b", {8});
  m.Node("Conv", {"x", "w", "b"}, {"y"}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}).Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_THAT(TypesOf(graph), ElementsAre("Conv2D", "BiasAdd"));
  EXPECT_EQ(ShapeText(graph, "y"), "f32[2,8,5,5]");
  EXPECT_EQ(OpNamed(graph, "y").flops, 2.0 * 2 * 8 * 5 * 5 * 4 * 3 * 3);
  EXPECT_EQ(sim::FindString(OpNamed(graph, "y").attributes, "data_format"), "NCHW");
  EXPECT_EQ(OpNamed(graph, "y/bias_add").outputs[0].storage, sim::Output::Storage::kInput) << "in place";
  EXPECT_EQ(graph.totals().parameters, 8 * 4 * 3 * 3 + 8);
}

TEST(OnnxOps, GroupsDivideTheWorkAndOnePerChannelIsDepthwise) {
  GraphMaker m;
  m.Input("x", {1, 8, 5, 5}).Weight("grouped", {16, 4, 1, 1}).Weight("deep", {16, 1, 3, 3});
  m.Node("Conv", {"x", "grouped"}, {"g"}, {{"group", std::int64_t{2}}});
  m.Node("Conv", {"g", "deep"}, {"d"}, {{"group", std::int64_t{16}}}).Output("d");
  const sim::OpGraph graph = Import(m);
  EXPECT_THAT(TypesOf(graph), ElementsAre("Conv2D", "DepthwiseConv2dNative"));
  EXPECT_EQ(OpNamed(graph, "g").flops, 2.0 * 16 * 25 * 4);
  EXPECT_EQ(OpNamed(graph, "d").flops, 2.0 * 16 * 9 * 9);
}

// As ONNX Runtime exports one rank of a tensor-parallel model.
GraphMaker::Attribute GroupOf(std::int64_t ranks) {
  return {"group_size", ranks};
}
GraphMaker OneRank(std::int64_t ranks) {
  GraphMaker m;
  m.Input("x", {2, 8}).Weight("w", {8, 4});
  m.Node("MatMul", {"x", "w"}, {"part"});
  m.Node("AllReduce", {"part"}, {"sum"}, {GroupOf(ranks)}, "com.microsoft");
  m.Node("AllToAll", {"sum"}, {"turned"}, {GroupOf(ranks)}, "com.microsoft");
  m.Node("AllGather", {"turned"}, {"all"}, {GroupOf(ranks), {"axis", std::int64_t{-1}}}, "com.microsoft")
      .Output("all");
  return m;
}

TEST(OnnxOps, CollectivesAreThoseOfOneRank) {
  const ImportedGraph imported = ImportOnnx(BytesOf(OneRank(4)), "model.onnx", {});
  EXPECT_THAT(TypesOf(imported.graph), ElementsAre("MatMul", "AllReduce", "AllToAll", "AllGather"));
  EXPECT_EQ(ShapeText(imported.graph, "sum"), "f32[2,4]");
  EXPECT_EQ(ShapeText(imported.graph, "turned"), "f32[2,4]");
  EXPECT_EQ(ShapeText(imported.graph, "all"), "f32[2,16]");
  EXPECT_THAT(imported.notes, IsEmpty());
  const sim::OpGraph read = formats::ParseGraph(formats::PrintGraph(imported.graph), "graph.json");
  EXPECT_EQ(OpNamed(read, "rank3/part").flops, 2.0 * 2 * 8 * 4);
  EXPECT_EQ(read.totals().flops, 4 * imported.graph.totals().flops);
}

TEST(OnnxOps, ACollectiveOfOneRankIsNothing) {
  EXPECT_THAT(TypesOf(Import(OneRank(1))), ElementsAre("MatMul"));
}

TEST(OnnxOps, CollectivesThatMakeNoSenseAreRefused) {
  EXPECT_THAT(RefusalOf(OneRank(0)), HasSubstr("its group_size must be 1 to 16384"));
  GraphMaker m;
  m.Input("x", {2, 8});
  m.Node("AllGather", {"x"}, {"y"}, {GroupOf(2), {"axis", std::int64_t{2}}}, "com.microsoft").Output("y");
  EXPECT_THAT(RefusalOf(m), HasSubstr("its axis is 2, but its input has 2 axes"));
}

TEST(OnnxOps, TransposedConvolutionMultipliesEveryInputByTheFilter) {
  GraphMaker m;
  m.Input("x", {1, 4, 5, 5}).Weight("w", {4, 2, 3, 3});
  m.Node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", Ints{2, 2}}}).Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(ShapeText(graph, "y"), "f32[1,2,11,11]");
  EXPECT_EQ(OpNamed(graph, "y").flops, 2.0 * 4 * 25 * 2 * 9);
}

TEST(OnnxOps, ProductsOfMatrices) {
  GraphMaker m;
  m.Input("x", {6, 5}).Weight("w", {3, 5}).Weight("b", {3}).Input("q", {2, 4, 7, 8}).Input("k", {2, 4, 8, 9});
  m.Node("Gemm", {"x", "w", "b"}, {"gemm"}, {{"transB", std::int64_t{1}}}).Output("gemm");
  m.Node("MatMul", {"q", "k"}, {"scores"}).Output("scores");
  m.Node("Einsum", {"q", "k"}, {"einsum"}, {{"equation", std::string("b h i d, b h d j -> b h i j")}})
      .Output("einsum");
  m.Node("Einsum", {"q", "k"}, {"ellipsis"}, {{"equation", std::string("...id,...dj->...ij")}})
      .Output("ellipsis");
  m.Node("Einsum", {"q"}, {"turned"}, {{"equation", std::string("bhid->bdih")}}).Output("turned");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(OpNamed(graph, "gemm").type, "MatMul");
  EXPECT_EQ(OpNamed(graph, "gemm").flops, 2.0 * 6 * 3 * 5);
  EXPECT_EQ(ShapeText(graph, "gemm/bias_add"), "f32[6,3]");
  for (const char* product : {"scores", "einsum", "ellipsis"}) {
    EXPECT_EQ(OpNamed(graph, product).type, "BatchMatMul") << product;
    EXPECT_EQ(OpNamed(graph, product).flops, 2.0 * 2 * 4 * 7 * 9 * 8) << product;
    EXPECT_EQ(ShapeText(graph, product), "f32[2,4,7,9]") << product;
  }
  EXPECT_EQ(OpNamed(graph, "turned").flops, 0);
  EXPECT_EQ(ShapeText(graph, "turned"), "f32[2,8,7,4]");
}

TEST(OnnxOps, RecurrentLayerMultipliesEveryWeightAtEveryStep) {
  GraphMaker m;
  m.Input("x", {10, 3, 6}).Weight("w", {2, 20, 6}).Weight("r", {2, 20, 5});
  m.Node("LSTM", {"x", "w", "r"}, {"", "h"},
         {{"hidden_size", std::int64_t{5}}, {"direction", std::string("bidirectional")}});
  m.Output("h");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(OpNamed(graph, "h").flops, 2.0 * 10 * 3 * (2 * 20 * 6 + 2 * 20 * 5));
  EXPECT_EQ(ShapeText(graph, "h"), "f32[2,3,5]");
}

TEST(OnnxOps, EveryOneOfManyInputsIsRead) {
  GraphMaker m;
  m.Input("x", {4});
  GraphMaker::Names names;
  for (int i = 0; i < 150; ++i) {
    names.push_back("relu" + std::to_string(i));
    m.Node("Relu", {"x"}, {names.back()});
  }
  const sim::OpGraph graph = Import(m.Node("Sum", names, {"y"}).Output("y"));
  EXPECT_EQ(graph.ops.back().inputs.size(), 150u);
}

TEST(OnnxOps, IdentityOfAnInitializerIsCountedOnce) {
  GraphMaker m;
  m.Input("x", {2, 8}).Weight("w", {8, 8}).Node("Identity", {"w"}, {"v"}).Node("Identity", {"v"}, {"u"});
  m.Node("MatMul", {"x", "w"}, {"a"}).Node("MatMul", {"a", "u"}, {"y"}).Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(graph.totals().parameters, 64);
  EXPECT_THAT(TypesOf(graph), ElementsAre("MatMul", "MatMul"));
}

TEST(OnnxOps, ViewsAndTransposedWeightsTakeNoBytes) {
  GraphMaker m;
  m.Input("x", {2, 8})
      .Weight("w", {4, 8})
      .Node("Transpose", {"w"}, {"wt"})
      .Node("MatMul", {"x", "wt"}, {"xw"});
  m.Node("Unsqueeze", {"xw"}, {"y"}, {{"axes", Ints{0}}}).Node("Transpose", {"y"}, {"z"}).Output("z");
  const sim::OpGraph graph = Import(m, {}, 11);
  EXPECT_THAT(TypesOf(graph), ElementsAre("Reshape", "MatMul", "Reshape", "Transpose"));
  EXPECT_EQ(graph.totals().output_bytes, 4 * (2 * 8 + 2 * 4 + 2 * 4)) << "x, xw and z";
}

TEST(OnnxOps, TablesAreGatheredFromAndActivationsAreCut) {
  GraphMaker m;
  m.Input("ids", {2, 3}, TensorProto::INT64).Weight("table", {10, 4}).Ints("first", {0});
  m.Node("Gather", {"table", "ids"}, {"e"})
      .Node("Gather", {"e", "first"}, {"y"}, {{"axis", std::int64_t{1}}})
      .Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_THAT(TypesOf(graph), ElementsAre("GatherV2", "Slice"));
  EXPECT_EQ(ShapeText(graph, "y"), "f32[2,1,4]");
}

TEST(OnnxOps, HalfPrecisionAndIntegersHaveTheirBytes) {
  GraphMaker m;
  m.Input("x", {2, 8}, TensorProto::FLOAT16).Weight("w", {8, 8}, TensorProto::FLOAT16);
  m.Node("MatMul", {"x", "w"}, {"y"})
      .Node("ArgMax", {"y"}, {"best"}, {{"axis", std::int64_t{1}}})
      .Output("best");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(OpNamed(graph, "y").outputs[0].bytes, 32);
  EXPECT_EQ(OpNamed(graph, "w").persistent_bytes, 128);
  EXPECT_EQ(ShapeText(graph, "best"), "i64[2,1]");
}

TEST(OnnxOps, WeightsBeyondTwoGigabytesLieOutsideTheFile) {
  GraphMaker m;
  m.Input("x", {2, 50'000}).Weight("w", {50'000, 50'000}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  EXPECT_EQ(Import(m).totals().persistent_bytes, 10'000'000'000);
}

TEST(OnnxOps, WeightsInsideTheFileAreDroppedWhileItIsRead) {
  GraphMaker m;
  m.Input("x", {2, 300}).Weight("w", {300, 300}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  m.graph.mutable_initializer(0)->clear_data_location();
  m.graph.mutable_initializer(0)->set_raw_data(std::string(300 * 300 * 4, 'w'));
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(graph.totals().parameters, 90'000);
  EXPECT_LT(onnx_import::ReadModel(BytesOf(m), "model.onnx").ByteSizeLong(), 200u);
}

// The mask has the shape of what it is laid over, in every set of operators, whether anybody reads it or not.
TEST(OnnxOps, DropoutMayNameItsMask) {
  for (const int opset : {7, 9, 10, 11, 12, 13, 17, 21}) {
    GraphMaker m;
    m.Input("x", {8, 16}).Weight("w", {16, 16}).Node("MatMul", {"x", "w"}, {"a"});
    m.Node("Dropout", {"a"}, {"d", "mask"}).Node("Tanh", {"d"}, {"y"}).Output("y");
    EXPECT_THAT(TypesOf(Import(m, {}, opset)), ElementsAre("MatMul", "Tanh")) << opset;
    m.Node("Cast", {"mask"}, {"seen"}, {{"to", std::int64_t{onnx::TensorProto::FLOAT}}}).Output("seen");
    EXPECT_EQ(ShapeText(Import(m, {}, opset), "seen"), "f32[8,16]") << opset;
  }
}

// Outputs of which nobody says the shape, and which nobody reads: statistics of older sets of operators.
TEST(OnnxOps, OutputsThatNobodyReadsNeedNoShape) {
  GraphMaker m;
  m.Input("x", {2, 4, 8, 8})
      .Weight("scale", {4})
      .Weight("shift", {4})
      .Weight("mean", {4})
      .Weight("variance", {4});
  m.Node("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"y", "m", "v", "sm", "sv"})
      .Output("y");
  EXPECT_EQ(ShapeText(Import(m, {}, 9), "y"), "f32[2,4,8,8]");
  m.Node("Relu", {"sm"}, {"z"}).Output("z");
  EXPECT_THAT(RefusalOf(m, {}, 9), ::testing::HasSubstr("'sm'")) << "who reads one has to know";
}

TEST(OnnxOps, DropoutIsNothingInInferenceAndAMaskInTraining) {
  GraphMaker m;
  m.Input("x", {2, 8}).Weight("w", {8, 8}).Node("MatMul", {"x", "w"}, {"a"});
  m.Node("Dropout", {"a"}, {"d"}).Node("Tanh", {"d"}, {"y"}).Output("y");
  EXPECT_THAT(TypesOf(Import(m)), ElementsAre("MatMul", "Tanh"));
  const sim::OpGraph training = Import(m, {.training = "sgd"});
  EXPECT_THAT(TypesOf(training), ElementsAre("MatMul", "Dropout", "Tanh", "SoftmaxCrossEntropyWithLogits"));
  EXPECT_EQ(OpNamed(training, "d").outputs.size(), 2u);
}

TEST(OnnxOps, UnknownOpsArePricedAndReported) {
  GraphMaker m;
  m.Input("x", {4, 8}).Node("Shuffle", {"x"}, {"y"}, {}, "com.example").Hint("y", {8, 4}).Output("y");
  const ImportedGraph imported = ImportOnnx(BytesOf(m), "model.onnx", {});
  EXPECT_THAT(TypesOf(imported.graph), ElementsAre("com.example.Shuffle"));
  EXPECT_EQ(OpNamed(imported.graph, "y").outputs[0].bytes, 128);
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr("com.example.Shuffle (1 op, 100.0 %")));
  EXPECT_THAT(RefusalOf(m, {.strict = true}), HasSubstr("com.example.Shuffle"));
}

TEST(OnnxOps, NamesBecomeUniqueAndLegal) {
  GraphMaker m;
  m.Input("x:0", {4})
      .Node("Relu", {"x:0"}, {"a"})
      .Node("Tanh", {"a"}, {"b"})
      .Node("Exp", {"b"}, {"y:1"})
      .Output("y:1");
  for (int i = 0; i < 2; ++i) m.graph.mutable_node(i)->set_name("same");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(OpNamed(graph, "same").type, "Relu");
  EXPECT_EQ(OpNamed(graph, "same#1").type, "Tanh");
  EXPECT_EQ(OpNamed(graph, "y_1").type, "Exp");
  EXPECT_EQ(OpNamed(graph, "x_0").type, "Placeholder");
}

TEST(OnnxOps, WhatLeadsNowhereIsLeftOut) {
  GraphMaker m;
  m.Input("x", {4})
      .Input("unread", {9})
      .Weight("w", {4})
      .Node("Relu", {"x"}, {"y"})
      .Node("Add", {"x", "w"}, {"z"})
      .Output("y");
  const sim::OpGraph graph = Import(m);
  EXPECT_EQ(graph.ops.size(), 2u);
  EXPECT_EQ(graph.totals().parameters, 0);
}

TEST(OnnxOps, ImportedGraphsAreWrittenAndReadBackEqual) {
  for (const auto& [name, bytes] : SampleModels()) {
    const ImportOptions options{.dims = name == "control" ? decltype(ImportOptions::dims){}
                                                          : decltype(ImportOptions::dims){{"batch", 2}}};
    const std::string text = formats::PrintGraph(ImportOnnx(bytes, name, options).graph);
    EXPECT_EQ(formats::PrintGraph(formats::ParseGraph(text, "printed")), text) << name;
  }
}

}  // namespace
}  // namespace stowplan::scenarios
