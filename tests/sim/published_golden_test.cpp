// Every golden of tests/golden/published_simulator: what the simulator published with the Placeto paper
// returned for a graph under a placement. Times within 0.1 ns or 1e-9 of the value (the goldens are sums of
// doubles), peaks exact.
#include <nlohmann/json.hpp>

#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

std::vector<std::filesystem::path> Goldens() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(STOWPLAN_SOURCE_DIR "/tests/golden/published_simulator")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Cluster MakeCluster(int devices) {
  Cluster cluster;
  cluster.name = "golden";
  cluster.rules = Rules::kPublished;
  for (int d = 0; d < devices; ++d) {
    Device device;
    device.name = "gpu" + std::to_string(d);
    device.kind = "any";
    cluster.devices.push_back(device);
  }
  cluster.Finish();
  return cluster;
}

void ExpectNear(double expected_us, Picos actual, const std::string& what) {
  EXPECT_NEAR(expected_us, ToMicros(actual), std::max(1e-4, 1e-9 * std::abs(expected_us))) << what;
}

class PublishedGolden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PublishedGolden, IsReproduced) {
  const std::string path = GetParam().string();
  const auto golden = nlohmann::json::parse(formats::ReadFile(path));
  const OpGraph graph = formats::ParseGraph(golden.at("graph").dump(), path);
  const Cluster cluster = MakeCluster(golden.at("devices"));
  Placement placement;
  for (const Op& op : graph.ops) placement.device.push_back(cluster.Find(golden.at("placement").at(op.name)));
  CheckPlacement(graph, cluster, placement);
  const Problem problem(graph, cluster, PriceOps(graph, cluster, NoCostModel()));
  const auto simulator = MakeSimulator(problem);
  const Outcome& out = simulator->Run(placement, {RunOptions::Record::kOps, {}});

  const auto& expected = golden.at("expected");
  ExpectNear(expected.at("runtime_us"), out.runtime, "runtime");
  for (OpIndex i = 0; i < graph.size(); ++i) {
    const std::string& name = graph.ops[static_cast<std::size_t>(i)].name;
    ExpectNear(expected.at("start_us").at(name), out.ops[static_cast<std::size_t>(i)].start, name);
  }
  for (DeviceIndex d = 0; d < cluster.size(); ++d) {
    const std::string& name = cluster.devices[static_cast<std::size_t>(d)].name;
    EXPECT_EQ(expected.at("peak_bytes").at(name), out.devices[static_cast<std::size_t>(d)].peak) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PublishedGolden, testing::ValuesIn(Goldens()), [](const auto& test) {
  return test.param.filename().string().substr(0, test.param.filename().string().find('.'));
});

TEST(PublishedGoldens, AreAllThere) {
  EXPECT_EQ(Goldens().size(), 17u);
}

}  // namespace
}  // namespace stowplan::sim
