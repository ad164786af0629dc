#include "tests/formats/readers.h"

#include "sim/base/error.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/yaml_reader.h"
#include "sim/formats/formats.h"
#include "tests/formats/sample_catalogue.h"

namespace stowplan::formats {
namespace {

constexpr std::string_view kGraph =
    R"({"format": "stowplan.graph", "version": 1, "name": "inception_v3", "ops": [
  {"name": "conv0/weights", "type": "Variable", "outputs": [{"bytes": 1}]}, {"name": "images", "type": "Placeholder"},
  {"name": "conv0", "type": "T", "inputs": ["conv0/weights"], "outputs": [{}]}, {"name": "init", "type": "NoOp"},
  {"name": "flatten", "type": "T", "inputs": ["conv0"]}]})";
constexpr std::string_view kCluster = R"({format: stowplan.cluster, version: 1, devices: [
  {name: cpu0, kind: cpu-a}, {name: gpu0, kind: gpu-a}, {name: gpu1, kind: gpu-a}]})";

// Runs `read` and gives what it throws on input to the wind.
template <typename Read>
void Tolerate(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    STOWPLAN_CHECK(*error.what() != '\0');
  }
}

void TryGraph(std::string_view text) {
  std::string printed;
  Tolerate([&] { printed = PrintGraph(ParseGraph(text, "input")); });
  if (!printed.empty()) STOWPLAN_CHECK_EQ(PrintGraph(ParseGraph(printed, "printed")), printed);
}

void TryCluster(std::string_view text) {
  std::string printed;
  Tolerate([&] { printed = PrintCluster(ParseCluster(text, "input", SampleCatalogue())); });
  if (!printed.empty()) {
    STOWPLAN_CHECK_EQ(PrintCluster(ParseCluster(printed, "printed", SampleCatalogue())), printed);
  }
}

void TryPlacement(std::string_view text) {
  static const sim::OpGraph graph = ParseGraph(kGraph, "graph");
  static const sim::Cluster cluster = ParseCluster(kCluster, "cluster", SampleCatalogue());
  const auto print = [](std::string_view json, const char* source) {
    return PrintPlacement(ParsePlacement(json, source, graph, cluster), graph, cluster);
  };
  std::string printed;
  Tolerate([&] { printed = print(text, "input"); });
  if (!printed.empty()) STOWPLAN_CHECK_EQ(print(printed, "printed"), printed);
}

void TryScenario(std::string_view text) {
  Tolerate([&] { ParseScenario(text, "input"); });
}

// Walks the tree, so that places and values are touched: of `left` values. A place is found by walking along the lists that it is in,
// which a program that stops there does once.
void Walk(const Value& value, int& left) {
  if (left-- <= 0) return;
  STOWPLAN_CHECK(!value.Place().empty());
  Tolerate([&] { value.Int(); });
  Tolerate([&] { value.Number(); });
  Tolerate([&] { value.ByteCount(); });
  Tolerate([&] { value.Time(); });
  Tolerate([&] { value.Bandwidth(); });
  value.Free();
  if (value.IsList()) {
    for (const Value item : value.items()) Walk(item, left);
  } else if (value.IsObject()) {
    for (const auto [key, member] : value.members()) Walk(member, left);
  }
}

void Walk(const Value& root) {
  int left = 2000;
  Walk(root, left);
}

void TryJson(std::string_view text) {
  Tolerate([&] { Walk(ParseJson(text, "input").root()); });
}
void TryYaml(std::string_view text) {
  Tolerate([&] { Walk(ParseYaml(text, "input").root()); });
}

constexpr Reader kReaders[] = {
    {"graph", "graph.json", TryGraph},
    {"cluster", "cluster.yaml", TryCluster},
    {"placement", "placement.json", TryPlacement},
    {"scenario", "scenario.yaml", TryScenario},
    {"json", "graph.json", TryJson},
    {"yaml", "cluster.yaml", TryYaml},
};

}  // namespace

std::span<const Reader> Readers() {
  return kReaders;
}

}  // namespace stowplan::formats
