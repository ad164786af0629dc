// Documents of samples/ are read, those of samples/refused/ are not, each with the message that messages.txt
// pins. validate_schemas.py holds docs/schema/ against the same files.
#include <nlohmann/json.hpp>

#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

namespace fs = std::filesystem;

// "graph.version.json" is read as a graph, and its ops are priced by what the file says of them.
void ReadAs(const std::string& file, const std::string& text) {
  const std::string format = file.substr(0, file.find('.'));
  if (format == "graph") {
    const sim::OpGraph graph = ParseGraph(text, file, &SampleCatalogue());
    const sim::Cluster cluster = ReadCluster(SamplePath("cluster.yaml"), SampleCatalogue());
    CheckedAt(file, [&] { sim::PriceOps(graph, cluster, sim::NoCostModel()); });
  } else if (format == "cluster") {
    ParseCluster(text, file, SampleCatalogue());
  } else if (format == "scenario") {
    ParseScenario(text, file);
  } else {
    const sim::OpGraph graph = ReadGraph(SamplePath("graph.json"));
    ParsePlacement(text, file, graph, ReadCluster(SamplePath("cluster.yaml"), SampleCatalogue()));
  }
}

// What ReadFile() makes of a file, called by its name alone, as the messages here call it.
std::string TextOf(const fs::path& path) {
  try {
    return ReadFile(path.string());
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()).substr(path.parent_path().string().size() + 1));
  }
}

TEST(Samples, RefusalsSayPlaceAndCure) {
  std::map<std::string, std::string> messages;  // sorted by file
  for (const auto& entry : fs::recursive_directory_iterator(SamplePath("refused"))) {
    const std::string file = entry.path().filename().string();
    if (!entry.is_regular_file() || file == "messages.txt") continue;
    messages[file] = MessageOf([&] { ReadAs(file, TextOf(entry.path())); });
  }
  EXPECT_GT(messages.size(), 60u);
  std::string text;
  for (const auto& [file, message] : messages) {
    EXPECT_EQ(message.find(file), 0u) << message;
    text += message + "\n";
  }
  if (text == ReadText(SamplePath("refused/messages.txt"))) return;
  const std::string fresh = std::string(STOWPLAN_BINARY_DIR) + "/messages.new.txt";
  std::ofstream(fresh) << text;
  ADD_FAILURE() << SamplePath("refused/messages.txt") << " differs from what the readers say now: " << fresh;
}

TEST(Samples, EnvelopesOfCostModelsAreRead) {
  EXPECT_EQ(CheckFormat(ParseJson(ReadFile(SamplePath("cost_model.json")), "c"), "stowplan.cost_model", 1),
            1);
}

// ---- schemas against readers --------------------------------------------------------------------

using Json = nlohmann::json;

Json Schema(const std::string& format) {
  return Json::parse(ReadText(STOWPLAN_SOURCE_DIR "/docs/schema/" + format + ".json"));
}
std::set<std::string> PropertiesOf(const Json& schema) {
  std::set<std::string> keys;
  for (const auto& [key, unused] : schema.at("properties").items()) keys.insert(key);
  return keys;
}
// Of "... the known keys are a, b and c".
std::set<std::string> KnownKeysIn(std::string message) {
  const std::string intro = "the known keys are ";
  message.erase(0, message.find(intro) + intro.size());
  const auto last = message.rfind(" and ");
  message.replace(last, 5, ", ");
  std::set<std::string> keys;
  for (std::size_t begin = 0; begin < message.size();) {
    const auto end = std::min(message.find(", ", begin), message.size());
    keys.insert(message.substr(begin, end - begin));
    begin = end + 2;
  }
  return keys;
}

TEST(Schemas, KnowTheSameKeysAsTheReaders) {
  const auto known = [](const std::string& file, const std::string& text) {
    return KnownKeysIn(MessageOf([&] { ReadAs(file, text); }));
  };
  const Json graph = Schema("graph"), cluster = Schema("cluster");
  const std::string graph_head = R"({"format": "stowplan.graph", "version": 1, )";
  EXPECT_EQ(PropertiesOf(graph), known("graph.json", graph_head + R"("?": 0})"));
  EXPECT_EQ(PropertiesOf(graph["$defs"]["op"]), known("graph.json", graph_head + R"("ops": [{"?": 0}]})"));
  EXPECT_EQ(
      PropertiesOf(graph["$defs"]["output"]),
      known("graph.json", graph_head + R"("ops": [{"name": "a", "type": "T", "outputs": [{"?": 0}]}]})"));
  const std::string cluster_head =
      "{format: stowplan.cluster, version: 1, devices: [{name: a, kind: gpu-a}], ";
  EXPECT_EQ(PropertiesOf(cluster), known("cluster.yaml", cluster_head + "zzz: 0}"));
  EXPECT_EQ(PropertiesOf(cluster["$defs"]["device"]),
            known("cluster.yaml", "{format: stowplan.cluster, version: 1, devices: [{zzz: 0}]}"));
  EXPECT_EQ(PropertiesOf(cluster["$defs"]["link"]),
            known("cluster.yaml", cluster_head + "links: [{zzz: 0}]}"));
  EXPECT_EQ(PropertiesOf(cluster["$defs"]["route"]),
            known("cluster.yaml", cluster_head + "routes: [{zzz: 0}]}"));
  EXPECT_EQ(PropertiesOf(cluster["$defs"]["dispatch"]),
            known("cluster.yaml", cluster_head + "dispatch: {zzz: 0}}"));
  EXPECT_EQ(PropertiesOf(Schema("placement")),
            known("placement.json", R"({"format": "stowplan.placement", "version": 1, "?": 0})"));
  EXPECT_EQ(PropertiesOf(Schema("scenario")),
            known("scenario.yaml", "{format: stowplan.scenario, version: 1, zzz: 0}"));
}

}  // namespace
}  // namespace stowplan::formats
