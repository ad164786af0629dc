// What scripts rely on: exit status, JSON alone on standard output, one sentence for bad input, no partial
// files.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/listing.h"
#include "cli/program.h"
#include "cli/reference.h"
#include "output/console.h"
#include "output/csv.h"
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

const std::string kCluster = "k80(gpus=2)";

TEST(Cli, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(RunStowplan({"--help"}).status, 0);
  EXPECT_EQ(RunStowplan({"simulate", "--help"}).status, 0);
  const ProgramResult version = RunStowplan({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("stowplan ", 0), 0u) << version.out;
}

TEST(Cli, ATypeOfOtherLettersIsAskedAbout) {
  const TempFolder folder;
  const auto said = [&](const std::string& type) {
    formats::WriteFile(folder / "g.json",
                       R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": "a", "type": ")" +
                           type + R"("}, {"name": "b", "type": ")" + type + R"("}]})");
    const ProgramResult info = RunStowplan({"graph", "info", folder / "g.json"});
    EXPECT_EQ(info.status, 0) << info.err;
    return info.err;
  };
  EXPECT_THAT(said("Matmul"), HasSubstr("type Matmul of 2 ops is not listed (did you mean MatMul?)"));
  EXPECT_THAT(said("variable"), HasSubstr("(did you mean Variable?)"));
  for (const char* type : {"MatMul", "NoOp", "Mine", "AllReduced"}) EXPECT_EQ(said(type), "") << type;
}

// docs/calibration.md, "A sheet of your own": two of the commands that have the option by other ways than `simulate`.
TEST(Cli, EveryCommandThatTakesAClusterTakesSheets) {
  const TempFolder folder;
  formats::WriteFile(
      folder / "sheet.yaml",
      "format: stowplan.devices\nversion: 1\ndevices:\n  - name: nova\n    class: gpu\n    description: d\n"
      "    multiprocessors: {value: 10, source: \"data sheet: Nova\"}\n"
      "    peak_f32: {value: 3TFLOP/s, source: \"data sheet: Nova\"}\n"
      "    memory_bandwidth: {value: 100GB/s, source: \"data sheet: Nova\"}\n");
  formats::WriteFile(folder / "cluster.yaml",
                     "format: stowplan.cluster\nversion: 1\ndevices:\n  - {name: a, kind: nova, memory: "
                     "1GiB}\n  - {name: b, "
                     "kind: nova, memory: 1GiB}\nlinks:\n  - {name: l, ends: [a, b], bandwidth: 1GB/s}\n");
  const std::string cluster = folder / "cluster.yaml", sheet = folder / "sheet.yaml";
  const ProgramResult info =
      RunStowplan({"graph", "info", "chain(ops=4)", "--cluster", cluster, "--sheet", sheet});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("nova"));
  const ProgramResult chosen =
      RunStowplan({"validate", "--choose", "--workloads", "chain(ops=4)", "--cluster", cluster, "--sheet",
                   sheet, "--placements", "2", "--out", folder / "chosen"});
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  ExpectRefused({"validate", "--recordings", "x", "--sheet", sheet}, "--sheet is for --cluster");
}

TEST(Cli, NamesOfAnyLengthLeaveTheTableInShape) {
  const TempFolder folder;
  const std::string path = folder / "graph.json", name(5000, 'n'), type(3000, 't');
  formats::WriteFile(path, R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": ")" + name +
                               R"(", "type": ")" + type + R"(", "cost_us": 10}]})");
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"graph", "info", path},
        {"simulate", "--graph", path, "--cluster", kCluster, "--placement", "single_gpu"},
        {"explain", "--graph", path, "--cluster", kCluster, "--placement", "single_gpu"}}) {
    const ProgramResult result = RunStowplan(call);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("ttt…ttt"));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 200U) << call[0];
  }
}

// Every number of every verb, those of verbs to come too.
TEST(Cli, NumbersBeyondTheirRangeAreRefused) {
  int numbers = 0;
  WithProgram([&](const CLI::App& program) {
    for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
      for (const CLI::Option* option : verb->get_options()) {
        const std::string type = option->get_type_name();
        if (type.rfind("INT", 0) != 0 && type.rfind("UINT", 0) != 0 && type.rfind("FLOAT", 0) != 0) continue;
        ++numbers;
        for (const char* value : {"99999999999999999999", "1e30", "-7", "nan", "ten"})
          ExpectRefused({verb->get_name(), option->get_name(), value},
                        fmt::format("{}: \"{}\" is not a", option->get_name(), value));
      }
    }
  });
  EXPECT_GE(numbers, 20);
}

TEST(Cli, ASuffixThatNobodyWritesIsRefused) {
  const TempFolder folder;
  ExpectRefused({"graph", "convert", "chain", "--out", folder / "g.dot"}, "ends in .dot, which is not");
  ExpectRefused({"graph", "import", "g.onnx", "--out", folder / "g.onnx"}, "known are .json and .json.zst.");
  ExpectRefused({"calibrate", "probes.json", "--out", folder / "p.yaml"}, "ends in .yaml");
  WithProgram([&](const CLI::App& program) {
    for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
      if (verb->get_option_no_throw("--json") != nullptr)
        ExpectRefused({verb->get_name(), "--json", folder / "x.dot"}, "ends in .dot");
    }
  });
  EXPECT_TRUE(folder.Files().empty());
  EXPECT_EQ(RunStowplan({"graph", "convert", "chain", "--out", folder / "no_suffix"}).status, 0);
}

TEST(Cli, APlacementMayComeFromStandardInput) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan({"simulate", "--graph", "chain(ops=4)", "--cluster", kCluster, "--placement",
                         "round_robin", "--save-placement", folder / "p.json"})
                .status,
            0);
  const std::vector<std::string> call = {"simulate",    "--graph", "chain(ops=4)", "--cluster", kCluster,
                                         "--placement", "-",       "--json",       "-"};
  const auto read = JsonOf(RunStowplan(call, {}, formats::ReadFile(folder / "p.json")));
  EXPECT_EQ(read["runtime_us"],
            JsonOf(RunStowplan({"simulate", "--graph", "chain(ops=4)", "--cluster", kCluster, "--placement",
                                folder / "p.json", "--json", "-"}))["runtime_us"]);
  ExpectRefused(call, "stowplan: stdin:1:1: is not valid JSON");
  ExpectRefused({"simulate", "--graph", "-", "--cluster", kCluster, "--placement", "-"}, "one of them may");
}

TEST(Cli, GraphsThatAreWrittenAreSummedUp) {
  const TempFolder folder;
  const auto converted =
      JsonOf(RunStowplan({"graph", "convert", "chain(ops=5)", "--out", folder / "g.json", "--json", "-"}));
  EXPECT_EQ(converted["out"], folder / "g.json");
  EXPECT_EQ(converted["ops"], 5);
  const std::string msr = STOWPLAN_SOURCE_DIR "/tests/scenarios/data/msr_small.json";
  const auto imported =
      JsonOf(RunStowplan({"graph", "import", msr, "--out", folder / "m.json", "--json", "-"}));
  EXPECT_EQ(imported["format"], "msr");
  EXPECT_EQ(imported["name"], "msr_small");
  EXPECT_TRUE(imported["notes"].is_array());
  ExpectRefused({"graph", "convert", "chain", "--out", "-", "--json", "-"}, "would mix two documents");
}

TEST(Cli, TablesAreWrittenForScripts) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "t");
  formats::WriteFile(folder / "t/rows.csv",
                     formats::ReadFile(STOWPLAN_SOURCE_DIR "/results/mars-pretraining/rows.csv"));
  const auto shown = RunStowplan({"table", "show", "mars-pretraining", "--out", folder / "t"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  const auto cells = output::ParseCsv(formats::ReadFile(folder / "t/cells.csv"), "cells.csv");
  EXPECT_EQ(cells.size(), 7u) << "three rows, two columns and the header";
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) {
    // A command is there to be copied.
    if (!line.starts_with("a page: ")) {
      EXPECT_LE(output::TextWidth(line), 80u) << line;
    }
  }
  // Its folder is its own.
  ExpectRefused({"table", "run", "hierarchical", "--out", folder / "t"}, "holds rows of another table");
  ExpectRefused({"table", "derive", "robustness", "--out", folder / "t"}, "or --force to replace");
  ExpectRefused({"table", "show", "robustness"}, "python3 -m stowplan.report robustness");
  ExpectRefused({"table", "derive", "robustness", "--resume"}, "--resume: table robustness is made of what");
}

// Nobody's bug: a full disk, a closed stream, a reader that has had enough.
TEST(Cli, StandardOutputThatCannotBeWrittenIsAPlainSentence) {
  for (const char* verb : {"list agents", "help", "list agents --json -", "--help", "--version"}) {
    const ProgramResult full = testing::RunShell(std::string("STOWPLAN ") + verb + " > /dev/full");
    EXPECT_EQ(full.status, 1) << verb;
    EXPECT_EQ(full.err, "stowplan: standard output cannot be written: No space left on device.\n") << verb;
    const ProgramResult closed = testing::RunShell(std::string("STOWPLAN ") + verb + " >&-");
    EXPECT_EQ(closed.status, 1) << verb;
    EXPECT_EQ(closed.err, "stowplan: standard output cannot be written: Bad file descriptor.\n") << verb;
  }
  const ProgramResult read = testing::RunShell("(sleep 0.3; STOWPLAN list workloads; echo $? >&2) | true");
  EXPECT_EQ(read.err, "1\n") << "silent";
  EXPECT_EQ(testing::RunShell("STOWPLAN list agents > /dev/null 2>&-").status, 0);
  EXPECT_EQ(testing::RunShell("STOWPLAN list planets 2> /dev/full").status, 2);
}

TEST(Cli, EveryKindIsListedAsTextAndJson) {
  for (const char* kind : {"workloads", "clusters", "agents", "groupers", "cost-models", "devices", "links",
                           "interconnects", "importers", "exporters", "tables"}) {
    EXPECT_EQ(RunStowplan({"list", kind}).status, 0) << kind;
    const auto rows = JsonOf(RunStowplan({"list", kind, "--json", "-"}));
    ASSERT_FALSE(rows.empty()) << kind;
    EXPECT_TRUE(rows[0].contains("name")) << kind;
  }
}

TEST(Cli, ListingsFitEightyColumns) {
  for (const std::string& kind : ListedKinds()) {
    std::istringstream lines(RunStowplan({"list", kind}).out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(output::TextWidth(line), 80u) << kind << ": " << line;
  }
}

TEST(Cli, WorkloadsAreListedAsNumbers) {
  for (const auto& row : JsonOf(RunStowplan({"list", "workloads", "--json", "-"}))) {
    if (row["name"] != "inception_v3(batch=1)") continue;
    EXPECT_EQ(row["weights"], 23817352);
    EXPECT_EQ(row["published_weights"], 23817352);
    EXPECT_EQ(row["published_ops"], 24713);
    EXPECT_TRUE(row["published_activation_bytes"].is_null());
    EXPECT_EQ(row["recalled"],
              (std::vector<std::string>{"published_ops", "published_forward_multiply_adds"}));
    return;
  }
  FAIL() << "inception_v3(batch=1) is not listed";
}

TEST(Cli, ConvertedGraphsReadBackTheSame) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan({"graph", "convert", "random_dag(ops=40)", "--out", folder / "g.json.zst"}).status,
            0);
  ASSERT_EQ(RunStowplan({"graph", "convert", folder / "g.json.zst", "--out", folder / "g.json"}).status, 0);
  EXPECT_EQ(RunStowplan({"graph", "convert", "random_dag(ops=40)", "--out", "-"}).out,
            formats::ReadFile(folder / "g.json"));
}

TEST(Cli, SimulatePrintsAnOutcome) {
  const auto json = JsonOf(RunStowplan({"simulate", "--graph", "chain(ops=4)", "--cluster", kCluster,
                                        "--placement", "single_gpu", "--json", "-"}));
  EXPECT_EQ(json["format"], "stowplan.outcome");
  EXPECT_TRUE(json["feasible"]);
  EXPECT_EQ(json["runtime_us"], json["unlimited_runtime_us"]);
  EXPECT_FALSE(json.contains("ops"));
  const auto with_ops = JsonOf(RunStowplan({"simulate", "--graph", "chain(ops=4)", "--cluster", kCluster,
                                            "--placement", "single_gpu", "--json", "-", "--ops"}));
  EXPECT_EQ(with_ops["ops"].size(), 4u);
}

// Running out of memory is a result: status 0, the verdict names device and op.
TEST(Cli, OutOfMemoryIsAResult) {
  const ProgramResult result =
      RunStowplan({"simulate", "--graph", "chain(ops=4,bytes=1000000)", "--cluster", kCluster, "--placement",
                   "single_gpu", "--memory", "gpu=314573824", "--json", "-"});
  // A bare number is refused; sizes carry their unit.
  EXPECT_EQ(result.status, 2);
  const auto json =
      JsonOf(RunStowplan({"simulate", "--graph", "chain(ops=4,bytes=1000000)", "--cluster", kCluster,
                          "--placement", "single_gpu", "--memory", "gpu=301MiB", "--json", "-"}));
  EXPECT_FALSE(json["feasible"]);
  EXPECT_TRUE(json["runtime_us"].is_null());
  EXPECT_EQ(json["oom"]["device"], "gpu0");
  EXPECT_EQ(json["oom"]["capacity_bytes"], 1 << 20);
  const ProgramResult text = RunStowplan({"simulate", "--graph", "chain(ops=4,bytes=1000000)", "--cluster",
                                          kCluster, "--placement", "single_gpu", "--memory", "gpu=301MiB"});
  EXPECT_EQ(text.status, 0);
  std::string one_line = text.out;
  std::ranges::replace(one_line, '\n', ' ');
  EXPECT_THAT(one_line, HasSubstr("out of memory on gpu0 at op "));
}

TEST(Cli, TheFolderOfARunStandsForItsPlacement) {
  const TempFolder folder;
  const std::vector<std::string> what = {"--graph", "diamond(width=6)", "--cluster", kCluster};
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.end(), what.begin(), what.end());
    return words;
  };
  ASSERT_EQ(RunStowplan(call({"place", "--agent", "heft", "--out", folder / "run"})).status, 0);
  EXPECT_EQ(RunStowplan(call({"simulate", "--placement", folder / "run"})).out,
            RunStowplan(call({"simulate", "--placement", folder / "run/placement.json"})).out);
  ExpectRefused(call({"explain", "--placement", folder.path()}), "is a folder without a placement.json");
}

TEST(Cli, SavedPlacementsRunTheSame) {
  const TempFolder folder;
  const std::vector<std::string> common = {"simulate", "--graph", "random_dag(ops=60)", "--cluster", kCluster,
                                           "--json",   "-"};
  auto first = common;
  first.insert(first.end(), {"--placement", "round_robin", "--save-placement", folder / "p.json", "--trace",
                             folder / "t.json", "--timeline", folder / "t.txt"});
  auto second = common;
  second.insert(second.end(), {"--placement", folder / "p.json"});
  const auto run = JsonOf(RunStowplan(first));
  EXPECT_EQ(run, JsonOf(RunStowplan(second)));
  EXPECT_TRUE(nlohmann::json::parse(formats::ReadFile(folder / "t.json")).contains("traceEvents"));
  EXPECT_FALSE(formats::ReadFile(folder / "t.txt").empty());
}

// Whoever uses a value of a scenario says where it stands.
TEST(Cli, ValuesOfAScenarioAreRefusedWithTheirPlace) {
  const TempFolder folder;
  const std::string file = folder / "s.yaml";
  const auto refused = [&](const std::string& rest, const std::string& says) {
    std::ofstream(file) << "format: stowplan.scenario\nversion: 1\n" << rest;
    ExpectRefused({"place", "--agent", "random", "--scenario", file}, "stowplan: " + file + ":" + says);
  };
  refused("workload: chain(ops=x)\ncluster: k80\n", "3: workload: chain: setting 'ops' is 'x'");
  refused("workload: chain\ncluster: k80(gpus=99)\n", "4: cluster: k80: setting 'gpus' is '99'");
  refused("workload: chain\ncluster: k80\ncost_model: psychic\n", "5: cost_model: there is no cost model");
  refused("workload: chain\ncluster: k80\ngrouper: neighbour(groups=x)\n", "5: grouper: ");
  refused("workload: chain\ncluster: k80\nexpert: nobody\n", "5: expert: 'nobody' is neither a placement");
}

TEST(Cli, WhatDoesNotFitTogetherIsRefusedWithBothFiles) {
  const TempFolder folder;
  const std::string graph = folder / "g.json";
  std::ofstream(graph)
      << R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": "a", "type": "T", "cost_us": {"cpu": 1}}]})";
  ExpectRefused({"simulate", "--graph", graph, "--cluster", kCluster, "--placement", "single_gpu",
                 "--cost-model", "chain(table)"},
                "stowplan: " + graph + " on " + kCluster + ": op 'a' (T): nothing says how long it takes");
}

TEST(Cli, PricesOfUnknownKindsAreRefused) {
  const TempFolder folder;
  const std::string graph = folder / "g.json";
  std::ofstream(graph)
      << R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": "a", "type": "T", "cost_us": {"k8O": 1}}]})";
  ExpectRefused({"graph", "info", graph}, graph + ": ops[0].cost_us.k8O prices what is no device class or");
}

TEST(Cli, BytesByTypeAreWholeNumbers) {
  const auto info = JsonOf(RunStowplan({"graph", "info", "chain(ops=3,bytes=1000000)", "--json", "-"}));
  ASSERT_FALSE(info["types"].empty());
  for (const auto& [type, use] : info["types"].items())
    EXPECT_TRUE(use["output_bytes"].is_number_integer()) << type;
}

TEST(Cli, NothingIsWrittenForBadInput) {
  const TempFolder folder;
  std::ofstream(folder / "bad.json")
      << R"({"format": "stowplan.graph", "version": 1, "name": "g", "ops": [{"name": "a", "type": )";
  ExpectRefused({"graph", "convert", folder / "bad.json", "--out", folder / "out.json"}, "bad.json");
  ExpectRefused({"graph", "import", folder / "bad.json", "--out", folder / "out.json"}, "bad.json");
  ExpectRefused({"simulate", "--graph", folder / "bad.json", "--cluster", kCluster, "--placement",
                 "single_gpu", "--trace", folder / "t.json"},
                "bad.json");
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"bad.json"});
}

TEST(Cli, ScenariosAreReadAndOptionsWin) {
  const TempFolder folder;
  std::ofstream(folder / "s.yaml") << "format: stowplan.scenario\nversion: 1\nname: small\nworkload: "
                                      "\"diamond(width=3)\"\ncluster: \"k80(gpus=2)\"\n"
                                      "samples: 12\nseeds: [5, 6]\n";
  const auto json =
      JsonOf(RunStowplan({"place", "--agent", "random", "--scenario", folder / "s.yaml", "--json", "-"}));
  EXPECT_EQ(json["scenario"], "small");
  EXPECT_EQ(json["samples"], 12);
  EXPECT_EQ(json["seed"], 5);
  const auto other = JsonOf(RunStowplan({"place", "--agent", "random", "--scenario", folder / "s.yaml",
                                         "--samples", "3", "--seed", "9", "--json", "-"}));
  EXPECT_EQ(other["samples"], 3);
  EXPECT_EQ(other["seed"], 9);
}

TEST(Cli, SpeedHasItsKeysForBothRules) {
  for (const char* rules : {"native", "published"}) {
    const auto json = JsonOf(RunStowplan({"speed", "--graph", "random_dag(ops=50)", "--cluster", kCluster,
                                          "--placements", "20", "--rules", rules, "--json", "-"}));
    for (const char* key : {"ops", "edges", "placements", "threads", "seconds", "ops_per_second"})
      EXPECT_TRUE(json.contains(key)) << key;
    EXPECT_EQ(json["ops"], 50);
    EXPECT_EQ(json["placements"], 20);
    EXPECT_EQ(json["rules"], rules);
  }
}

// Two ops on three devices have 9 placements; all of them can be drawn, a tenth cannot.
TEST(Cli, SpeedDrawsDifferentPlacements) {
  const std::vector<std::string> call = {"speed",  "--graph", "chain(ops=2)", "--cluster", kCluster,
                                         "--json", "-",       "--placements"};
  auto nine = call;
  nine.emplace_back("9");
  EXPECT_EQ(JsonOf(RunStowplan(nine))["placements"], 9);
  auto ten = call;
  ten.emplace_back("10");
  ExpectRefused(ten, "only 9 different placements");
}

TEST(Cli, TheExamplesOfThePageOfFormatsFitEachOther) {
  const std::string page = formats::ReadFile(std::string(STOWPLAN_SOURCE_DIR) + "/docs/formats.md");
  const TempFolder folder;
  for (const auto& [title, file] :
       {std::pair{"\n## Graph\n", "graph.json"}, std::pair{"\n## Cluster\n", "cluster.yaml"},
        std::pair{"\n## Placement\n", "placement.json"}}) {
    const std::size_t fence = page.find("```", page.find(title));
    ASSERT_NE(fence, std::string::npos) << title;
    const std::size_t begin = page.find('\n', fence) + 1;
    formats::WriteFile(folder / file, page.substr(begin, page.find("```", begin) - begin));
  }
  const auto run = RunStowplan({"simulate", "--graph", folder / "graph.json", "--cluster",
                                folder / "cluster.yaml", "--placement", folder / "placement.json"});
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(Cli, ReferenceInTheDocsIsWhatTheProgramPrints) {
  const std::string path = std::string(STOWPLAN_SOURCE_DIR) + "/docs/cli.md";
  EXPECT_EQ(formats::ReadFile(path), PrintCliReference())
      << "write it anew: build/release/cli/stowplan help > docs/cli.md";
}

}  // namespace
}  // namespace stowplan::cli
