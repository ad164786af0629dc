#include "cost_models/cost_models.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::InputErrorOf;

const DeviceSheet& Sheet(const std::string& kind) {
  const DeviceSheet* sheet = BuiltinCatalogue().FindSheet(kind);
  EXPECT_NE(sheet, nullptr) << kind;
  return *sheet;
}

std::string DataFile(const std::string& name) {
  std::ifstream in(std::string(STOWPLAN_SOURCE_DIR) + "/cost_models/data/" + name);
  EXPECT_TRUE(in) << name;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Catalogue, HasTheKindsThatScenariosName) {
  const auto devices = BuiltinCatalogue().DeviceNames();
  for (const char* kind : {"cpu", "gpu", "cpu-haswell", "cpu-broadwell", "k40", "k80", "p100-12gb", "p100",
                           "v100", "a100", "h100", "h200"}) {
    EXPECT_THAT(devices, ::testing::Contains(kind));
  }
  const auto links = BuiltinCatalogue().LinkNames();
  for (const char* kind : {"pcie3-x16", "pcie4-x16", "pcie5-x16", "nvlink-v100", "nvlink-a100", "nvlink-h100",
                           "nvlink-h200", "nvswitch-a100", "nvswitch-h100", "nvswitch-h200", "qpi", "upi"}) {
    EXPECT_THAT(links, ::testing::Contains(kind));
  }
}

constexpr const char* kSheet =
    "  - name: nova\n    class: gpu\n    description: a GPU that nobody ships\n"
    "    multiprocessors: {value: 10, source: \"data sheet: Nova\"}\n"
    "    peak_f32: {value: 3TFLOP/s, source: \"data sheet: Nova\"}\n"
    "    memory_bandwidth: {value: 100GB/s, source: \"data sheet: Nova\"}\n";

TEST(Catalogue, TakesKindsOfOtherFilesAndOfClusters) {
  const std::string devices = std::string("format: stowplan.devices\nversion: 1\ndevices:\n") + kSheet;
  const std::string cluster = std::string("format: stowplan.cluster\nversion: 1\nkinds:\n") + kSheet +
                              "devices:\n  - {name: g, kind: nova}\n";
  for (const std::string& text : {devices, cluster}) {
    const auto more = CatalogueWith(BuiltinCatalogue(), {{text, "nova.yaml"}});
    ASSERT_NE(more->FindSheet("nova"), nullptr);
    EXPECT_EQ(more->FindSheet("nova")->peak_f32, 3e12);
    EXPECT_EQ(more->FindSheet("k40"), BuiltinCatalogue().FindSheet("k40"));
    EXPECT_EQ(more->DeviceNames().size(), BuiltinCatalogue().DeviceNames().size() + 1);
    EXPECT_THAT(InputErrorOf([&] {
                  CatalogueWith(*more, {{text, "again.yaml"}});
                }),
                HasSubstr("again.yaml:4: "));
  }
  // A cluster without kinds, or with what only its own reader can judge, adds nothing; JSON is YAML too.
  for (const char* text : {"format: stowplan.cluster\nwrong: 1\n", "{\"format\": \"stowplan.cluster\"}"}) {
    EXPECT_EQ(CatalogueWith(BuiltinCatalogue(), {{text, "c.yaml"}})->DeviceNames(),
              BuiltinCatalogue().DeviceNames());
  }
  EXPECT_THAT(InputErrorOf([&] {
                CatalogueWith(BuiltinCatalogue(), {{"a: 1\n", "x.yaml"}});
              }),
              HasSubstr("the file has no \"format\", which must be \"stowplan.devices\""));
  // What was given as a cluster is told that it is to be one, not a file of devices.
  for (const char* text :
       {"version: 1\n", "format: stowplan.clutser\nversion: 1\n", "format: stowplan.devices\nversion: 1\n"}) {
    EXPECT_THAT(InputErrorOf([&] {
                  CatalogueWith(BuiltinCatalogue(), {{text, "c.yaml", true}});
                }),
                HasSubstr("must be \"stowplan.cluster\""));
  }
}

TEST(Catalogue, IsCompiledInFromTheFilesOfTheTree) {
  const auto from_files = ParseCatalogue(
      {DataFile("devices.yaml"), DataFile("links.yaml"), DataFile("efficiency.yaml")}, "files");
  EXPECT_EQ(from_files->DeviceNames(), BuiltinCatalogue().DeviceNames());
  for (const auto& kind : from_files->DeviceNames()) {
    EXPECT_EQ(from_files->FindSheet(kind)->numbers.size(), Sheet(kind).numbers.size());
    EXPECT_EQ(from_files->FindSheet(kind)->peak_f32, Sheet(kind).peak_f32);
  }
}

// Read as plain text and not through the reader: no line with a number may lack its source.
TEST(Catalogue, EveryNumberOfTheFilesHasASource) {
  for (const char* file : {"devices.yaml", "links.yaml", "efficiency.yaml"}) {
    std::istringstream lines(DataFile(file));
    int numbers = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("value:") == std::string::npos) continue;
      ++numbers;
      EXPECT_THAT(line,
                  ::testing::ContainsRegex(
                      "\\{value: ([0-9][^,]*|\\[\\[.*\\]\\]), source: \"(data sheet|measured|paper|derived|"
                      "recalled|assumption): .+\"\\}$"))
          << file;
    }
    EXPECT_GE(numbers, 20) << file;
  }
}

TEST(Catalogue, EveryKindTellsItsNumbersWithTheirSources) {
  for (const auto& name : BuiltinCatalogue().DeviceNames()) {
    const DeviceSheet& sheet = Sheet(name);
    EXPECT_FALSE(sheet.description.empty());
    for (const SourcedNumber& number : sheet.numbers) {
      EXPECT_GT(number.source.size(), 12u) << name << ' ' << number.key;
      EXPECT_FALSE(number.value.empty()) << name << ' ' << number.key;
    }
    if (name == "cpu" || name == "gpu") {
      EXPECT_FALSE(sheet.HasRates());
      EXPECT_FALSE(sheet.kind.memory.has_value());
    } else {
      EXPECT_TRUE(sheet.HasRates());
      EXPECT_GE(sheet.numbers.size(), 8u) << name;
      EXPECT_GT(sheet.kind.launch_cost, 0) << name;
      EXPECT_GT(sheet.kernel_us, 0) << name;
    }
    if (sheet.kind.device_class == sim::DeviceClass::kCpu) {
      EXPECT_FALSE(sheet.kind.memory.has_value()) << "the memory of a host is the cluster's to say";
    }
  }
}

TEST(Catalogue, KnownDataSheetNumbers) {
  EXPECT_DOUBLE_EQ(Sheet("k40").peak_f32, 4.29e12);
  EXPECT_DOUBLE_EQ(Sheet("k80").peak_f32, 8.74e12 / 2);
  EXPECT_DOUBLE_EQ(Sheet("p100").memory_bandwidth, 732e9);
  EXPECT_DOUBLE_EQ(Sheet("p100-12gb").memory_bandwidth, 549e9);
  EXPECT_DOUBLE_EQ(Sheet("v100").peak_f16, 125e12);
  EXPECT_DOUBLE_EQ(Sheet("a100").peak_tf32, 156e12);
  EXPECT_DOUBLE_EQ(Sheet("h100").memory_bandwidth, 3.35e12);
  EXPECT_DOUBLE_EQ(Sheet("h200").memory_bandwidth, 4.8e12);
  EXPECT_EQ(Sheet("h100").multiprocessors, 132);
  EXPECT_EQ(Sheet("k80").multiprocessors, 13);
  // 18 cores x 2.3 GHz x 32 operations.
  EXPECT_DOUBLE_EQ(Sheet("cpu-haswell").peak_f32, 18 * 2.3e9 * 32);
}

// docs/protocol_rules.md#memory: 11,440 MiB less the cluster's 300 MiB are 11.68 GB, and so on.
TEST(Catalogue, MemoryIsWhatTheRulesOfTheTablesSay) {
  constexpr sim::Bytes kMiB = 1 << 20;
  const auto usable_gb = [](const char* kind) {
    return static_cast<double>(*Sheet(kind).kind.memory - 300 * kMiB) / 1e9;
  };
  EXPECT_NEAR(usable_gb("k40"), 11.68, 0.005);
  EXPECT_NEAR(usable_gb("k80"), 11.68, 0.005);
  EXPECT_NEAR(usable_gb("p100"), 16.76, 0.005);
  EXPECT_NEAR(usable_gb("p100-12gb"), 12.48, 0.005);
}

TEST(Catalogue, LinksAreInEachDirection) {
  const auto bandwidth = [](const char* kind) { return BuiltinCatalogue().FindLink(kind)->bandwidth; };
  EXPECT_EQ(bandwidth("pcie4-x16"), 2 * bandwidth("pcie3-x16"));
  EXPECT_EQ(bandwidth("pcie5-x16"), 2 * bandwidth("pcie4-x16"));
  EXPECT_LT(bandwidth("nvlink-a100"), bandwidth("nvlink-h100"));
  EXPECT_EQ(BuiltinCatalogue().FindLink("pcie4-x16")->both_ppm, 715'000);
  EXPECT_EQ(BuiltinCatalogue().FindLink("nvlink-h100")->both_ppm, sim::kPpm);
  // Through a switch a path crosses two links, and takes as long as the direct one.
  EXPECT_EQ(2 * BuiltinCatalogue().FindLink("nvswitch-h100")->latency,
            BuiltinCatalogue().FindLink("nvlink-h100")->latency);
}

// Wherever it is measured: over one link, or over two to and from a switch.
TEST(Catalogue, ThroughASwitchACurveTakesAsLongAsDirectly) {
  const auto link = [](const char* kind) {
    sim::Link made;
    const sim::LinkKind& from = *BuiltinCatalogue().FindLink(kind);
    made.bandwidth = from.bandwidth, made.latency = from.latency, made.curve = from.curve;
    return made;
  };
  const sim::Link direct = link("nvlink-a100"), half = link("nvswitch-a100");
  ASSERT_GE(direct.curve.size(), 8u);
  for (const sim::Bytes bytes : {0, 1 << 12, 1 << 20, 1 << 25, 1 << 28}) {
    const sim::Picos path = 2 * half.latency + (sim::LoneTime(half, bytes) - half.latency);
    EXPECT_EQ(path, sim::LoneTime(direct, bytes)) << bytes;
  }
}

TEST(Catalogue, UnknownKindsAreAbsent) {
  EXPECT_EQ(BuiltinCatalogue().FindDevice("k41"), nullptr);
  EXPECT_EQ(BuiltinCatalogue().FindLink("string"), nullptr);
  EXPECT_EQ(BuiltinCatalogue().FindSheet(""), nullptr);
  EXPECT_EQ(BuiltinCatalogue().FindLinkSheet("pcie9"), nullptr);
}

// ---- bad input --------------------------------------------------------------------------------------------

constexpr char kGoodLinks[] = "format: stowplan.links\nversion: 1\nlinks: []\n";

std::string DeviceError(const std::string& devices) {
  const std::string efficiency = DataFile("efficiency.yaml");
  const std::string text = "format: stowplan.devices\nversion: 1\ndevices:\n" + devices;
  return InputErrorOf([&] { ParseCatalogue({text, kGoodLinks, efficiency}, "my"); });
}

TEST(CatalogueReader, RefusesWhatHasNoSource) {
  const std::string head = "  - {name: x, class: gpu, description: d, ";
  EXPECT_THAT(DeviceError(head + "peak_f32: {value: 1TFLOP/s}}\n"), HasSubstr("source"));
  EXPECT_THAT(DeviceError(head + "peak_f32: 1TFLOP/s}\n"), HasSubstr("peak_f32"));
  EXPECT_THAT(DeviceError(head + "peak_f32: {value: 1TFLOP/s, source: \"somebody said\"}}\n"),
              HasSubstr("what kind of source"));
  EXPECT_THAT(DeviceError(head + "peak_f32: {value: 1TFLOP/s, source: \"\"}}\n"),
              HasSubstr("my/devices.yaml:4"));
}

TEST(CatalogueReader, RefusesBadNumbersAndNames) {
  const std::string head = "  - {name: x, class: gpu, description: d, ";
  const std::string tail = ", source: \"data sheet: d\"}}\n";
  EXPECT_THAT(DeviceError(head + "peak_f32: {value: 4" + tail), HasSubstr("GFLOP/s or TFLOP/s"));
  EXPECT_THAT(DeviceError(head + "peak_f32: {value: -4TFLOP/s" + tail), HasSubstr("positive"));
  EXPECT_THAT(DeviceError(head + "peak_f32: {value: nanTFLOP/s" + tail), HasSubstr("positive"));
  EXPECT_THAT(DeviceError(head + "memory: {value: 12" + tail), HasSubstr("memory"));
  EXPECT_THAT(DeviceError(head + "cores: {value: 12" + tail), HasSubstr("core_bandwidth"));
  EXPECT_THAT(DeviceError(head + "pace: {value: 12" + tail), HasSubstr("pace"));
  EXPECT_THAT(DeviceError("  - {name: x, class: tpu, description: d}\n"), HasSubstr("tpu"));
  const std::string one = "  - {name: x, class: gpu, description: d}\n";
  EXPECT_THAT(DeviceError(one + one), HasSubstr("second time"));
}

TEST(CatalogueReader, RefusesIncompleteEfficiencies) {
  std::string efficiency = DataFile("efficiency.yaml");
  const auto error = [&] {
    return InputErrorOf([&] {
      ParseCatalogue({"format: stowplan.devices\nversion: 1\ndevices: []\n", kGoodLinks, efficiency}, "my");
    });
  };
  const auto at = efficiency.find("  - name: optimizer");
  const auto end = efficiency.find("# Output tiles");
  const std::string optimizer = efficiency.substr(at, end - at);
  efficiency.erase(at, end - at);
  EXPECT_THAT(error(), HasSubstr("'optimizer'"));
  efficiency.insert(at, optimizer + optimizer);
  EXPECT_THAT(error(), HasSubstr("second time"));
}

TEST(CatalogueReader, ACurveBeginsAtTheLatencyAndRises) {
  const auto error = [](const std::string& knots) {
    const std::string links =
        "format: stowplan.links\nversion: 1\nlinks:\n  - name: wire\n    description: a wire\n"
        "    bandwidth: {value: 1GB/s, source: \"assumption: x\"}\n    latency: {value: 5us, source: "
        "\"assumption: "
        "x\"}\n    curve: {value: " +
        knots + ", source: \"measured: x\"}\n";
    return InputErrorOf([&] {
      ParseCatalogue(
          {"format: stowplan.devices\nversion: 1\ndevices: []\n", links, DataFile("efficiency.yaml")}, "my");
    });
  };
  EXPECT_THAT(error("[[0, 4us], [1MiB, 9us]]"), HasSubstr("must be [0, the latency]"));
  EXPECT_THAT(error("[[0, 5us], [1MiB, 9us], [1MiB, 10us]]"), HasSubstr("more bytes than the knot before"));
  EXPECT_THAT(error("[[0, 5us], [1MiB, 5us]]"), HasSubstr("the last one later than the one before it"));
  EXPECT_THAT(error("[[0, 5us, 7]]"), HasSubstr("must be a pair [bytes, time]"));
}

}  // namespace
}  // namespace stowplan::cost_models
