// stowplan explain, and the pages of simulate and place, as a user calls them.
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::JsonOf;
using testing::RunStowplan;
using tests::TempFolder;

std::vector<std::string> Explain(const std::vector<std::string>& more) {
  std::vector<std::string> call = {"explain",     "--graph",     "inception_v3", "--cluster",
                                   "k80(gpus=2)", "--placement", "expert"};
  call.insert(call.end(), more.begin(), more.end());
  return call;
}

TEST(ExplainCli, WhatIfsAreSortedAndPartsAddUp) {
  const auto json = JsonOf(RunStowplan(Explain({"--json", "-"})));
  const double runtime = json["runtime_us"];
  double sum =
      json["critical_path"]["dispatch_us"].get<double>() + json["critical_path"]["waiting_us"].get<double>();
  sum += json["critical_path"]["collectives_us"].get<double>();
  for (const auto& device : json["critical_path"]["devices"]) sum += device["us"].get<double>();
  for (const auto& route : json["critical_path"]["routes"]) sum += route["us"].get<double>();
  EXPECT_NEAR(sum, runtime, 1e-6 * runtime);
  double before = 0;
  for (const auto& what_if : json["what_if"]) {
    EXPECT_GE(what_if["unlimited_runtime_us"], before);
    before = what_if["unlimited_runtime_us"];
    EXPECT_NEAR(what_if["gain"].get<double>(), 1 - before / runtime, 1e-9);
  }
  EXPECT_LE(json["lower_bound"]["best_us"], runtime);
}

// The answer is what simulate says of a cluster file with that link.
TEST(ExplainCli, AnAnswerIsWhatTheChangedClusterGives) {
  const TempFolder folder;
  const auto cluster = [](const char* bandwidth) {
    return std::string(
               "format: stowplan.cluster\nversion: 1\nname: pair\ndevices:\n"
               "  - {name: gpu0, kind: k80, memory: 10GiB}\n  - {name: gpu1, kind: k80, memory: 10GiB}\n"
               "links:\n  - {name: wire, ends: [gpu0, gpu1], latency: 5us, bandwidth: ") +
           bandwidth + "}\n";
  };
  formats::WriteFile(folder / "slow.yaml", cluster("2GB/s"));
  formats::WriteFile(folder / "fast.yaml", cluster("6GB/s"));
  const std::vector<std::string> graph = {
      "--graph", "random_dag(ops=80)", "--placement", "round_robin", "--json", "-"};
  const auto call = [&](const char* verb, const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words = {verb, "--cluster", file};
    words.insert(words.end(), graph.begin(), graph.end());
    words.insert(words.end(), more.begin(), more.end());
    return JsonOf(RunStowplan(words));
  };
  const auto answers = call("explain", folder / "slow.yaml", {"--faster", "3", "--links", "wire"})["what_if"];
  const auto wire =
      std::find_if(answers.begin(), answers.end(), [](const auto& one) { return one["name"] == "wire"; });
  ASSERT_NE(wire, answers.end());
  EXPECT_EQ((*wire)["unlimited_runtime_us"], call("simulate", folder / "fast.yaml", {})["runtime_us"]);
}

TEST(ExplainCli, OnlyWhatWasAskedForIsMadeFaster) {
  const auto json =
      JsonOf(RunStowplan(Explain({"--devices", "gpu1", "--links", "pcie-gpu0", "--json", "-"})));
  std::vector<std::string> names;
  for (const auto& what_if : json["what_if"]) {
    if (!what_if["name"].is_null()) names.push_back(what_if["name"]);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"gpu1", "pcie-gpu0"}));
}

TEST(ExplainCli, SimulateAndPlaceWriteThePage) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan({"simulate", "--graph", "diamond(width=6)", "--cluster", "k80(gpus=2)", "--placement",
                         "expert", "--html", folder / "simulated.html"})
                .status,
            0);
  ASSERT_EQ(
      RunStowplan({"place", "--agent", "random", "--graph", "diamond(width=6)", "--cluster", "k80(gpus=2)",
                   "--samples", "20", "--html", folder / "placed.html", "--out", folder / "run"})
          .status,
      0);
  EXPECT_THAT(formats::ReadFile(folder / "simulated.html"), HasSubstr("data-view=\"timeline\""));
  const std::string placed = formats::ReadFile(folder / "placed.html");
  EXPECT_THAT(placed, HasSubstr("Found by random"));
  EXPECT_EQ(placed.size(), formats::ReadFile(folder / "run/placement.html").size());
}

}  // namespace
}  // namespace stowplan::cli
