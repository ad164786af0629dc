#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

const std::string kHead = "format: stowplan.scenario\nversion: 1\n";

std::string ScenarioError(const std::string& rest) {
  return MessageOf([&] { ParseScenario(kHead + rest, "s.yaml"); });
}

TEST(Scenario, ReadsTheSampleAndFindsWhatStandsBesideIt) {
  const Scenario scenario = ReadScenario(SamplePath("scenario.yaml"));
  EXPECT_EQ(scenario.name, "inception on two GPUs");
  EXPECT_EQ(scenario.workload, SamplePath("graph.json"));
  EXPECT_EQ(scenario.cluster, SamplePath("cluster.yaml"));
  EXPECT_EQ(scenario.expert, SamplePath("placement.json"));
  EXPECT_EQ(scenario.cost_model, "chain(table,analytic)");
  EXPECT_EQ(scenario.grouper, "neighbour(groups=128)");
  EXPECT_EQ(scenario.samples, 500);
  EXPECT_EQ(scenario.seeds, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Scenario, Defaults) {
  const Scenario scenario = ParseScenario(kHead + "workload: chain\ncluster: p2(gpus=2)\n", "runs/two.yaml");
  EXPECT_EQ(scenario.name, "two");
  EXPECT_EQ(scenario.workload, "chain");
  EXPECT_EQ(scenario.cluster, "p2(gpus=2)");
  EXPECT_EQ(scenario.cost_model + scenario.grouper + scenario.expert, "");
  EXPECT_EQ(scenario.samples, 1000);
  EXPECT_EQ(scenario.places.at("cluster"), "runs/two.yaml:4: cluster");
  EXPECT_FALSE(scenario.places.contains("grouper"));
  EXPECT_EQ(scenario.seeds, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(ScenarioRefuses, WithLineAndCure) {
  EXPECT_EQ(ScenarioError("workload: chain\n"), "s.yaml:1: the file has no \"cluster\", which is required");
  EXPECT_EQ(ScenarioError("workload:\ncluster: x\n"), "s.yaml:3: workload must be text, but is null");
  EXPECT_EQ(ScenarioError("workload: a\ncluster: b\nagent: placeto\n"),
            "s.yaml:5: agent is not known here; the known keys are format, version, name, workload, cluster, "
            "cost_model, "
            "grouper, expert, samples and seeds");
  EXPECT_THAT(ScenarioError("workload: a\ncluster: b\nsamples: 0\n"), StartsWith("s.yaml:5: samples must"));
  EXPECT_EQ(ScenarioError("workload: a\ncluster: b\nseeds: [1, 1]\n"),
            "s.yaml:5: seeds[1] is there twice; seeds must differ");
  EXPECT_EQ(ScenarioError("workload: a\ncluster: b\nseeds: []\n"),
            "s.yaml:5: seeds must hold at least one seed");
  EXPECT_EQ(ScenarioError("workload: a\nworkload: b\ncluster: b\n"),
            "s.yaml:4: workload is there twice; every key must be given once");
}

}  // namespace
}  // namespace stowplan::formats
