#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/scenarios.h"
#include "sim/error.h"
#include "tests/scenarios/test_catalogue.h"

namespace berth::scenarios {

// What gtest calls a case; else it prints the bytes, addresses among them.
static void PrintTo(const ClusterRow& row, std::ostream* out) {
  *out << row.name;
}

namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClusterTest : public ::testing::TestWithParam<ClusterRow> {
 protected:
  sim::Cluster Load(const std::string& parameters) const {
    return LoadCluster(GetParam().name + ("(" + parameters + ")"), TestCatalogue());
  }
};

TEST_P(ClusterTest, HasOneCpuAndTheGpusAskedFor) {
  for (int gpus = 1; gpus <= 8; ++gpus) {
    const sim::Cluster cluster = Load("gpus=" + std::to_string(gpus));
    ASSERT_EQ(cluster.size(), gpus + 1);
    EXPECT_EQ(cluster.devices[0].name, "cpu0");
    EXPECT_EQ(cluster.devices[0].device_class, sim::DeviceClass::kCpu);
    for (int i = 0; i < gpus; ++i) {
      const sim::Device& gpu = cluster.devices[static_cast<std::size_t>(i) + 1];
      EXPECT_EQ(gpu.name, "gpu" + std::to_string(i));
      EXPECT_EQ(gpu.device_class, sim::DeviceClass::kGpu);
      EXPECT_GT(gpu.capacity(), 0);
    }
    for (sim::DeviceIndex a = 0; a < cluster.size(); ++a) {
      for (sim::DeviceIndex b = 0; b < cluster.size(); ++b) EXPECT_EQ(cluster.route(a, b).empty(), a == b);
    }
  }
}

TEST_P(ClusterTest, NamesItselfInFull) {
  const std::string canonical = std::string(GetParam().name) + "(" + GetParam().parameters + ")";
  EXPECT_EQ(Load("").name, canonical) << "the table must list the parameters in force";
  EXPECT_EQ(LoadCluster(GetParam().name, TestCatalogue()).name, canonical);
}

TEST_P(ClusterTest, TakesItsOptions) {
  const sim::Cluster cluster = Load("host=process,order=ready,interconnect=fifo");
  EXPECT_EQ(cluster.dispatch.per, sim::Dispatch::Per::kProcess);
  EXPECT_EQ(cluster.dispatch.order, sim::Dispatch::Order::kReady);
  EXPECT_TRUE(cluster.dispatch.automatic);
  EXPECT_EQ(cluster.interconnect, "fifo");
  EXPECT_EQ(Load("order=program").dispatch.order, sim::Dispatch::Order::kProgram);
}

TEST_P(ClusterTest, RefusesBadParameters) {
  for (const char* parameters : {"gpus=0", "gpus=9", "gpus=two", "bogus=1", "4", "order=random"}) {
    EXPECT_THROW(Load(parameters), InputError) << parameters;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, ClusterTest, ::testing::ValuesIn(Clusters()),
                         [](const auto& row) { return std::string(row.param.name); });

double GigabytesPerSecond(const sim::Cluster& cluster, const char* from, const char* to) {
  std::int64_t narrowest = INT64_MAX;
  for (const auto& hop : cluster.route(cluster.Find(from), cluster.Find(to))) {
    narrowest = std::min(narrowest, cluster.links[static_cast<std::size_t>(hop.link)].bandwidth);
  }
  return static_cast<double>(narrowest) / 1e9;
}

// Usable bytes of PROTOCOL 6.1: 11.68, 16.76 and 12.48 GB.
TEST(PaperClustersTest, CardsHoldWhatTheProtocolSays) {
  const auto usable = [](const std::string& name) {
    return static_cast<double>(LoadCluster(name, TestCatalogue()).devices[1].capacity()) / 1e9;
  };
  EXPECT_NEAR(usable("hierarchical"), 11.68, 0.005);
  EXPECT_NEAR(usable("placeto"), 11.68, 0.005);
  EXPECT_NEAR(usable("p100"), 16.76, 0.005);
  EXPECT_NEAR(usable("p100(memory=12GB)"), 12.48, 0.005);
}

TEST(PaperClustersTest, CopiesAsInTheProtocol) {
  const sim::Cluster placeto = LoadCluster("placeto(gpus=8)", TestCatalogue());
  const auto& route = placeto.route(placeto.Find("gpu0"), placeto.Find("gpu7"));
  ASSERT_THAT(route, SizeIs(2));
  EXPECT_EQ(GigabytesPerSecond(placeto, "gpu0", "gpu7"), 7.6);
  sim::Picos latency = 0;
  for (const auto& hop : route) latency += placeto.links[static_cast<std::size_t>(hop.link)].latency;
  EXPECT_EQ(latency, sim::FromMicros(25));

  const sim::Cluster hierarchical = LoadCluster("hierarchical(gpus=8)", TestCatalogue());
  EXPECT_EQ(GigabytesPerSecond(hierarchical, "gpu0", "gpu3"), 10);
  EXPECT_THAT(hierarchical.route(hierarchical.Find("gpu0"), hierarchical.Find("gpu3")), SizeIs(2));
  EXPECT_THAT(hierarchical.route(hierarchical.Find("gpu0"), hierarchical.Find("gpu4")), SizeIs(4))
      << "over the CPU";
  EXPECT_EQ(hierarchical.dispatch.order, sim::Dispatch::Order::kProgram);
}

// A cube mesh: every V100 has six links of 25 GB/s.
TEST(TodaysClustersTest, V100GivesAllItsLinks) {
  const sim::Cluster cluster = LoadCluster("v100(gpus=8)", TestCatalogue());
  std::map<std::int32_t, std::int64_t> links_of;
  for (const sim::Link& link : cluster.links) {
    if (link.name.find("nvlink") != 0) continue;
    for (const auto end : link.ends) links_of[end] += link.bandwidth / 25'000'000'000;
  }
  ASSERT_THAT(links_of, SizeIs(8));
  for (const auto& [gpu, links] : links_of)
    EXPECT_EQ(links, 6) << cluster.devices[static_cast<std::size_t>(gpu)].name;
}

TEST(TodaysClustersTest, SwitchesJoinAllGpus) {
  const sim::Cluster cluster = LoadCluster("h100(gpus=8)", TestCatalogue());
  for (const auto& hop : cluster.route(cluster.Find("gpu0"), cluster.Find("gpu7"))) {
    EXPECT_THAT(cluster.links[static_cast<std::size_t>(hop.link)].name, HasSubstr("nvlink"));
  }
}

}  // namespace
}  // namespace berth::scenarios
