// Backward and update ops on imported models.
#include "scenarios/importers/onnx.h"
#include "scenarios/workloads/micro_batches.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/scenarios/onnx/samples.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t Count(const sim::OpGraph& graph, const std::string& type) {
  return std::count_if(graph.ops.begin(), graph.ops.end(),
                       [&](const sim::Op& op) { return op.type == type; });
}

GraphMaker SmallVision() {
  GraphMaker m;
  m.Input("x", {4, 3, 8, 8})
      .Weight("w", {6, 3, 3, 3})
      .Weight("b", {6})
      .Weight("scale", {6})
      .Weight("shift", {6});
  m.Weight("mean", {6}).Weight("var", {6}).Weight("fc", {5, 6});
  m.Node("Conv", {"x", "w", "b"}, {"conv"}, {{"pads", Ints{1, 1, 1, 1}}});
  m.Node("BatchNormalization", {"conv", "scale", "shift", "mean", "var"}, {"bn"})
      .Node("Relu", {"bn"}, {"relu"});
  m.Node("GlobalAveragePool", {"relu"}, {"pool"}).Node("Flatten", {"pool"}, {"flat"});
  m.Node("Gemm", {"flat", "fc"}, {"y"}, {{"transB", std::int64_t{1}}}).Output("y");
  return m;
}

// Nothing in a file says what was trained: in inference every floating initializer in use is a parameter.
TEST(OnnxTraining, StatisticsAreParametersOfInferenceAlone) {
  const std::int64_t trained = 6 * 27 + 6 + 6 + 6 + 30;
  const sim::OpGraph::Totals inference = Import(SmallVision()).totals();
  EXPECT_EQ(inference.parameters, trained + 6 + 6) << "running mean and variance";
  EXPECT_EQ(inference.persistent_bytes, 4 * inference.parameters);
  EXPECT_EQ(Import(SmallVision(), {.training = "sgd"}).totals().parameters, trained);
}

TEST(OnnxTraining, AddsALossBackwardAndUpdateOps) {
  const ImportedGraph imported = ImportOnnx(BytesOf(SmallVision()), "model.onnx", {.training = "adam"});
  const sim::OpGraph& graph = imported.graph;
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr("softmax cross-entropy")));
  EXPECT_EQ(Count(graph, "ApplyAdam"), 5) << "w, b, scale, shift, fc";
  EXPECT_EQ(FaultInTraining(graph), "");
  EXPECT_EQ(FaultInPlace(graph), "");
  // The images need no gradient: forward 2x, filter's gradient once; fully connected three times.
  const double conv = 2.0 * 4 * 6 * 64 * 27;
  const double fc = 2.0 * 4 * 5 * 6;
  EXPECT_EQ(graph.totals().flops, 2 * conv + 3 * fc);
  EXPECT_EQ(ShapeText(graph, "gradients/conv/weights"), "f32[6,3,3,3]");
  EXPECT_EQ(sim::FindString(OpNamed(graph, "gradients/conv/weights").attributes, "data_format"), "NCHW");
  const std::int64_t parameters = 6 * 27 + 6 + 6 + 6 + 30;
  EXPECT_EQ(graph.totals().parameters, parameters);
  EXPECT_EQ(graph.totals().persistent_bytes, 3 * 4 * parameters) << "the weight and two slots; no statistics";
}

// Two halves of the batch do together what the whole does, or it is said that they cannot.
TEST(OnnxTraining, HalvesDoTheWorkOfTheWhole) {
  for (const char* training : {"", "adam"}) {
    const sim::OpGraph whole = ImportOnnx(BytesOf(SmallVision()), "model.onnx", {.training = training}).graph;
    sim::OpGraph share = ShareBatch(whole, 2);
    share.Finish();
    sim::OpGraph parts = RepeatMicroBatch(share, 2, "gpipe");
    parts.Finish();
    EXPECT_DOUBLE_EQ(parts.totals().flops, whole.totals().flops);
    EXPECT_EQ(parts.totals().persistent_bytes, whole.totals().persistent_bytes);
  }
  for (const auto& [name, bytes] : SampleModels()) {
    const ImportOptions options{.dims = name == "control" ? decltype(ImportOptions::dims){}
                                                          : decltype(ImportOptions::dims){{"batch", 2}}};
    const sim::OpGraph whole = ImportOnnx(bytes, name, options).graph;
    try {
      sim::OpGraph share = ShareBatch(whole, 2);
      share.Finish();
      const double parts = RepeatMicroBatch(share, 2, "gpipe").totals().flops;
      EXPECT_LE(parts, 1.1 * whole.totals().flops) << name;
      EXPECT_GE(parts, whole.totals().flops * (1 - 1e-12)) << name;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("pipeline: ")) << name;
    }
  }
}

TEST(OnnxTraining, EveryOptimizer) {
  for (const char* optimizer : {"sgd", "momentum", "adam", "rmsprop"}) {
    EXPECT_THAT(FaultInTraining(Import(SmallVision(), {.training = optimizer})), IsEmpty()) << optimizer;
  }
}

TEST(OnnxTraining, ALossOfTheModelIsMinimised) {
  GraphMaker m;
  m.Input("x", {4, 6}).Input("labels", {4}, onnx::TensorProto::INT64).Weight("w", {6, 5});
  m.Node("MatMul", {"x", "w"}, {"z"})
      .Node("SoftmaxCrossEntropyLoss", {"z", "labels"}, {"loss"})
      .Output("loss");
  const sim::OpGraph graph = Import(m, {.training = "sgd"});
  EXPECT_EQ(Count(graph, "SoftmaxCrossEntropyWithLogits"), 1);
  EXPECT_EQ(Count(graph, "SoftmaxCrossEntropyGrad"), 1);
  EXPECT_EQ(FaultInTraining(graph), "");
}

TEST(OnnxTraining, GradientsThroughATransformerBlock) {
  // Attention with scaled scores, a layer normalisation written out, GELU by Erf, a gathered embedding.
  GraphMaker m;
  m.Input("ids", {2, 7}, onnx::TensorProto::INT64)
      .Weight("table", {30, 8})
      .Weight("wq", {8, 8})
      .Weight("g", {8})
      .Weight("c", {1});
  m.Ints("heads", {2, 7, 2, 4}).Ints("joined", {2, 7, 8});
  m.Node("Gather", {"table", "ids"}, {"e"})
      .Node("MatMul", {"e", "wq"}, {"q"})
      .Node("Reshape", {"q", "heads"}, {"qh"});
  m.Node("Transpose", {"qh"}, {"qt"}, {{"perm", Ints{0, 2, 1, 3}}})
      .Node("Transpose", {"qh"}, {"kt"}, {{"perm", Ints{0, 2, 3, 1}}});
  m.Node("MatMul", {"qt", "kt"}, {"s"})
      .Node("Div", {"s", "c"}, {"scaled"})
      .Node("Softmax", {"scaled"}, {"p"});
  m.Node("MatMul", {"p", "qt"}, {"o"}).Node("Transpose", {"o"}, {"ot"}, {{"perm", Ints{0, 2, 1, 3}}});
  m.Node("Reshape", {"ot", "joined"}, {"h"}).Node("Add", {"h", "e"}, {"r"});
  m.Node("ReduceMean", {"r"}, {"mu"}, {{"axes", Ints{-1}}})
      .Node("Sub", {"r", "mu"}, {"d"})
      .Node("Pow", {"d", "c"}, {"d2"});
  m.Node("ReduceMean", {"d2"}, {"v"}, {{"axes", Ints{-1}}})
      .Node("Sqrt", {"v"}, {"sd"})
      .Node("Div", {"d", "sd"}, {"n"});
  m.Node("Mul", {"n", "g"}, {"ng"})
      .Node("Erf", {"ng"}, {"erf"})
      .Node("Mul", {"ng", "erf"}, {"y"})
      .Output("y");
  const sim::OpGraph graph = Import(m, {.training = "adam"});
  EXPECT_EQ(FaultInTraining(graph), "");
  EXPECT_EQ(FaultInPlace(graph), "");
  EXPECT_EQ(Count(graph, "ApplyAdam"), 4);
  EXPECT_EQ(OpNamed(graph, "gradients/s/input").flops, OpNamed(graph, "s").flops);
}

TEST(OnnxTraining, GradientsThroughARecurrentLayerAndALoop) {
  GraphMaker lstm;
  lstm.Input("x", {10, 3, 6}).Weight("w", {1, 20, 6}).Weight("r", {1, 20, 5});
  lstm.Node("LSTM", {"x", "w", "r"}, {"y"}, {{"hidden_size", std::int64_t{5}}}).Output("y");
  const sim::OpGraph graph = Import(lstm, {.training = "sgd"});
  EXPECT_EQ(FaultInTraining(graph), "");
  EXPECT_EQ(OpNamed(graph, "gradients/y/inputs").flops, 2 * OpNamed(graph, "y").flops);

  GraphMaker body;
  body.Input("state", {3}).Input("slice", {3}).Weight("w", {3}).Node("Mul", {"state", "w"}, {"m"});
  body.Node("Add", {"m", "slice"}, {"sum"}).Node("Tanh", {"sum"}, {"out"}).Output("sum").Output("out");
  GraphMaker scan;
  scan.Input("start", {3}).Input("xs", {5, 3});
  scan.Node("Scan", {"start", "xs"}, {"last", "all"},
            {{"body", body.graph}, {"num_scan_inputs", std::int64_t{1}}});
  scan.Output("all");
  const sim::OpGraph unrolled = Import(scan, {.training = "sgd"});
  EXPECT_EQ(FaultInTraining(unrolled), "");
  EXPECT_EQ(Count(unrolled, "ApplyGradientDescent"), 1) << "one weight, however often its body runs";
}

TEST(OnnxTraining, FrozenStatisticsAndIntegersGetNoGradient) {
  const sim::OpGraph graph = Import(SmallVision(), {.training = "sgd"});
  EXPECT_EQ(graph.Find("mean"), -1) << "a training step takes the statistics of its batch";
  GraphMaker m;
  m.Input("x", {4, 6}).Weight("w", {6, 5}).Weight("steps", {4, 5}, onnx::TensorProto::INT32);
  m.Node("MatMul", {"x", "w"}, {"z"}).Node("Cast", {"steps"}, {"s"}, {{"to", std::int64_t{1}}});
  m.Node("Add", {"z", "s"}, {"y"}).Output("y");
  const sim::OpGraph quantised = Import(m, {.training = "adam"});
  EXPECT_EQ(quantised.totals().parameters, 30);
  EXPECT_EQ(Count(quantised, "ApplyAdam"), 1);
}

}  // namespace
}  // namespace stowplan::scenarios
