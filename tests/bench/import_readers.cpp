#include <functional>
#include <string>
#include <string_view>

#include "cost_models/cost_models.h"
#include "scenarios/importers/device_map.h"
#include "scenarios/importers/doppler.h"
#include "scenarios/importers/msr.h"
#include "scenarios/scenarios.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "tests/bench/readers.h"

namespace berth::bench {
namespace {

std::string SampleOf(const char* file) {
  return formats::ReadFile(std::string(BERTH_SOURCE_DIR "/tests/scenarios/data/") + file);
}

void TolerateGraph(const std::function<sim::OpGraph()>& import) {
  std::string printed;
  Tolerate([&] { printed = formats::PrintGraph(import()); });
  if (!printed.empty()) BERTH_CHECK_EQ(formats::PrintGraph(formats::ParseGraph(printed, "printed")), printed);
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

constexpr FileReader kReaders[] = {
    {"msr", MsrGraph, ReadMsrGraph},
    {"split", MsrSplit, ReadMsrSplit},
    {"map", DeviceMap, ReadDeviceMap},
    {"doppler", DopplerGraph, ReadDopplerGraph},
};

}  // namespace

std::span<const FileReader> ImportReaders() {
  return kReaders;
}

}  // namespace berth::bench
