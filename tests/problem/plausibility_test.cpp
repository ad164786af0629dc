#include "problem/plausibility.h"

#include "agents/agents.h"
#include "problem/loaded_problem.h"
#include "scenarios/importers/saved.h"
#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

sim::OpGraph Parse(const std::string& ops) {
  return formats::ParseGraph(R"({"format":"stowplan.graph","version":1,"name":"g","ops":[)" + ops + "]}",
                             "g.json");
}

const std::string kImage =
    R"({"name":"x","type":"Placeholder","outputs":[{"dtype":"f32","shape":[64,1152,7,7]}]},)";
const std::string kFilter =
    R"({"name":"w","type":"Variable","outputs":[{"dtype":"f32","shape":[1152,1,3,3]}]},)";
const std::string kWindow = R"("data_format":"NCHW","groups":1152,"kernel":[3,3])";
constexpr double kProduct = 2.0 * 64 * 1152 * 49 * 9;

// A depthwise layer captured when torch's counter left out groups in the filter's gradient, under the former name.
sim::OpGraph Depthwise(double flops) {
  return Parse(
      kImage + kFilter + R"({"name":"c","type":"DepthwiseConv2dNative","inputs":["x","w"],"flops":)" +
      std::to_string(kProduct) + R"(,"outputs":[{"dtype":"f32","shape":[64,1152,7,7]}],"attributes":{)" +
      kWindow + R"(,"torch_op":"aten.convolution"}},)" +
      R"({"name":"gradients/c/convolution_backward","type":"DepthwiseConv2dNativeBackpropFilter","phase":"backward",)" +
      R"("inputs":["c","x","w"],"flops":)" + std::to_string(flops) +
      R"(,"outputs":[{"dtype":"f32","shape":[64,1152,7,7]},{"dtype":"f32","shape":[1152,1,3,3]}],"attributes":{)" +
      kWindow + R"(,"torch_op":"aten.convolution_backward"}})");
}

TEST(CountAnew, FlopsThatShapesContradict) {
  sim::OpGraph graph = Depthwise(kProduct * 1153);
  EXPECT_EQ(scenarios::CountAnew(graph).size(), 2);
  EXPECT_EQ(graph.ops.back().type, "ConvBackward");
  EXPECT_EQ(graph.ops.back().flops, 2 * kProduct);
  EXPECT_TRUE(scenarios::CountAnew(graph).empty()) << "right already";
  EXPECT_TRUE(ImplausibleWork(graph).empty());
}

TEST(CountAnew, WhatSaysNone) {
  sim::OpGraph graph = Depthwise(0);
  EXPECT_EQ(scenarios::CountAnew(graph).size(), 1) << "of the name alone";
  EXPECT_EQ(graph.ops.back().flops, 2 * kProduct);
}

// What is not torch's may count in another way, and is left as it is.
TEST(CountAnew, LeavesWhatOthersCounted) {
  const std::string product =
      R"({"name":"a","type":"Placeholder","outputs":[{"dtype":"f32","shape":[64,32]}]},)"
      R"({"name":"b","type":"Variable","outputs":[{"dtype":"f32","shape":[32,16]}]},)"
      R"({"name":"m","type":"MatMul","inputs":["a","b"],"outputs":[{"dtype":"f32","shape":[64,16]}],"flops":)";
  sim::OpGraph half = Parse(product + "32768}");  // multiply-adds
  EXPECT_TRUE(scenarios::CountAnew(half).empty());
  EXPECT_TRUE(ImplausibleWork(half).empty());
  sim::OpGraph wrong = Parse(product + "655360}");
  EXPECT_TRUE(scenarios::CountAnew(wrong).empty());
  EXPECT_EQ(wrong.ops.back().flops, 655360);
  EXPECT_EQ(ImplausibleWork(wrong).size(), 1);
  EXPECT_EQ(ImplausibleWork(Parse(product + "0}")).size(), 1);
}

TEST(ImplausibleWork, ProductsByNameWithoutFlops) {
  const auto op = [](const std::string& torch_op) {
    return Parse(
        R"({"name":"a","type":"Placeholder","outputs":[{"dtype":"bf16","shape":[64,32]}]},)"
        R"({"name":"b","type":"Variable","outputs":[{"dtype":"bf16","shape":[32,16]}]},)"
        R"({"name":"m","type":")" +
        torch_op +
        R"(","inputs":["a","b"],"outputs":[{"dtype":"bf16","shape":[64,16]}],"attributes":{"torch_op":")" +
        torch_op + R"("}})");
  };
  for (const char* product :
       {"aten._my_grouped_mm", "custom.fused_linear", "xla.Conv2dBiasRelu", "vllm.paged_attention"})
    EXPECT_EQ(ImplausibleWork(op(product)).size(), 1) << product;
  for (const char* other :
       {"aten.upsample_bilinear2d", "aten.masked_scatter", "aten.addcmul", "aten.leaky_relu"})
    EXPECT_TRUE(ImplausibleWork(op(other)).empty()) << other;
}

// Backward passes have one product of the forward's size or two, recomputed ones three.
TEST(ImplausibleWork, BackwardAgainstForward) {
  const auto pair = [](double times) {
    return Parse(
        R"({"name":"f","type":"Scan","flops":1e9,"outputs":[{"bytes":4}]},)"
        R"({"name":"gradients/f/scan_backward","type":"ScanGrad","phase":"backward","inputs":["f"],"flops":)" +
        std::to_string(times * 1e9) + "}");
  };
  for (const double times : {0.5, 1.0, 2.0, 2.5, 3.0, 4.0})
    EXPECT_TRUE(ImplausibleWork(pair(times)).empty()) << times;
  for (const double times : {0.4, 4.1, 65.0, 550.0})
    EXPECT_EQ(ImplausibleWork(pair(times)).size(), 1) << times;
}

std::vector<std::string> TimesOf(double us, const std::string& kind) {
  sim::OpGraph graph = Parse(
      R"({"name":"a","type":"Placeholder","outputs":[{"dtype":"f16","shape":[8192,8192]}]},)"
      R"({"name":"m","type":"MatMul","inputs":["a","a"],"outputs":[{"dtype":"f16","shape":[8192,8192]}],"flops":1099511627776,)"
      R"("cost_us":)" +
      std::to_string(us) + "}");
  const LoadedProblem loaded(std::move(graph), {.graph = "g.json", .cluster = kind + "(gpus=1)"});
  return ImplausibleTimes(loaded.problem(), cost_models::BuiltinCatalogue());
}

TEST(SlowFormats, SayWhereBf16RunsAsF32) {
  const auto notes = [](const std::string& dtype, const char* cluster) {
    const LoadedProblem loaded(
        Parse(R"({"name":"a","type":"Placeholder","outputs":[{"dtype":")" + dtype +
              R"(","shape":[64,64]}]},)" +
              R"({"name":"m","type":"MatMul","inputs":["a","a"],"flops":524288,"outputs":[{"dtype":")" +
              dtype + R"(","shape":[64,64]}]})"),
        {.graph = "g.json", .cluster = cluster});
    return SlowFormats(loaded.problem(), cost_models::BuiltinCatalogue()).size();
  };
  EXPECT_EQ(notes("bf16", "v100(gpus=2)"), 1) << "one for a kind";
  EXPECT_EQ(notes("bf16", "a100(gpus=2)"), 0);
  EXPECT_EQ(notes("f16", "v100(gpus=2)"), 0);
}

// 2 x 8192^3 at 312 TFLOP/s of an A100 are 3,524 us, at 989.4 of an H100 1,111.
TEST(ImplausibleTimes, OutsideOfWhatTheSheetAllows) {
  EXPECT_EQ(TimesOf(3000, "a100").size(), 1);
  EXPECT_TRUE(TimesOf(3000, "h100").empty());
  EXPECT_TRUE(TimesOf(3600, "a100").empty());
  EXPECT_TRUE(TimesOf(60'000, "a100").empty());
  EXPECT_EQ(TimesOf(71'000, "a100").size(), 1);
}

// Sound graphs have no findings: every workload, and models that others wrote (tests/python/foreign), on GPUs of three
// generations.
void ExpectNothing(const sim::OpGraph& graph, const std::string& name) {
  sim::OpGraph counted = graph;
  EXPECT_TRUE(scenarios::CountAnew(counted).empty()) << name;
  for (const std::string& found : ImplausibleWork(graph)) ADD_FAILURE() << name << ": " << found;
  for (const char* cluster : {"k40(gpus=1)", "v100(gpus=1)", "h100(gpus=1)"}) {
    const LoadedProblem loaded(graph, {.graph = name, .cluster = cluster});
    for (const std::string& found : ImplausibleTimes(loaded.problem(), cost_models::BuiltinCatalogue()))
      ADD_FAILURE() << name << " on " << cluster << ": " << found;
  }
}

TEST(Plausibility, OfEveryWorkloadIsFree) {
  for (const scenarios::WorkloadRow& row : scenarios::Workloads()) {
    const bool needs_file = std::string(row.name) == "pipeline";
    if (!needs_file) ExpectNothing(scenarios::LoadGraph(row.name), row.name);
  }
}

TEST(Plausibility, OfModelsThatOthersWroteIsFree) {
  int models = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(STOWPLAN_SOURCE_DIR "/tests/python/foreign/graphs")) {
    ExpectNothing(scenarios::LoadGraph(file.path().string()), file.path().filename().string());
    ++models;
  }
  EXPECT_GE(models, 30);
}

}  // namespace
}  // namespace stowplan::problem
