// Node memory statistics of ONNX Runtime: written of a model and read back, and what each line that is wrong is refused with.
#include "scenarios/onnx_files/node_memory.h"

#include "scenarios/exporters/exporters.h"
#include "scenarios/importers/onnx.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

constexpr const char* kHeader =
    "#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations\n";

// 2 x 4 numbers through a product with a bias, an op in place, a split, a reshape of one half, and a shape that is computed.
GraphMaker Model() {
  GraphMaker m;
  m.Input("x", {"batch", 4}).Weight("w", {4, 64}).Weight("b", {64});
  m.Node("Gemm", {"x", "w", "b"}, {"h"}).Node("Relu", {"h"}, {"r"});
  m.Node("Split", {"r"}, {"p", "q"}, {{"axis", std::int64_t{1}}}).Node("Flatten", {"q"}, {"f"});
  m.Node("Shape", {"p"}, {"shape"}).Node("Reshape", {"f", "shape"}, {"z"}).Node("Add", {"z", "p"}, {"y"});
  return m.Output("y");
}

class NodeMemoryTest : public ::testing::Test {
 protected:
  NodeMemoryTest() {
    const std::string bytes = BytesOf(Model());
    formats::WriteFile(model_, bytes);
    for (const OnnxNode& node : ReadOnnxNodes(bytes)) {
      name_[node.name.empty() ? std::string(node.outputs[0]) : node.name] = StatisticsName(node);
    }
  }

  // The model with a file of these lines.
  ImportedGraph With(const std::string& lines, std::int64_t batch = 2, const std::string& training = "") {
    formats::WriteFile(stats_, lines);
    return ImportOnnx(BytesOf(Model()), model_,
                      {.dims = {{"batch", batch}}, .training = training, .memory = stats_});
  }
  std::string Refusal(const std::string& lines, std::int64_t batch = 2, const std::string& training = "") {
    try {
      With(lines, batch, training);
    } catch (const InputError& error) {
      const std::string text = error.what();
      return text.starts_with(folder_ / "") ? text.substr((folder_ / "").size()) : text;
    }
    return "it was imported";
  }

  tests::TempFolder folder_;
  const std::string model_ = folder_ / "net.onnx";
  const std::string stats_ = folder_ / "stats.csv";
  std::map<std::string, std::string> name_;  // what ONNX Runtime calls the node of an output
};

TEST_F(NodeMemoryTest, WhatIsExportedChangesNothing) {
  const sim::OpGraph graph = Import(Model(), {.dims = {{"batch", 2}}});
  const sim::Cluster cluster = LoadCluster("a100(gpus=2)", TestCatalogue());
  const std::size_t entries = graph.ops.size() * cluster.devices.size();
  const sim::Problem problem(graph, cluster,
                             {.cost_model = "test",
                              .devices = static_cast<sim::DeviceIndex>(cluster.devices.size()),
                              .picos = std::vector<sim::Picos>(entries, 1'000'000),
                              .tier = std::vector<sim::Tier>(entries, sim::Tier::kMeasured)});
  const sim::Placement placement{.device = std::vector<sim::DeviceIndex>(graph.ops.size(), 0)};
  const std::string text =
      ExportOnnxRuntimeMemory({.problem = problem, .placement = placement, .graph_file = model_}).text;
  EXPECT_EQ(text, std::string(kHeader) + name_["h"] + ",32,1280,512,0\n" + name_["r"] + ",0,0,0,0\n" +
                      name_["p"] + ",0,0,512,0\n" + name_["f"] + ",0,0,0,0\n" + name_["z"] + ",0,0,0,0\n" +
                      name_["y"] + ",0,0,256,0\n")
      << "the bias counts with its product";
  const ImportedGraph imported = With(text);
  EXPECT_EQ(formats::PrintGraph(imported.graph),
            formats::PrintGraph(ImportOnnx(BytesOf(Model()), model_, {.dims = {{"batch", 2}}}).graph));
  EXPECT_THAT(imported.notes, testing::Contains(HasSubstr("memory of 6 of 6 ops")));
}

TEST_F(NodeMemoryTest, TakesWorkspaceAndWhatWasAllocated) {
  const ImportedGraph imported =
      With(std::string(kHeader) + name_["h"] + ",1312,0,512,9000\n" + name_["p"] + ",512,0,1024,0\n" +
           name_["shape"] + ",8,0,256,0\nMemcpy_token_1_77,8,0,0,0\n");
  EXPECT_EQ(OpNamed(imported.graph, "h").workspace_bytes, 9000);
  EXPECT_EQ(OpNamed(imported.graph, "h").outputs[0].bytes, 512);
  const sim::Op& split = OpNamed(imported.graph, "p");
  EXPECT_EQ(split.outputs[0].bytes, 512) << "halves share what was allocated as they share the shapes' bytes";
  EXPECT_EQ(split.outputs[1].bytes, 512);
  EXPECT_EQ(OpNamed(imported.graph, "f").outputs[0].bytes, 512) << "a view of a half";
  EXPECT_EQ(OpNamed(imported.graph, "z").outputs[0].bytes, 512) << "and a view of that";
  EXPECT_EQ(OpNamed(imported.graph, "y").outputs[0].bytes, 256);
  EXPECT_THAT(
      imported.notes,
      ElementsAre(
          "1 nodes that work out constants and shapes were evaluated",
          "memory of 2 of 6 ops is as measured, with workspace of up to 9000 bytes",
          StartsWith(
              "outputs of 1 of them have other sizes than their shapes say, 1024 bytes in place of 512"),
          StartsWith("2 of 4 lines of " + stats_ + " left out")));
}

TEST_F(NodeMemoryTest, BuffersThatAreRoundedUpAreNoOtherSize) {
  EXPECT_EQ(OpNamed(With(std::string(kHeader) + name_["h"] + ",32,0,512,0\n").graph, "h").outputs[0].bytes,
            512);
  EXPECT_EQ(OpNamed(With(std::string(kHeader) + name_["y"] + ",0,0,256,0\n", 1).graph, "y").outputs[0].bytes,
            128);
  EXPECT_EQ(OpNamed(With(std::string(kHeader) + name_["y"] + ",0,0,257,0\n", 1).graph, "y").outputs[0].bytes,
            257);
}

TEST_F(NodeMemoryTest, RefusesWhatIsWrong) {
  const std::string line = std::string(kHeader) + name_["h"];
  EXPECT_THAT(Refusal(line + ",1,2,3\n"), StartsWith("stats.csv:2: has fewer fields than the five columns"));
  EXPECT_THAT(Refusal(line + ",32,-1,0,0\n"), StartsWith("stats.csv:2: initializers_sizes: \"-1\" stands"));
  EXPECT_THAT(Refusal(line + ",32,0,1.5,0\n"), StartsWith("stats.csv:2: total_dynamic_sizes: \"1.5\""));
  EXPECT_EQ(Refusal(line + ",32,0,0,99999999999999999999\n"),
            "stats.csv:2: total_temp_allocations: 99999999999999999999 bytes are more than 2^50.");
  EXPECT_EQ(Refusal(line + ",32,0,0,0\n" + name_["h"] + ",32,0,0,0\n"),
            "stats.csv:3: node \"" + name_["h"] + "\" is there twice.");
  EXPECT_EQ(Refusal(std::string(kHeader) + ",1,2,3,4\n"), "stats.csv:2: names no node.");
  EXPECT_THAT(Refusal(std::string(kHeader) + "fused_1,1,2,3,4\n"), StartsWith("stats.csv:2: the model has"));
  EXPECT_THAT(Refusal(line + ",32,0,512,0\nfused_1,1,2,3,4\nfused_2,1,2,3,4\n"),
              StartsWith("stats.csv:3: the model has no node \"fused_1\", nor those of 1 more of 3 lines;"));
  const std::string nothing =
      "stats.csv: has no line of an op of the model, so nothing would be taken; collect them from a run of "
      "this file with graph_optimization_level = ORT_DISABLE_ALL.";
  EXPECT_EQ(Refusal(kHeader), nothing);
  EXPECT_EQ(Refusal(std::string(kHeader) + "Memcpy_token_1_77,8,0,0,0\n" + name_["shape"] + ",8,0,256,0\n"),
            nothing);
  EXPECT_THAT(Refusal(line + ",32,0,512,0\n# a remark\n"), StartsWith("stats.csv:3: has fewer fields"))
      << "a node's name may begin so";
  EXPECT_EQ(Refusal("#name,input_sizes,initializers_sizes,total_dynamic_sizes\n"),
            "stats.csv:1: the column total_temp_allocations is missing; node memory statistics of ONNX "
            "Runtime begin with "
            "#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations.");
  EXPECT_THAT(Refusal(""), StartsWith("stats.csv:1: the column #name is missing"));
  EXPECT_THAT(Refusal("#name,initializers_sizes,input_sizes,total_dynamic_sizes,total_temp_allocations\n"),
              HasSubstr("in this order"));
  EXPECT_THAT(Refusal(kHeader, 2, "adam"), StartsWith("--memory-stats: ONNX Runtime measured an inference"));
}

TEST_F(NodeMemoryTest, RefusesARunOfOtherShapes) {
  EXPECT_EQ(
      Refusal(std::string(kHeader) + name_["h"] + ",16,0,256,0\n"),
      "stats.csv:2: node \"" + name_["h"] +
          "\" read 16 bytes, but its inputs and weights are at least 32; give the --dim of the run that was "
          "measured.");
  EXPECT_THAT(Refusal(std::string(kHeader) + name_["h"] + ",1313,0,512,0\n"), HasSubstr("are 1312; give"));
  EXPECT_EQ(Refusal(std::string(kHeader) + name_["h"] + ",32,0,512,0\n"), "it was imported")
      << "weights may be repacked";
}

// Lines of a run on two devices: at their boundary tensors have other names, and so the nodes other hashes.
TEST_F(NodeMemoryTest, KnowsNodesWhoseTensorsWereRenamed) {
  const std::string add = name_["y"].substr(0, name_["y"].rfind('_'));
  const ImportedGraph imported =
      With(std::string(kHeader) + name_["h"] + ",32,1280,512,7\n" + name_["p"] + ",0,0,512,0\n" + add +
           "_77,9999,0,256,300\nTwice_1,1,0,0,0\nMemcpy_token_1_77,8,0,0,0\n");
  EXPECT_EQ(OpNamed(imported.graph, "y").workspace_bytes, 300);
  EXPECT_THAT(imported.notes,
              ElementsAre("1 nodes that work out constants and shapes were evaluated",
                          "memory of 3 of 6 ops is as measured, with workspace of up to 300 bytes",
                          StartsWith("1 of 5 lines of " + stats_ + " were found by the node's name alone"),
                          StartsWith("1 of 5 lines of " + stats_ + " left out: nodes that are no op here"),
                          HasSubstr("no node of that name, or several, first \"Twice_1\" in line 5")));
  const ImportedGraph twice = With(std::string(kHeader) + name_["h"] + ",32,1280,512,7\n" + name_["p"] +
                                   ",0,0,512,0\n" + add + "_77,0,0,256,300\n" + add + "_78,0,0,256,300\n");
  EXPECT_EQ(OpNamed(twice.graph, "y").workspace_bytes, 0) << "which of the two it is cannot be told";
}

// ONNX Runtime counts an input at the first of its readers; here that is a node that is no op.
TEST_F(NodeMemoryTest, CountsAnInputAtAnyOfItsReaders) {
  GraphMaker m;
  m.Input("mask", {"batch", 4}, onnx::TensorProto::INT64);
  m.Node("Shape", {"mask"}, {"s"}).Node("ConstantOfShape", {"s"}, {"k"});
  m.Node("Cast", {"mask"}, {"m"}, {{"to", std::int64_t{onnx::TensorProto::FLOAT}}});
  const std::string bytes = BytesOf(m.Node("Add", {"m", "k"}, {"z"}).Output("z"));
  const std::vector<OnnxNode> nodes = ReadOnnxNodes(bytes);
  const auto taken = [&](const std::string& lines) {
    formats::WriteFile(stats_, kHeader + lines);
    return ImportOnnx(bytes, model_, {.dims = {{"batch", 2}}, .memory = stats_}).notes;
  };
  const std::string shape = StatisticsName(nodes[0]), cast = StatisticsName(nodes[2]) + ",0,0,256,0\n";
  EXPECT_THAT(taken(shape + ",64,0,256,0\n" + cast), testing::Contains(HasSubstr("memory of 1 of 2 ops")));
  EXPECT_THAT(taken(cast), testing::Contains(HasSubstr("memory of 1 of 2 ops")))
      << "a line is missing that may hold it";
  EXPECT_THAT([&] { taken(shape + ",32,0,256,0\n" + cast); },
              testing::ThrowsMessage<InputError>(
                  HasSubstr("and 1 more that reads the same read 32 bytes, but their inputs and weights are "
                            "at least 64; give the --dim")));
}

// Such a name is no remark.
TEST_F(NodeMemoryTest, TakesNodesWhoseNamesBeginLikeTheHeader) {
  GraphMaker m;
  m.Input("x", {2, 4}).Node("Relu", {"x"}, {"r"}).Output("r");
  m.graph.mutable_node(0)->set_name("#r");
  const std::string bytes = BytesOf(m);
  formats::WriteFile(
      stats_,
      PrintNodeMemory(
          {{.name = StatisticsName(ReadOnnxNodes(bytes)[0]), .inputs = 32, .outputs = 32, .workspace = 5}}));
  EXPECT_EQ(OpNamed(ImportOnnx(bytes, model_, {.memory = stats_}).graph, "#r").workspace_bytes, 5);
}

TEST(OnnxNodes, AreReadWithThoseInside) {
  GraphMaker inside, m;
  inside.Node("Relu", {"x"}, {"r"}).Output("r");
  m.Input("x", {4}).Input("c", {}, onnx::TensorProto::BOOL);
  m.Node("If", {"c"}, {"y"}, {{"then_branch", inside.graph}, {"else_branch", inside.graph}});
  const std::string bytes = BytesOf(m.Output("y"));
  const std::vector<OnnxNode> nodes = ReadOnnxNodes(bytes);
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].type, "If");
  EXPECT_FALSE(nodes[0].nested);
  EXPECT_EQ(nodes[1].type, "Relu");
  EXPECT_TRUE(nodes[1].nested);
  EXPECT_THAT(nodes[2].inputs, ElementsAre("x"));
}

// Sums of sizes that are each within limits would leave 64 bits.
TEST(NodeMemorySums, BeyondWhatAGraphHoldsAreRefused) {
  std::string lines = kHeader;
  for (int i = 0; i < 300; ++i)
    lines +=
        "n" + std::to_string(i) + ",1125899906842624,1125899906842624,1125899906842624,1125899906842624\n";
  EXPECT_THAT(tests::ErrorOf([&] { ParseNodeMemory(lines, "stats.csv"); }),
              HasSubstr("stats.csv:258: the sizes up to this line are more than 2^60 bytes"));
}

}  // namespace
}  // namespace stowplan::scenarios
