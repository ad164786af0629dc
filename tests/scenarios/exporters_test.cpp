// Every exporter of the table, on a model whose names spell modules: what it prints, what it refuses, and that a device map
// read back is the placement that it was made of.
#include "scenarios/exporters/exporters.h"

#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scenarios/exporters/placed_modules.h"
#include "scenarios/importers/device_map.h"
#include "scenarios/scenarios.h"
#include "sim/analysis/modules.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

// A graph on CPU and GPUs, every op a microsecond; ops start on gpu0.
class Model {
 public:
  explicit Model(int gpus = 2, const std::string& graph = "")
      : cluster_(LoadCluster("a100(gpus=" + std::to_string(gpus) + ")", TestCatalogue())) {
    if (!graph.empty()) graph_ = LoadGraph(graph);
  }

  Model& Add(const std::string& name, const std::vector<std::string>& inputs,
             const std::string& type = "MatMul") {
    sim::Op op;
    op.name = name;
    op.type = type;
    for (const std::string& input : inputs) {
      const auto found = std::find_if(graph_.ops.begin(), graph_.ops.end(),
                                      [&](const sim::Op& other) { return other.name == input; });
      op.inputs.push_back({static_cast<sim::OpIndex>(found - graph_.ops.begin()), 0});
    }
    op.outputs.resize(1);
    op.outputs[0].bytes = 4096;
    op.phase = "forward";
    if (type == "Variable") {
      op.persistent_bytes = 4096;
      op.outputs[0].storage = sim::Output::Storage::kPersistent;
    }
    graph_.ops.push_back(op);
    return *this;
  }

  // All ops whose names start so.
  Model& Put(const std::string& prefix, const std::string& device) {
    Finish();
    for (std::size_t op = 0; op < graph_.ops.size(); ++op) {
      if (graph_.ops[op].name.starts_with(prefix)) placement_.device[op] = cluster_.Find(device);
    }
    return *this;
  }
  void Put(const sim::Placement& placement) {
    Finish();
    placement_ = placement;
  }

  Exported To(const std::string& exporter, const std::string& graph_file = "model") {
    Finish();
    return FindExporter(exporter).print(
        {.problem = *problem_, .placement = placement_, .graph_file = graph_file});
  }
  std::string Refusal(const std::string& exporter) {
    return tests::ErrorOf([&] { To(exporter); }, "it was exported");
  }

  const sim::OpGraph& graph() {
    Finish();
    return graph_;
  }
  const sim::Cluster& cluster() const { return cluster_; }
  const sim::Placement& placement() const { return placement_; }

 private:
  void Finish() {
    if (problem_) return;
    if (graph_.name.empty()) {
      graph_.name = "model";
      graph_.Finish();
    }
    const auto entries = graph_.ops.size() * cluster_.devices.size();
    sim::CostTable costs = {.cost_model = "test",
                            .devices = static_cast<sim::DeviceIndex>(cluster_.devices.size()),
                            .picos = std::vector<sim::Picos>(entries, 1'000'000),
                            .tier = std::vector<sim::Tier>(entries, sim::Tier::kMeasured)};
    problem_ = std::make_unique<sim::Problem>(graph_, cluster_, std::move(costs));
    placement_.device.assign(graph_.ops.size(), cluster_.Find("gpu0"));
  }

  sim::OpGraph graph_;
  sim::Cluster cluster_;
  std::unique_ptr<sim::Problem> problem_;
  sim::Placement placement_;
};

// Two layers of two parts with a sum behind them, a head that shares the table.
std::unique_ptr<Model> Transformer(int gpus = 2) {
  auto model = std::make_unique<Model>(gpus);
  model->Add("tokens", {}, "Placeholder")
      .Add("embed/weight", {}, "Variable")
      .Add("embed/gather", {"embed/weight", "tokens"});
  std::string x = "embed/gather";
  for (const std::string layer : {"layers.0", "layers.1"}) {
    model->Add(layer + "/attn/weight", {}, "Variable")
        .Add(layer + "/attn/matmul", {x, layer + "/attn/weight"});
    model->Add(layer + "/mlp/weight", {}, "Variable");
    model->Add(layer + "/mlp/matmul", {layer + "/attn/matmul", layer + "/mlp/weight"});
    model->Add(layer + "/add", {layer + "/mlp/matmul", x}, "Add");
    x = layer + "/add";
  }
  model->Add("head/matmul", {x, "embed/weight"});
  return model;
}

TEST(DeviceMap, HasTheCoarsestModules) {
  const auto model = Transformer();
  EXPECT_EQ(model->To("device-map").text, "{\n  \"\": 0\n}\n");
  model->Put("layers.1", "gpu1").Put("head", "gpu1");
  const Exported exported = model->To("device-map");
  EXPECT_EQ(exported.text,
            "{\n"
            "  \"embed\": 0,\n"
            "  \"layers.0\": 0,\n"
            "  \"layers.1\": 1,\n"
            "  \"head\": 1\n"
            "}\n");
  EXPECT_THAT(
      exported.notes,
      ElementsAre("the weight embed/weight on gpu0 is shared with head on gpu1: it crosses at each step"));
}

TEST(DeviceMap, RefusesWhatNoMapOfModulesRuns) {
  // The sum of layer 0 is of no part, and reads both.
  EXPECT_THAT(
      Transformer()->Put("layers.0/mlp", "gpu1").Refusal("device-map"),
      HasSubstr("the module layers.0 is on several devices, and its own op layers.0/add on gpu0 reads "
                "layers.0/mlp/matmul on gpu1"));
  EXPECT_THAT(Transformer()->Put("layers.0/attn/weight", "gpu1").Refusal("device-map"),
              HasSubstr("layers.0.attn is on several devices"));
  EXPECT_THAT(Transformer()->Put("tokens", "gpu1").Refusal("device-map"), HasSubstr("the op tokens is on"));
}

// Modules put on devices at random, coarse and fine: what is exported reads back equal.
TEST(DeviceMap, ReadsBackEqual) {
  int exported = 0;
  for (const char* graph :
       {"llama(layers=3,hidden=64,heads=4,kv_heads=2,feed_forward=128,sequence=16,vocabulary=64)",
        "llama(layers=3,hidden=64,heads=4,kv_heads=2,feed_forward=128,sequence=16,vocabulary=64,mode="
        "inference)",
        "rnnlm(layers=2,hidden=64,steps=4,vocabulary=100)", "inception_v3"}) {
    for (unsigned seed = 1; seed <= 12; ++seed) {
      Model model(3, graph);
      std::mt19937 rng(seed);
      const sim::ModuleTree tree = sim::MakeModuleTree(model.graph());
      sim::Placement placement;
      placement.device.assign(model.graph().ops.size(), -1);
      for (const std::int32_t module : sim::CoarsestModules(tree, seed % 2 == 0 ? 8 : 200)) {
        const auto device = static_cast<sim::DeviceIndex>(1 + rng() % 3);
        sim::ForEachOp(tree, module,
                       [&](sim::OpIndex op) { placement.device[static_cast<std::size_t>(op)] = device; });
      }
      sim::FollowData(model.graph(), placement.device);
      for (sim::DeviceIndex& device : placement.device) device = std::max(device, 1);
      model.Put(placement);
      try {
        const std::string text = model.To("device-map").text;
        ++exported;
        EXPECT_TRUE(RecognisesDeviceMap(text));
        EXPECT_EQ(ImportDeviceMap(text, "map", model.graph(), model.cluster()).device, placement.device)
            << graph << " seed " << seed;
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("place --for device-map"));
      }
    }
  }
  EXPECT_GE(exported, 12);
}

TEST(DeviceMap, ReadsWhatOthersWrite) {
  const auto model = Transformer(2);
  const auto read = [&](const std::string& text) {
    return ImportDeviceMap(text, "map.json", model->graph(), model->cluster());
  };
  model->Put("layers.1", "gpu1")
      .Put("embed", "cpu0")
      .Put("tokens", "cpu0")
      .Put("layers.1/mlp/weight", "gpu0");
  EXPECT_EQ(
      read(
          R"({"embed": "cpu", "layers": "cuda:0", "layers.1": "1", "layers.1.mlp.weight": 0, "head": "gpu0"})")
          .device,
      model->placement().device);
  // The longest entry counts, wherever it stands.
  EXPECT_EQ(read(R"({"layers.1": 1, "": 0})").device, read(R"({"": 0, "layers.1": 1})").device);
  const auto refusal = [&](const std::string& text) -> std::string {
    return tests::ErrorOf([&] { read(text); }, "it was read");
  };
  EXPECT_THAT(refusal(R"({"layer.0": 0})"), HasSubstr("did you mean layers.0?"));
  EXPECT_EQ(read(R"({"": 0, "layers.1.dropout": 1})").device, read(R"({"": 0})").device) << "it has no ops";
  EXPECT_THAT(refusal(R"({"layers": 2})"), HasSubstr("is GPU 2, but the cluster"));
  EXPECT_THAT(refusal(R"({"layers": -1})"), HasSubstr("is GPU -1"));
  EXPECT_THAT(refusal(R"({"layers": "disk"})"), HasSubstr("no device of stowplan is"));
  EXPECT_THAT(refusal(R"({"layers": "tpu"})"), HasSubstr("must be the number of a GPU"));
  EXPECT_THAT(refusal(R"({"layers": 0.5})"), HasSubstr("map.json"));
  EXPECT_FALSE(RecognisesDeviceMap("{}"));
  EXPECT_FALSE(RecognisesDeviceMap(R"({"format": "stowplan.placement"})"));
}

// Each is compared with every module, in case it is misspelt.
TEST(DeviceMap, RefusesTooManyPartsWithoutOps) {
  sim::OpGraph graph;
  for (int i = 0; i < 1000; ++i) {
    sim::Op& op = graph.ops.emplace_back();
    op.name = "a/" + std::string(2000, 'b') + std::to_string(i) + "/op";
    op.type = "T";
  }
  graph.Finish();
  std::string map = R"({"": 0)";
  for (int i = 0; i < 100; ++i) map += fmt::format(R"(, "a.c{}": 0)", i);
  const auto model = Transformer();
  EXPECT_EQ(ImportDeviceMap(map + "}", "map.json", graph, model->cluster()).device.size(), 1000u);
  for (int i = 100; i < 200; ++i) map += fmt::format(R"(, "a.c{}": 0)", i);
  EXPECT_THAT(tests::ErrorOf([&] { ImportDeviceMap(map + "}", "map.json", graph, model->cluster()); }),
              HasSubstr("is one of too many parts without ops"));
}

// A map damaged anywhere is read or refused, and what is read is a placement.
TEST(DeviceMap, DamagedIsReadOrRefused) {
  const auto model = Transformer();
  const std::string map =
      R"({"embed": "cpu", "layers": "cuda:0", "layers.1": 1, "layers.1.mlp.weight": 0, "head": "gpu0"})";
  std::mt19937 rng(1);
  int read = 0;
  for (int draw = 0; draw < 2000; ++draw) {
    std::string damaged = map;
    for (unsigned change = 0; change <= draw % 3U; ++change) {
      const std::size_t at = rng() % damaged.size();
      if (rng() % 2 == 0)
        damaged[at] = static_cast<char>(rng() % 256);
      else
        damaged.erase(at, 1 + rng() % 4);
    }
    try {
      EXPECT_EQ(ImportDeviceMap(damaged, "map", model->graph(), model->cluster()).device.size(),
                model->graph().ops.size());
      ++read;
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(read, 0);
}

TEST(Pipeline, SplitsWhereModulesBegin) {
  const auto model = Transformer();
  model->Put("layers.1", "gpu1").Put("head", "gpu1");
  EXPECT_EQ(model->To("pipeline").text,
            "{\n"
            "  \"split_spec\": {\n"
            "    \"layers.1\": \"beginning\"\n"
            "  },\n"
            "  \"stages\": [\n"
            "    {\"rank\": 0, \"device\": \"gpu0\", \"modules\": [\"embed\", \"layers.0\"]},\n"
            "    {\"rank\": 1, \"device\": \"gpu1\", \"modules\": [\"layers.1\", \"head\"]}\n"
            "  ],\n"
            "  \"shared_weights\": {\n"
            "    \"embed.weight\": [0, 1]\n"
            "  }\n"
            "}\n");
}

TEST(Pipeline, RefusesWhatIsNone) {
  EXPECT_THAT(Transformer()->Refusal("pipeline"), HasSubstr("runs on gpu0 alone"));
  EXPECT_THAT(Transformer()->Put("layers.0", "gpu1").Refusal("pipeline"), HasSubstr("layers.1/attn/matmul"));
  EXPECT_THAT(
      Transformer()
          ->Put("layers.0/add", "gpu1")
          .Put("layers.1", "gpu1")
          .Put("head", "gpu1")
          .Refusal("pipeline"),
      HasSubstr(
          "the stage of gpu1 begins at layers.0/add, within layers.0; stages begin where a module does"));
  EXPECT_THAT(Transformer()
                  ->Put("layers.1/a", "gpu1")
                  .Put("layers.1/mlp/matmul", "gpu1")
                  .Put("head", "gpu1")
                  .Refusal("pipeline"),
              HasSubstr("the weight layers.1/mlp/weight is on gpu0, but the stage that reads it is on gpu1"));
}

TEST(Pipeline, RefusesStagesOfTwoClasses) {
  EXPECT_THAT(Transformer()->Put("layers.1", "cpu0").Put("head", "cpu0").Refusal("pipeline"),
              HasSubstr("stages on gpu0 and on cpu0"));
}

TEST(LayerStages, CountsLayers) {
  const auto model = Transformer(3);
  model->Put("layers.1", "gpu1").Put("head", "gpu1");
  EXPECT_EQ(model->To("megatron").text,
            "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|tL'\n");
  EXPECT_EQ(model->To("vllm").text,
            "VLLM_PP_LAYER_PARTITION=1,1 vllm serve MODEL --pipeline-parallel-size 2\n");
  EXPECT_THAT(model->To("vllm").notes, IsEmpty());
  // The table and the head on their own, which Megatron alone can say.
  model->Put("layers.0", "gpu2").Put("layers.1", "gpu2");
  EXPECT_EQ(model->To("megatron").text,
            "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout 'E|t*2|L'\n");
  EXPECT_THAT(model->To("megatron").notes,
              ElementsAre("the ranks of the pipeline are gpu0, gpu2, gpu1 in this order"));
  EXPECT_THAT(model->Refusal("vllm"), HasSubstr("the stage of gpu2 begins at layers.0/attn/matmul"));
}

TEST(LayerStages, RefusesWhatIsNoLayer) {
  EXPECT_THAT(Transformer()
                  ->Put("layers.1/mlp", "gpu1")
                  .Put("layers.1/add", "gpu1")
                  .Put("head", "gpu1")
                  .Refusal("megatron"),
              HasSubstr("layers.1 is on gpu0 and gpu1"));
  EXPECT_THAT(Model(2).Add("a/x", {}).Add("b/x", {"a/x"}).Put("b", "gpu1").Refusal("megatron"),
              HasSubstr("spell no numbered layers"));
}

TEST(OnnxRuntime, NamesProvidersAndNodes) {
  const auto model = Transformer();
  model->Put("embed", "cpu0").Put("tokens", "cpu0");
  const auto json = nlohmann::ordered_json::parse(model->To("onnxruntime").text);
  EXPECT_EQ(json["session_options"]["session.layer_assignment_settings"], "gpu:0(=gpu0); cpu(=cpu0)");
  EXPECT_EQ(json["layer_ann"]["embed/gather"], "cpu0");
  EXPECT_EQ(json["layer_ann"]["layers.0/attn/matmul"], "gpu0");
  EXPECT_FALSE(json["layer_ann"].contains("embed/weight"));
  EXPECT_THAT(Transformer()->Put("head", "gpu1").Refusal("onnxruntime"), HasSubstr("uses gpu0 and gpu1"));
  EXPECT_THAT(Transformer()->Refusal("onnxruntime-model"), HasSubstr("needs the ONNX file"));
}

// What llama.cpp does with --override-tensor: the first pattern that is found in the name counts.
std::string BufferOf(const std::string& arguments, const std::string& tensor) {
  const auto first = arguments.find('\'') + 1;
  std::istringstream rules(arguments.substr(first, arguments.rfind('\'') - first));
  for (std::string rule; std::getline(rules, rule, ',');) {
    const auto equals = rule.find('=');
    if (std::regex_search(tensor, std::regex(rule.substr(0, equals)))) return rule.substr(equals + 1);
  }
  return "";
}

TEST(LlamaCpp, SplitsLayersAndOverridesParts) {
  EXPECT_EQ(Transformer()->Put("layers.1", "gpu1").Put("head", "gpu1").To("llama.cpp").text,
            "--n-gpu-layers 999 --split-mode layer --tensor-split 1,2\n");
  const auto model = Transformer();
  model->Put("layers.0/mlp", "cpu0").Put("layers.1", "gpu1");
  const std::string text = model->To("llama.cpp").text;
  EXPECT_EQ(text,
            "--n-gpu-layers 999 --override-tensor "
            "'blk\\.(0)\\.ffn_=CPU,blk\\.(0)\\.attn_=CUDA0,blk\\.(1)\\.=CUDA1'\n");
  EXPECT_EQ(BufferOf(text, "blk.0.ffn_gate.weight"), "CPU");
  EXPECT_EQ(BufferOf(text, "blk.0.attn_q.weight"), "CUDA0");
  EXPECT_EQ(BufferOf(text, "blk.1.ffn_gate.weight"), "CUDA1");
  EXPECT_EQ(BufferOf(text, "blk.10.ffn_gate.weight"), "");
  EXPECT_THAT(model->To("llama.cpp").notes, ElementsAre(HasSubstr("keeps the table of tokens")));
  // What nothing reads says nothing of where work is done, wherever it stands.
  const auto unread = Transformer();
  unread->Add("rotary/original_inv_freq", {}, "Variable").Put("", "gpu0").Put("rotary", "gpu1");
  EXPECT_EQ(unread->To("llama.cpp").text, Transformer()->Put("", "gpu0").To("llama.cpp").text);
  Model two(1);
  for (const std::string layer : {"encoder.layer0", "decoder.layer0"})
    two.Add(layer + "/weight", {}, "Variable").Add(layer + "/matmul", {layer + "/weight"});
  two.Put("", "gpu0");
  EXPECT_THAT(two.Refusal("llama.cpp"), HasSubstr("one stack"));
  EXPECT_THAT(Transformer()->Put("layers.0/mlp/weight", "cpu0").Refusal("llama.cpp"),
              HasSubstr("llama.cpp computes where the weight is"));
}

TEST(Drawings, DotAndGraphMl) {
  Model model(1);
  model.Add("a\"b", {}, "Placeholder").Add("m/c", {"a\"b"}).Put("m", "gpu0").Put("a", "cpu0");
  EXPECT_EQ(model.To("dot").text,
            "digraph \"model\" {\n"
            "  rankdir=TB;\n"
            "  node [shape=box, style=rounded];\n"
            "  subgraph cluster_0 {\n    label=\"cpu0\";\n    \"a\\\"b\" [tooltip=\"Placeholder\"];\n  }\n"
            "  subgraph cluster_1 {\n    label=\"gpu0\";\n    \"m/c\" [tooltip=\"MatMul\"];\n  }\n"
            "  \"a\\\"b\" -> \"m/c\" [label=\"4096 B\", color=red];\n"
            "}\n");
  EXPECT_THAT(
      model.To("graphml").text,
      HasSubstr(
          "    <node id=\"m/c\"><data key=\"device\">gpu0</data><data key=\"module\">m</data>"
          "<data key=\"type\">MatMul</data><data key=\"phase\">forward</data><data key=\"time_us\">1</data>"
          "<data key=\"persistent_bytes\">0</data></node>\n"
          "    <edge source=\"a&quot;b\" target=\"m/c\"><data key=\"bytes\">4096</data>"
          "<data key=\"control\">false</data></edge>\n"));
}

// What every exporter owes, whoever adds one: the same text for the same placement, a closing line, JSON where it says so,
// and one sentence where it cannot.
class Conformance : public testing::TestWithParam<ExporterRow> {};

TEST_P(Conformance, PrintsTheSameOrRefusesInASentence) {
  const ExporterRow& exporter = GetParam();
  const auto model = Transformer();
  int printed = 0;
  for (int draw = 0; draw < 20; ++draw) {
    if (draw == 1) model->Put("layers.1", "gpu1").Put("head", "gpu1");
    if (draw == 2) model->Put("", "gpu0").Put("embed", "cpu0").Put("tokens", "cpu0").Put("head", "cpu0");
    if (draw > 2) {
      std::mt19937 rng(static_cast<unsigned>(draw));
      sim::Placement placement = model->placement();
      for (sim::DeviceIndex& device : placement.device) device = static_cast<sim::DeviceIndex>(rng() % 3);
      model->Put(placement);
    }
    try {
      const std::string text = model->To(exporter.name).text;
      ++printed;
      ASSERT_THAT(text, Not(IsEmpty()));
      EXPECT_EQ(text.back(), '\n');
      EXPECT_EQ(text, model->To(exporter.name).text);
      if (std::string(exporter.what).find("JSON") != std::string::npos) {
        EXPECT_TRUE(nlohmann::json::accept(text));
      }
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(exporter.name));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  const bool wants_onnx =
      std::string(exporter.name) == "onnxruntime-model" || std::string(exporter.name) == "onnxruntime-memory";
  EXPECT_EQ(printed > 0, !wants_onnx);
}

std::string TestName(const testing::TestParamInfo<ExporterRow>& row) {
  std::string name = row.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Exporters, Conformance, testing::ValuesIn(Exporters()), TestName);

}  // namespace
}  // namespace stowplan::scenarios
