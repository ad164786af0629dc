// stowplan export: from a run to another program's file and back, to the same picosecond; and what it refuses.
#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::ExpectRefused;
using testing::JsonOf;
using testing::ProgramResult;
using testing::RunStowplan;
using tests::TempFolder;

const std::string kGraph =
    "llama(layers=4,hidden=256,heads=4,kv_heads=2,feed_forward=512,sequence=64,vocabulary=512)";
const std::string kExportCluster = "a100(gpus=2)";

class ExportedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    // The fastest found, not one as fast that is simpler: it has modules on both.
    const ProgramResult placed = RunStowplan({"place", kGraph, "--cluster", kExportCluster, "--memory",
                                              "gpu=525MiB", "--devices", "gpu", "--grouper", "module",
                                              "--samples", "60", "--within", "0", "--out", *folder_ / "run"});
    ASSERT_EQ(placed.status, 0) << placed.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static TempFolder* folder_;
};
TempFolder* ExportedRun::folder_ = nullptr;

TEST_F(ExportedRun, DeviceMapSimulatesToTheSamePicosecond) {
  const std::string map = *folder_ / "maps/device_map.json";
  ASSERT_EQ(RunStowplan({"export", *folder_ / "run", "--to", "device-map", "--out", map}).status, 0);
  EXPECT_THAT(formats::ReadFile(map), HasSubstr("\": 1"));
  EXPECT_THAT(formats::ReadFile(map), HasSubstr("\": 0"));
  const auto simulated = [&](const std::string& placement) {
    return RunStowplan({"simulate", "--graph", kGraph, "--cluster", kExportCluster, "--memory", "gpu=525MiB",
                        "--placement", placement, "--json", "-", "--ops"})
        .out;
  };
  const std::string once = simulated(*folder_ / "run/placement.json");
  EXPECT_EQ(simulated(map), once);
  EXPECT_THAT(once, HasSubstr("\"feasible\": true"));
}

// The plan in the folder is what `stowplan export` makes of the run, also where one device would be faster.
TEST(PlaceFor, WritesWhatExportDoes) {
  const TempFolder folder;
  for (const scenarios::ExporterRow& row : scenarios::Exporters()) {
    const std::string name = row.name;
    if (!row.space || name == "onnxruntime-model") continue;
    SCOPED_TRACE(name);
    const std::string run = folder / name;
    const std::string graph = kGraph.substr(0, kGraph.size() - 1) + ",mode=inference)";
    const ProgramResult placed = RunStowplan(
        {"place", graph, "--cluster", kExportCluster, "--for", name, "--samples", "40", "--out", run});
    ASSERT_EQ(placed.status, 0) << placed.err;
    const ProgramResult exported = RunStowplan({"export", run, "--to", name});
    EXPECT_EQ(exported.status, 0) << exported.err;
    EXPECT_EQ(formats::ReadFile(run + "/" + row.space->file), exported.out);
  }
}

TEST(PlaceFor, RefusesBeforeTheSearch) {
  const TempFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& says) {
    std::vector<std::string> words = {"place", kGraph, "--cluster", kExportCluster, "--for"};
    words.insert(words.end(), more.begin(), more.end());
    ExpectRefused(words, says);
  };
  const std::string out = folder / "run";
  refused({"pipeline"}, "--out");
  refused({"dot", "--out", out}, "device-map");
  refused({"vllm", "--out", out}, "training step");
  refused({"pipeline", "--out", out, "--devices", "cpu0,gpu0"}, "cpu0");
  refused({"device-map", "--out", out, "--grouper", "colocation"}, "whole modules");
  refused({"megatron", "--out", out, "--agent", "heft"}, "stages");
  EXPECT_FALSE(std::filesystem::exists(out + "/run.json"));
}

TEST_F(ExportedRun, EveryExporterPrintsOrRefuses) {
  for (const scenarios::ExporterRow& row : scenarios::Exporters()) {
    const ProgramResult told = RunStowplan({"export", *folder_ / "run", "--to", row.name});
    if (told.status == 0) {
      EXPECT_FALSE(told.out.empty()) << row.name;
    } else {
      EXPECT_EQ(told.status, 2) << row.name;
      EXPECT_TRUE(told.out.empty()) << row.name;
      EXPECT_THAT(told.err, HasSubstr(row.name));
    }
  }
  // A training step on two GPUs is none of theirs; the others take it.
  EXPECT_EQ(RunStowplan({"export", *folder_ / "run", "--to", "llama.cpp"}).status, 2);
  EXPECT_EQ(RunStowplan({"export", *folder_ / "run", "--to", "graphml"}).status, 0);
}

// A graph file by a relative path: found again from elsewhere, and not taken for what it was once it has changed.
TEST(Export, KnowsTheGraphThatWasPlaced) {
  const TempFolder folder, elsewhere;
  const auto in = [](const TempFolder& where, const std::string& command) {
    return testing::RunShell("cd " + where.path() + " && " + command);
  };
  ASSERT_EQ(in(folder,
               "STOWPLAN graph convert 'chain(ops=3)' --out net.json && STOWPLAN place net.json --cluster '" +
                   kExportCluster + "' --devices gpu --samples 5 --out run")
                .status,
            0);
  const std::string take = "STOWPLAN export " + (folder / "run") + " --to dot";
  const ProgramResult here = in(folder, take), there = in(elsewhere, take);
  EXPECT_EQ(there.status, 0) << there.err;
  EXPECT_EQ(there.out, here.out);
  ASSERT_EQ(in(folder, "STOWPLAN graph convert 'chain(ops=3,us=7)' --out net.json").status, 0);
  for (const TempFolder* where : {&folder, &elsewhere}) {
    const ProgramResult changed = in(*where, take);
    EXPECT_EQ(changed.status, 2);
    EXPECT_THAT(changed.err, HasSubstr("is not the graph that was placed any more"));
  }
  std::filesystem::remove(folder / "net.json");
  EXPECT_THAT(in(elsewhere, take).err, HasSubstr("'net.json' is neither a file nor a workload"));
}

TEST(Export, RefusesWhatItCannotRead) {
  const TempFolder folder;
  ExpectRefused({"export", "expert", "--to", "dot"}, "there is no such folder of a run or placement file");
  formats::WriteFile(folder / "placement.json", "{}");
  ExpectRefused({"export", folder / "placement.json", "--to", "dot"}, "give --graph G --cluster C");
  ExpectRefused({"export", "expert", "--graph", kGraph, "--cluster", kExportCluster, "--to", "dott"},
                "did you mean dot?");
  ExpectRefused({"export", "expertt", "--graph", kGraph, "--cluster", kExportCluster, "--to", "dot"},
                "did you mean expert?");
  ExpectRefused({"export", folder.path(), "--to", "dot"}, "run.json");
  formats::WriteFile(folder / "run.json", R"({"agent": "expert", "source": {"graph": 3}})");
  ExpectRefused({"export", folder.path(), "--to", "dot"}, "source is not what stowplan place writes there");
  for (const std::string key : {"graph", "cluster", "cost_model"}) {
    nlohmann::json source = {{"graph", kGraph}, {"cluster", kExportCluster}};
    source[key] = "/dev/zero";
    formats::WriteFile(folder / "run.json", nlohmann::json{{"source", source}}.dump());
    formats::WriteFile(folder / "placement.json", "{}");
    ExpectRefused({"export", folder.path(), "--to", "dot"}, "is /dev/zero, a device, a pipe or standard");
  }
  std::filesystem::remove(folder / "placement.json");
  // So many keys that looking through those before for each would take minutes.
  std::string keys = "{\"agent\": \"expert\"";
  for (int i = 0; i < 300'000; ++i) keys += ", \"" + std::to_string(i) + "\": 0";
  formats::WriteFile(folder / "run.json", keys + "}");
  ExpectRefused({"export", folder.path(), "--to", "dot"}, "does not say what the run is of");
  formats::WriteFile(folder / "run.json", R"({"agent": "expert"})");
  ExpectRefused({"export", folder.path(), "--to", "dot"}, "does not say what the run is of");
  ASSERT_EQ(RunStowplan({"place", kGraph, "--cluster", kExportCluster, "--memory", "gpu=1MiB", "--reserve",
                         "0", "--devices", "gpu", "--samples", "2", "--out", folder / "none"})
                .status,
            0);
  ExpectRefused({"export", folder / "none", "--to", "dot"}, "the run found no placement that fits");
  formats::WriteFile(folder / "map.json", R"({"layer9": 0})");
  ExpectRefused(
      {"simulate", "--graph", kGraph, "--cluster", kExportCluster, "--placement", folder / "map.json"},
      "names no module and no weight of the graph");
}

}  // namespace
}  // namespace stowplan::cli
