#include "scenarios/scenarios.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/testing.h"

namespace stowplan::scenarios {

// What gtest calls a case; else it prints the bytes, addresses among them.
static void PrintTo(const ClusterRow& row, std::ostream* out) {
  *out << row.name;
}

namespace {

class ClusterTest : public ::testing::TestWithParam<ClusterRow> {
 protected:
  sim::Cluster Load(const std::string& parameters) const {
    return LoadCluster(GetParam().name + ("(" + parameters + ")"), TestCatalogue());
  }
};

// CPUs first, then GPUs, each numbered in order; `gpus` are those of one host.
TEST_P(ClusterTest, HasItsCpusAndTheGpusAskedFor) {
  const std::string name = GetParam().name;
  const Setting* const many = GetParam().settings.Find("hosts");
  const int hosts = many != nullptr ? std::stoi(many->fallback) : 1;
  for (int gpus = 1; gpus <= (name == "dgx2" ? 16 : 8); ++gpus) {
    const sim::Cluster cluster = Load("gpus=" + std::to_string(gpus));
    const int cpus = name == "pcie_tree"     ? 2
                     : name == "doppler"     ? 0
                     : name == "gb200_nvl72" ? (gpus + 1) / 2
                                             : hosts;
    ASSERT_EQ(cluster.size(), cpus + hosts * gpus);
    for (int i = 0; i < cluster.size(); ++i) {
      const sim::Device& device = cluster.devices[static_cast<std::size_t>(i)];
      EXPECT_EQ(device.name, i < cpus ? "cpu" + std::to_string(i) : "gpu" + std::to_string(i - cpus));
      EXPECT_EQ(device.device_class, i < cpus ? sim::DeviceClass::kCpu : sim::DeviceClass::kGpu);
      EXPECT_GT(device.capacity(), 0);
    }
    for (sim::DeviceIndex a = 0; a < cluster.size(); ++a) {
      for (sim::DeviceIndex b = 0; b < cluster.size(); ++b) EXPECT_EQ(cluster.route(a, b).empty(), a == b);
    }
  }
}

TEST_P(ClusterTest, NamesItselfInFull) {
  std::string canonical = Settings({GetParam().name, {}, {}}, GetParam().settings).Canonical();
  for (const std::string later : {",copies=overlap", ",prices=sheet", ",network=flat"}) {
    if (const std::size_t at = canonical.find(later); at != std::string::npos)
      canonical.erase(at, later.size());
  }
  EXPECT_EQ(Load("").name, canonical);
  EXPECT_EQ(LoadCluster(GetParam().name, TestCatalogue()).name, canonical);
}

TEST_P(ClusterTest, TakesItsOptions) {
  if (GetParam().settings.Find("host") == nullptr) GTEST_SKIP() << "has none but gpus";
  const sim::Cluster cluster = Load("host=process,order=ready,interconnect=fifo");
  EXPECT_EQ(cluster.dispatch.per, sim::Dispatch::Per::kProcess);
  EXPECT_EQ(cluster.dispatch.order, sim::Dispatch::Order::kReady);
  EXPECT_TRUE(cluster.dispatch.automatic);
  EXPECT_EQ(cluster.interconnect, "fifo");
  EXPECT_EQ(Load("order=program").dispatch.order, sim::Dispatch::Order::kProgram);
}

// Who issues, and what is reserved: as published where somebody published it, as a framework does on today's.
TEST_P(ClusterTest, LeavesToTheFrameworkWhatNobodyPublished) {
  const std::string name = GetParam().name;
  const bool imported = name == "doppler" || name == "msr";
  const bool of_a_paper = name == "k40" || name == "k80" || name == "p100" || name == "baechi";
  const sim::Cluster cluster = Load("");
  if (!cluster.dispatch.automatic_order) {
    EXPECT_EQ(cluster.dispatch.order,
              imported ? sim::Dispatch::Order::kReady : sim::Dispatch::Order::kProgram);
  }
  EXPECT_EQ(cluster.dispatch.automatic_per, !imported && !of_a_paper);
  for (const sim::Device& device : cluster.devices) {
    const bool gpu = device.device_class == sim::DeviceClass::kGpu;
    EXPECT_EQ(device.reserve, gpu && of_a_paper ? sim::Bytes{300} << 20 : 0) << device.name;
    EXPECT_EQ(device.automatic_reserve, gpu && !of_a_paper && !imported) << device.name;
  }
}

TEST_P(ClusterTest, RefusesBadParameters) {
  for (const char* parameters : {"gpus=0", "gpus=73", "gpus=two", "bogus=1", "4", "order=random"}) {
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

// Usable bytes of docs/protocol_rules.md#memory: 11.68, 16.76 and 12.48 GB.
TEST(PaperClustersTest, CardsHoldWhatTheProtocolSays) {
  const auto usable = [](const std::string& name) {
    return static_cast<double>(LoadCluster(name, TestCatalogue()).devices[1].capacity()) / 1e9;
  };
  EXPECT_NEAR(usable("k40"), 11.68, 0.005);
  EXPECT_NEAR(usable("k80"), 11.68, 0.005);
  EXPECT_NEAR(usable("p100"), 16.76, 0.005);
  EXPECT_NEAR(usable("p100(memory=12GB)"), 12.48, 0.005);
}

TEST(PaperClustersTest, CopiesAsInTheProtocol) {
  const sim::Cluster k80 = LoadCluster("k80(gpus=8)", TestCatalogue());
  const auto& route = k80.route(k80.Find("gpu0"), k80.Find("gpu7"));
  ASSERT_THAT(route, SizeIs(2));
  EXPECT_EQ(GigabytesPerSecond(k80, "gpu0", "gpu7"), 7.6);
  sim::Picos latency = 0;
  for (const auto& hop : route) latency += k80.links[static_cast<std::size_t>(hop.link)].latency;
  EXPECT_EQ(latency, sim::FromMicros(25));

  const sim::Cluster k40 = LoadCluster("k40(gpus=8)", TestCatalogue());
  EXPECT_EQ(GigabytesPerSecond(k40, "gpu0", "gpu3"), 10);
  EXPECT_THAT(k40.route(k40.Find("gpu0"), k40.Find("gpu3")), SizeIs(2));
  EXPECT_THAT(k40.route(k40.Find("gpu0"), k40.Find("gpu4")), SizeIs(4)) << "over the CPU";
  EXPECT_EQ(k40.dispatch.order, sim::Dispatch::Order::kProgram);
}

// The name of a machine whose copies block says so; that of the others is as it was before there was a choice.
TEST(PaperClustersTest, CopiesMayBlock) {
  for (const char* name : {"k40(gpus=2", "k80(gpus=2", "p100(gpus=2"}) {
    const sim::Cluster beside = LoadCluster(std::string(name) + ",copies=overlap)", TestCatalogue());
    const sim::Cluster blocking = LoadCluster(std::string(name) + ",copies=blocking)", TestCatalogue());
    EXPECT_EQ(beside.name, LoadCluster(std::string(name) + ")", TestCatalogue()).name);
    EXPECT_EQ(blocking.name, beside.name.substr(0, beside.name.size() - 1) + ",copies=blocking)");
    for (const sim::Device& device : blocking.devices)
      EXPECT_EQ(device.overlap_copy_ppm, device.name == "cpu0" ? 1'000'000 : 1'000) << device.name;
  }
}

TEST(PaperClustersTest, IssuingMayTakeNoTime) {
  for (const char* name : {"k40(gpus=2,host=none)", "p100(host=none)", "a100(host=none)"}) {
    const sim::Cluster cluster = LoadCluster(name, TestCatalogue());
    EXPECT_EQ(cluster.dispatch.mode, sim::Dispatch::Mode::kFlat) << name;
    EXPECT_FALSE(cluster.dispatch.automatic || cluster.dispatch.automatic_mode) << name;
    EXPECT_EQ(cluster.dispatch.cost, 0) << name;
  }
}

// Another board sets the prices; memory and links are those of the paper's.
TEST(PaperClustersTest, P100MayHaveMeasuredPrices) {
  const sim::Cluster sheet = LoadCluster("p100(gpus=2,memory=12GB,prices=sheet)", TestCatalogue());
  const sim::Cluster measured = LoadCluster("p100(gpus=2,memory=12GB,prices=measured)", TestCatalogue());
  EXPECT_EQ(sheet.name, LoadCluster("p100(gpus=2,memory=12GB)", TestCatalogue()).name);
  EXPECT_NE(measured.name, sheet.name);
  EXPECT_EQ(sheet.devices[1].kind, "p100-12gb");
  EXPECT_EQ(measured.devices[1].kind, "p100-sxm2");
  EXPECT_EQ(measured.devices[1].capacity(), sheet.devices[1].capacity());
  EXPECT_EQ(GigabytesPerSecond(measured, "gpu0", "gpu1"), 10);
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

std::vector<std::string> LinksBetween(const sim::Cluster& cluster, const char* from, const char* to) {
  std::vector<std::string> names;
  for (const auto& hop : cluster.route(cluster.Find(from), cluster.Find(to)))
    names.push_back(cluster.links[static_cast<std::size_t>(hop.link)].name);
  return names;
}

TEST(TodaysClustersTest, SixteenGpusOnSwitches) {
  const sim::Cluster cluster = LoadCluster("dgx2", TestCatalogue());
  EXPECT_THAT(LinksBetween(cluster, "gpu0", "gpu15"), ElementsAre("nvlink-gpu0", "nvlink-gpu15"));
  EXPECT_GT(cluster.devices.back().memory, sim::Bytes{31} << 30);
  EXPECT_THROW(LoadCluster("h100(gpus=9)", TestCatalogue()), InputError);
}

TEST(TodaysClustersTest, HalvesOfThePcieTreeMeetAtTheSockets) {
  const sim::Cluster cluster = LoadCluster("pcie_tree", TestCatalogue());
  EXPECT_THAT(LinksBetween(cluster, "gpu0", "gpu3"), ElementsAre("pcie-gpu0", "pcie-gpu3"));
  EXPECT_THAT(LinksBetween(cluster, "gpu3", "gpu4"),
              ElementsAre("pcie-gpu3", "pcie-host0", "qpi", "pcie-host1", "pcie-gpu4"));
  EXPECT_THAT(LinksBetween(LoadCluster("pcie_tree(gpus=2)", TestCatalogue()), "gpu0", "gpu1"), SizeIs(5));
}

TEST(TodaysClustersTest, HostsMeetInTheNetwork) {
  const sim::Cluster rails = LoadCluster("h100_hosts", TestCatalogue());
  EXPECT_THAT(LinksBetween(rails, "gpu0", "gpu7"), ElementsAre("nvlink-gpu0", "nvlink-gpu7"));
  EXPECT_THAT(LinksBetween(rails, "gpu0", "gpu8"), ElementsAre("nic-gpu0", "nic-gpu8"));
  const sim::Cluster shared = LoadCluster("h100_hosts(nics=host,hosts=3,gpus=2)", TestCatalogue());
  EXPECT_THAT(LinksBetween(shared, "gpu1", "gpu5"),
              ElementsAre("pcie-gpu1", "nic-cpu0", "nic-cpu2", "pcie-gpu5"));
}

}  // namespace
}  // namespace stowplan::scenarios
