// stowplan.scenario: YAML.
#include <algorithm>
#include <filesystem>

#include "sim/base/error.h"
#include "sim/formats/document/source.h"
#include "sim/formats/document/yaml_reader.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScenarioKeys[] = {"format",     "version", "name",   "workload", "cluster",
                                              "cost_model", "grouper", "expert", "samples",  "seeds"};
constexpr std::int64_t kMaxSamples = 1'000'000'000;

std::vector<std::int64_t> ReadSeeds(const Value& value) {
  std::vector<std::int64_t> seeds;
  for (const Value item : value.items()) {
    const std::int64_t seed = item.Int(0);
    if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end())
      item.Fail("is there twice; seeds must differ");
    seeds.push_back(seed);
  }
  if (seeds.empty()) value.Fail("must hold at least one seed");
  return seeds;
}

// What stands beside the scenario file is meant, wherever the program runs; specs and other paths stay as
// written.
void ResolveBeside(const fs::path& folder, std::string& text) {
  std::error_code ignored;
  if (text.empty() || fs::path(text).is_absolute()) return;
  const fs::path beside = folder / text;
  if (fs::is_regular_file(beside, ignored)) text = beside.lexically_normal().string();
}

}  // namespace

Scenario ParseScenario(std::string_view yaml, const std::string& source) {
  const Document document = ParseYaml(yaml, source);
  CheckFormat(document, "stowplan.scenario", 1);
  const Fields top(document.root(), kScenarioKeys);
  Scenario scenario;
  scenario.name = top.Name("name", NameFromSource(source));
  scenario.workload = top.Require("workload").Name();
  scenario.cluster = top.Require("cluster").Name();
  scenario.cost_model = top.String("cost_model", "");
  scenario.grouper = top.String("grouper", "");
  scenario.expert = top.String("expert", "");
  scenario.samples = top.Int("samples", scenario.samples, 1, kMaxSamples);
  if (const auto seeds = top.Find("seeds")) scenario.seeds = ReadSeeds(*seeds);
  for (const auto [key, value] : document.root().members()) scenario.places.emplace(key, value.Place());
  return scenario;
}

Scenario ReadScenario(const std::string& path) {
  Scenario scenario = ParseScenario(ReadFile(path), SourceOf(path));
  if (path == "-") return scenario;
  const fs::path folder = fs::path(path).parent_path();
  for (std::string* text : {&scenario.workload, &scenario.cluster, &scenario.cost_model, &scenario.expert}) {
    ResolveBeside(folder, *text);
  }
  return scenario;
}

}  // namespace stowplan::formats
