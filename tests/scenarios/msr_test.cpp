#include "scenarios/importers/msr.h"

#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "sim/placement.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

const std::string kFolder = STOWPLAN_SOURCE_DIR "/tests/scenarios/data/";

sim::Cluster TwoGpus() {
  return LoadCluster("k40(gpus=2)", TestCatalogue());
}

TEST(MsrGraphTest, ReadsNodesInFileOrder) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  EXPECT_EQ(graph.name, "msr_small");
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops) names.push_back(op.name);
  // A name used twice, and one that would read as an output, get their id.
  EXPECT_THAT(names, ElementsAre("input", "conv", "relu", "conv#8", "grad:0#9"));
  EXPECT_EQ(sim::FindNumber(graph.attributes, "max_accelerators"), 2);
  EXPECT_EQ(sim::FindNumber(graph.attributes, "accelerator_bytes"), 1e6);
}

// Their README: "other debug information may be present", such as names and layers.
TEST(MsrGraphTest, NamesAndLayersNeedNotBeThere) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_layers.json");
  std::vector<std::string> names;
  std::vector<std::optional<double>> layers;
  for (const sim::Op& op : graph.ops) {
    names.push_back(op.name);
    layers.push_back(sim::FindNumber(op.attributes, "msr_layer"));
  }
  EXPECT_THAT(names, ElementsAre("99", "node7", "dense", "loss"));
  EXPECT_THAT(layers, ElementsAre(6, 0, std::nullopt, std::nullopt)) << "a number, another, a text, none";
}

TEST(MsrGraphTest, CostsAreMicrosecondsByClass) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  EXPECT_THAT(At(graph, "conv").cost_us_by_kind,
              ElementsAre(std::pair("cpu", 23'000.0), std::pair("gpu", 1'000.0)));
  EXPECT_THAT(At(graph, "conv#8").cost_us_by_kind, ElementsAre(std::pair("cpu", 46'000.0)))
      << "no accelerator runs it";
}

// conv sends 800 bytes to two ops (one output) and an eighth of a byte to a third (rounded up to one).
TEST(MsrGraphTest, EdgesOfOneSizeShareAnOutput) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  const sim::OpIndex conv = graph.Find("conv");
  ASSERT_EQ(At(graph, "conv").outputs.size(), 2u);
  EXPECT_EQ(At(graph, "conv").outputs[0].bytes, 800);
  EXPECT_EQ(At(graph, "conv").outputs[1].bytes, 1);
  EXPECT_THAT(At(graph, "conv#8").inputs,
              ElementsAre(sim::TensorRef{conv, 0}, sim::TensorRef{graph.Find("relu"), 0}));
  EXPECT_THAT(At(graph, "grad:0#9").inputs,
              ElementsAre(sim::TensorRef{conv, 1}, sim::TensorRef{graph.Find("conv#8"), 0}));
}

TEST(MsrGraphTest, WhatIsNotSentStaysForGood) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  EXPECT_EQ(At(graph, "conv").persistent_bytes, 1501 - 800);  // 1500.5 rounded up
  EXPECT_EQ(At(graph, "input").persistent_bytes, 0);
  EXPECT_EQ(At(graph, "grad:0#9").persistent_bytes, 64);  // it sends nothing
}

TEST(MsrGraphTest, ColorsColocateAndBackwardNodesAreMarked) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  EXPECT_EQ(At(graph, "conv").colocate, "color2");
  EXPECT_EQ(At(graph, "conv#8").colocate, "color2");
  EXPECT_EQ(At(graph, "relu").colocate, "");
  EXPECT_EQ(At(graph, "conv").phase, "forward");
  EXPECT_EQ(At(graph, "conv#8").phase, "backward");
}

// One wrong place each; the message says which.
struct Fault {
  const char* name;
  const char* replace;
  const char* with;
  const char* message;
};

// What gtest calls a case; else it prints the bytes, addresses among them.
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

class MsrFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(MsrFaultTest, IsRefusedWithItsPlace) {
  std::string text = formats::ReadFile(kFolder + "msr_small.json");
  const auto at = text.find(GetParam().replace);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().replace).size(), GetParam().with);
  EXPECT_THAT(ErrorOf([&] { ImportMsrGraph(text, "broken.json"); }),
              AllOf(HasSubstr("broken.json"), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, MsrFaultTest,
    ::testing::Values(
        Fault{"cut", "\"maxCPUs\": 1,", "\"maxCPUs\": 1,,", "broken.json"},
        Fault{"unknown_key", "\"name\": \"relu\"", "\"nome\": \"relu\"", "nome"},
        Fault{"unknown_top_key", "\"maxCPUs\"", "\"maxCPU\"", "maxCPU"},
        Fault{"missing_size", ", \"size\": 64", "", "size"},
        Fault{"negative_time", "\"fpgaLatency\": 0.25", "\"fpgaLatency\": -0.25", "nodes[4].fpgaLatency"},
        Fault{"huge_time", "\"fpgaLatency\": 0.25", "\"fpgaLatency\": 1e10", "nodes[4].fpgaLatency"},
        Fault{"negative_size", "\"size\": 64", "\"size\": -64", "nodes[4].size"},
        Fault{"huge_size", "\"size\": 64", "\"size\": 1e18", "nodes[4].size"},
        Fault{"text_for_number", "\"cpuLatency\": 23.0", "\"cpuLatency\": \"23\"", "nodes[1].cpuLatency"},
        Fault{"odd_flag", "\"isBackwardNode\": 1", "\"isBackwardNode\": 2", "nodes[4].isBackwardNode"},
        Fault{"same_id", "\"id\": 7", "\"id\": 4", "repeats id 4"},
        Fault{"dangling_source", "\"sourceId\": 7", "\"sourceId\": 77", "no node has that id"},
        Fault{"dangling_target", "\"destId\": 7", "\"destId\": 77", "no node has that id"},
        Fault{"same_edge", "\"destId\": 9, \"cost\": 0.1", "\"destId\": 7, \"cost\": 0.1", "repeats an edge"},
        Fault{"cycle", "\"sourceId\": 10, \"destId\": 4", "\"sourceId\": 8, \"destId\": 4", "cycle"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(MsrSplitTest, PartsGoToAcceleratorsInOrder) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  const sim::Cluster cluster = TwoGpus();
  const sim::Placement placement = LoadPlacement(kFolder + "msr_small_expert.json", graph, cluster);
  const auto device_of = [&](const char* op) {
    return cluster
        .devices[static_cast<std::size_t>(placement.device[static_cast<std::size_t>(graph.Find(op))])]
        .name;
  };
  EXPECT_EQ(device_of("input"), "gpu0");
  EXPECT_EQ(device_of("relu"), "gpu0");
  EXPECT_EQ(device_of("conv"), "gpu1");
  EXPECT_EQ(device_of("conv#8"), "gpu1");
  EXPECT_EQ(device_of("grad:0#9"), "cpu0");
}

TEST(MsrSplitTest, RefusesWhatDoesNotFitTheGraphOrTheCluster) {
  const sim::OpGraph graph = LoadGraph(kFolder + "msr_small.json");
  const std::string good = formats::ReadFile(kFolder + "msr_small_expert.json");
  const auto error_with = [&](const std::string& replace, const std::string& with,
                              const sim::Cluster& cluster) {
    std::string text = good;
    text.replace(text.find(replace), replace.size(), with);
    return ErrorOf([&] { ImportMsrSplit(text, "split.json", graph, cluster); });
  };
  const sim::Cluster two = TwoGpus();
  EXPECT_THAT(error_with("[10, 7]", "[10]", two),
              AllOf(HasSubstr("split.json"), HasSubstr("'relu' is in no part")));
  EXPECT_THAT(error_with("[10, 7]", "[10, 7, 4]", two), HasSubstr("which has a place already"));
  EXPECT_THAT(error_with("[10, 7]", "[10, 7, 70]", two), HasSubstr("no node of the graph has that id"));
  EXPECT_THAT(error_with("[4, 8]", "[4]}, {\"nodes\": [8]", two), HasSubstr("accelerator number 3"));
  EXPECT_THAT(error_with("[10, 7]}, {\"load\": -1, \"nodes\": [4, 8]",
                         "[10, 7, 4]}, {\"load\": -1, \"nodes\": [8]", two),
              AllOf(HasSubstr("split.json"), HasSubstr("conv#8")))
      << "one colour, two devices";
  EXPECT_THAT(error_with("\"cpus\"", "\"cpu\"", two), HasSubstr("cpu"));
  EXPECT_THAT(ErrorOf([&] { ImportMsrSplit(good, "split.json", LoadGraph("chain"), two); }),
              HasSubstr("ids of an imported msr graph"));
  sim::OpGraph renamed = graph;
  for (auto& [key, id] : renamed.ops[0].attributes)
    if (key == "msr_id") id.value = 1e300;
  EXPECT_THAT(ErrorOf([&] { ImportMsrSplit(good, "split.json", renamed, two); }),
              HasSubstr("op 'input' of graph 'msr_small' has none"));
  // A part without nodes needs no device.
  EXPECT_EQ(error_with("[4, 8]", "[4, 8]}, {\"nodes\": []", two), "no error");
}

// ---- the real files, where they are -----------------------------------------------------------------------

class RealMsrTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("STOWPLAN_DATA");
    if (data == nullptr) GTEST_SKIP() << "STOWPLAN_DATA names no folder";
    folder_ = std::string(data) + "/dnn-partitioning/";
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not there";
  }
  sim::OpGraph Load(const std::string& name) const {
    return LoadGraph(folder_ + "throughput-inputs/" + name + ".json");
  }
  std::string folder_;
};

// Nodes and edges as in the repository of the graphs.
TEST_F(RealMsrTest, GraphsHaveThePublishedSizes) {
  for (const auto& [name, nodes, edges] : {std::tuple("LayerGraphs/inceptionv3_training", 652, 726),
                                           {"OperatorGraphs/bert_l-3_training", 600, 817},
                                           {"OperatorGraphs/bert_l-6_training", 1071, 1462},
                                           {"OperatorGraphs/resnet50_training", 1243, 1806}}) {
    const sim::OpGraph graph = Load(name);
    EXPECT_EQ(graph.size(), nodes) << name;
    EXPECT_EQ(graph.edges(), edges) << name;
    EXPECT_GT(graph.colocation_sets(), 1) << name;
    EXPECT_LT(graph.colocation_sets(), graph.size()) << name << ": forward and backward share a device";
  }
}

TEST_F(RealMsrTest, HumanExpertsPlaceTheirGraphs) {
  const sim::Cluster cluster = LoadCluster("p100(gpus=6)", TestCatalogue());
  for (const std::string name : {"gnmt_inference", "inceptionv3_inference", "resnet50_inference"}) {
    const sim::OpGraph graph = Load("LayerGraphs/" + name);
    const sim::Placement placement =
        LoadPlacement(folder_ + "human-experts/" + name + "_expert.json", graph, cluster);
    EXPECT_NO_THROW(sim::CheckPlacement(graph, cluster, placement));
    for (const sim::DeviceIndex device : placement.device)
      EXPECT_NE(cluster.devices[static_cast<std::size_t>(device)].name, "cpu0");
  }
}

}  // namespace
}  // namespace stowplan::scenarios
