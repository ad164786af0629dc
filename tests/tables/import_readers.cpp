#include <functional>
#include <string>
#include <string_view>

#include "cost_models/cost_models.h"
#include "scenarios/importers/device_map.h"
#include "scenarios/importers/doppler.h"
#include "scenarios/importers/msr.h"
#include "scenarios/onnx_files/node_memory.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tests/tables/readers.h"

namespace stowplan::tables {
namespace {

std::string SampleOf(const char* file) {
  return formats::ReadFile(std::string(STOWPLAN_SOURCE_DIR "/tests/scenarios/data/") + file);
}

void TolerateGraph(const std::function<sim::OpGraph()>& import) {
  std::string printed;
  Tolerate([&] { printed = formats::PrintGraph(import()); });
  if (!printed.empty())
    STOWPLAN_CHECK_EQ(formats::PrintGraph(formats::ParseGraph(printed, "printed")), printed);
}

std::string MsrGraph() {
  return SampleOf("msr_small.json");
}

void ReadMsrGraph(std::string_view bytes) {
  TolerateGraph([&] { return scenarios::ImportMsrGraph(std::string(bytes), "input"); });
}

std::string DopplerGraph() {
  return SampleOf("doppler_small.txt");
}

void ReadDopplerGraph(std::string_view bytes) {
  const std::string content(bytes);
  if (scenarios::RecognisesDopplerGraph(content))
    TolerateGraph([&] { return scenarios::ImportDopplerGraph(content, "input"); });
}

const sim::Cluster& TwoGpus() {
  static const sim::Cluster cluster = scenarios::LoadCluster("k40(gpus=2)", cost_models::BuiltinCatalogue());
  return cluster;
}

std::string MsrSplit() {
  return SampleOf("msr_small_expert.json");
}

void ReadMsrSplit(std::string_view bytes) {
  static const sim::OpGraph graph = scenarios::ImportMsrGraph(MsrGraph(), "graph");
  Tolerate([&] { scenarios::ImportMsrSplit(std::string(bytes), "input", graph, TwoGpus()); });
}

std::string DeviceMap() {
  return R"({"embed": 0, "layers.0": 0, "layers.1": 1, "lm_head": "cpu"})";
}

void ReadDeviceMap(std::string_view bytes) {
  static const sim::OpGraph graph = scenarios::LoadGraph(
      "llama(layers=2,hidden=8,heads=2,kv_heads=1,feed_forward=8,sequence=4,vocabulary=8,mode=inference)");
  Tolerate([&] { scenarios::ImportDeviceMap(std::string(bytes), "input", graph, TwoGpus()); });
}

std::string WireField(int number, const std::string& body) {
  std::string length;
  for (std::size_t left = body.size();; left >>= 7) {
    length += static_cast<char>(left < 0x80 ? left : left | 0x80);
    if (left < 0x80) break;
  }
  return static_cast<char>(number << 3 | 2) + length + body;
}

// Of an ONNX file: named nodes and one without a name.
std::string TwoNodes() {
  return WireField(
      7, WireField(1, WireField(1, "x") + WireField(1, "w") + WireField(2, "a") + WireField(3, "mul")) +
             WireField(1, WireField(1, "a") + WireField(2, "b") + WireField(2, "c") + WireField(4, "Split")));
}

sim::OpGraph OpsOfTwoNodes() {
  return formats::ParseGraph(
      R"({"format": "stowplan.graph", "version": 1, "name": "two", "ops": [
           {"name": "x", "type": "Placeholder", "outputs": [{"bytes": 1024}]},
           {"name": "w", "type": "Variable", "persistent_bytes": 4096, "outputs": [{"bytes": 4096}]},
           {"name": "mul", "type": "MatMul", "inputs": ["x", "w"], "outputs": [{"bytes": 1024}]},
           {"name": "b", "type": "Split", "inputs": ["mul"], "outputs": [{"bytes": 256}, {"bytes": 768}]},
           {"name": "flat", "type": "Reshape", "inputs": ["b:1"], "outputs": [{"bytes": 768, "alias": "b:1"}]}]})",
      "two");
}

std::string NodeMemoryOfTwo() {
  const std::string model = TwoNodes();  // what is read points into it
  const std::vector<scenarios::OnnxNode> nodes = scenarios::ReadOnnxNodes(model);
  return scenarios::PrintNodeMemory(
      {{.name = scenarios::StatisticsName(nodes[0]), .inputs = 5120, .outputs = 1024, .workspace = 100},
       {.name = scenarios::StatisticsName(nodes[1]), .outputs = 2048}});
}

void ReadNodeMemory(std::string_view bytes) {
  TolerateGraph([&] {
    const auto nodes = scenarios::ParseNodeMemory(bytes, "input");
    const std::string printed = scenarios::PrintNodeMemory(nodes);
    STOWPLAN_CHECK_EQ(scenarios::PrintNodeMemory(scenarios::ParseNodeMemory(printed, "printed")), printed);
    sim::OpGraph graph = OpsOfTwoNodes();
    scenarios::TakeNodeMemory(graph, TwoNodes(), nodes, "input");
    return graph;
  });
}

constexpr FileReader kReaders[] = {
    {"msr", MsrGraph, ReadMsrGraph},
    {"split", MsrSplit, ReadMsrSplit},
    {"map", DeviceMap, ReadDeviceMap},
    {"doppler", DopplerGraph, ReadDopplerGraph},
    {"memory", NodeMemoryOfTwo, ReadNodeMemory},
};

}  // namespace

std::span<const FileReader> ImportReaders() {
  return kReaders;
}

}  // namespace stowplan::tables
