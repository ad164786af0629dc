// How long collectives take on the machines of the table.
#include "cost_models/collectives/collectives.h"

#include <algorithm>
#include <numeric>

#include "cost_models/collectives/laws.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using sim::CollectiveType;
constexpr sim::Bytes kMib = 1 << 20;
constexpr CollectiveType kAllTypes[] = {CollectiveType::kAllReduce, CollectiveType::kReduceScatter,
                                        CollectiveType::kAllGather, CollectiveType::kAllToAll,
                                        CollectiveType::kBroadcast, CollectiveType::kReduce};

std::vector<sim::DeviceIndex> Gpus(const sim::Cluster& cluster) {
  std::vector<sim::DeviceIndex> gpus;
  for (sim::DeviceIndex d = 0; d < cluster.size(); ++d)
    if (cluster.devices[static_cast<std::size_t>(d)].device_class == sim::DeviceClass::kGpu)
      gpus.push_back(d);
  return gpus;
}

class Machine {
 public:
  explicit Machine(const std::string& name) : Machine(scenarios::LoadCluster(name, BuiltinCatalogue())) {}
  explicit Machine(sim::Cluster cluster)
      : cluster_(std::move(cluster)), gpus_(Gpus(cluster_)), model_(MakeCollectiveModel("", cluster_)) {}

  // On every `stride`-th GPU, `ranks` of them; 0 = all.
  double Micros(CollectiveType type, sim::Bytes bytes, std::size_t ranks = 0, std::size_t stride = 1) const {
    return sim::ToMicros(model_->TimeOf({type, bytes, Ranks(ranks, stride)}));
  }
  CollectivePrice Explain(CollectiveType type, sim::Bytes bytes, std::size_t ranks = 0) const {
    return model_->Explain({type, bytes, Ranks(ranks, 1)});
  }
  std::span<const sim::DeviceIndex> Ranks(std::size_t ranks, std::size_t stride) const {
    chosen_.clear();
    for (std::size_t i = 0; i < gpus_.size() && (ranks == 0 || chosen_.size() < ranks); i += stride)
      chosen_.push_back(gpus_[i]);
    return chosen_;
  }
  const CollectiveModel& model() const { return *model_; }
  const std::vector<sim::DeviceIndex>& gpus() const { return gpus_; }

 private:
  sim::Cluster cluster_;
  std::vector<sim::DeviceIndex> gpus_;
  std::unique_ptr<CollectiveModel> model_;
  mutable std::vector<sim::DeviceIndex> chosen_;
};

// us, half precision, of ai-dynamo/aiconfigurator@095f58a (Apache-2.0): a tenth off in what was fitted, and no more.
TEST(Collectives, InOneHostTakeWhatWasMeasured) {
  struct Row {
    const char* cluster;
    CollectiveType type;
    std::size_t ranks;
    sim::Bytes bytes;
    double us;
  };
  const Row kRows[] = {{"h100", CollectiveType::kAllReduce, 8, 512 * kMib * 2, 2111.06 * 2},
                       {"h100", CollectiveType::kAllReduce, 2, 64 * kMib, 254.57},
                       {"h100", CollectiveType::kAllReduce, 8, kMib, 25.4},
                       {"h200", CollectiveType::kAllGather, 4, 256 * kMib, 660.33},
                       {"a100", CollectiveType::kReduceScatter, 8, 128 * kMib, 624.0},
                       {"a100", CollectiveType::kAllReduce, 8, 65536, 28.06},
                       {"b200_hosts(hosts=1)", CollectiveType::kAllToAll, 8, 64 * kMib, 138.85},
                       {"b200_hosts(hosts=1)", CollectiveType::kAllReduce, 8, 512 * kMib, 1334.56}};
  for (const Row& row : kRows) {
    const Machine machine(row.cluster);
    EXPECT_NEAR(machine.Micros(row.type, row.bytes, row.ranks) / row.us, 1, 0.1)
        << row.cluster << " " << row.bytes;
  }
}

TEST(Collectives, OfTwoHostsUseAllNics) {
  const double rails = Machine("h100_hosts(hosts=2)").Micros(CollectiveType::kAllReduce, 512 * kMib);
  EXPECT_GT(rails, 2000);
  EXPECT_LT(rails, 3000);
  // One NIC of 400 Gbit/s for eight GPUs, of which NCCL counts 48 GB/s: a ring sends 15/8 of the bytes over it, a tree twice as
  // much, but sums in switches first halve that.
  const double one = Machine("h100_hosts(hosts=2,nics=host)").Micros(CollectiveType::kAllReduce, 512 * kMib);
  EXPECT_NEAR(one, 512 * kMib / (48e3 * 5 / 6), 0.1 * one);
  // Four NICs at switches of PCI Express, of 100 Gbit/s each; the one of the CPU is another's.
  const double ec2 = Machine("aws_p4d").Micros(CollectiveType::kAllGather, 512 * kMib);
  EXPECT_NEAR(ec2, 512 * kMib * 15 / 16 / 48e3, 0.05 * ec2);
  // One rank a host has its own NIC and no more: (k - 1) / k of the bytes over 48 GB/s.
  const double strided = Machine("h100_hosts(hosts=8)").Micros(CollectiveType::kAllGather, 256 * kMib, 8, 8);
  EXPECT_NEAR(strided, 256 * kMib * 7 / 8 / 48e3, 0.05 * strided);
}

// us of microsoft/vidur@7d47513 (MIT): A100s in two hosts, all-reduces of 16 MiB. One number was taken from them, 6 GB/s for the
// line of each NIC.
TEST(Collectives, OfTwoHostsTakeWhatWasMeasured) {
  for (const auto& [gpus, us] : {std::pair{1, 2892.5}, std::pair{4, 1577.5}}) {
    sim::Cluster cluster =
        scenarios::LoadCluster("a100_hosts(gpus=" + std::to_string(gpus) + ")", BuiltinCatalogue());
    for (sim::Link& link : cluster.links)
      if (link.name.starts_with("nic-")) link.bandwidth = 4'320'000'000;  // 18 GB/s of HDR are a line of 25
    EXPECT_NEAR(Machine(cluster).Micros(CollectiveType::kAllReduce, 16 * kMib) / us, 1, 0.15) << gpus;
  }
}

TEST(Collectives, LeavesAndTheirUplinksBoundWhatCrossesThem) {
  const sim::Bytes bytes = 1024 * kMib;
  const auto micros = [&](const char* network, CollectiveType type) {
    return Machine(std::string("h100_hosts(hosts=4") + network + ")").Micros(type, bytes);
  };
  const double flat = micros("", CollectiveType::kAllGather);
  // Of a ring's rails all cross from leaf to leaf: 8 NICs of one host against 2 hosts' share of the spine.
  EXPECT_NEAR(micros(",network=leaf,pod=2", CollectiveType::kAllGather), flat, 0.01 * flat);
  EXPECT_NEAR(micros(",network=leaf,pod=2,oversubscription=8", CollectiveType::kAllGather) / flat, 3.66, 0.2);
  // An all-to-all sends two thirds of what leaves a host beyond its leaf.
  const double exchange = micros("", CollectiveType::kAllToAll);
  EXPECT_NEAR(micros(",network=leaf,pod=2,oversubscription=3", CollectiveType::kAllToAll) / exchange, 2,
              0.05);
  EXPECT_NEAR(micros(",network=rails,pod=4,oversubscription=8", CollectiveType::kAllToAll), exchange,
              0.01 * exchange);
}

// The links between GPU 0 and 1 are one, between 0 and 3 two.
TEST(Collectives, ArePricedByTheLinksOfTheirRanks) {
  const Machine mesh("v100");
  const auto pair = [&](std::size_t other) {
    const sim::DeviceIndex ranks[] = {mesh.gpus()[0], mesh.gpus()[other]};
    return sim::ToMicros(mesh.model().TimeOf({CollectiveType::kAllReduce, 256 * kMib, ranks}));
  };
  EXPECT_NEAR(pair(1) / pair(3), 2, 0.02);
  EXPECT_GT(pair(7), 2 * pair(1)) << "over PCI Express";
}

TEST(Collectives, OfADomainOf72SumInItsSwitches) {
  const Machine rack("gb200_nvl72");
  const CollectivePrice price = rack.Explain(CollectiveType::kAllReduce, 512 * kMib);
  EXPECT_EQ(price.algorithm, "in-switch");
  EXPECT_EQ(price.hosts, 1);
  EXPECT_LT(sim::ToMicros(price.time), 1334.56) << "on 8 ranks, which send an eighth more";
  EXPECT_GT(sim::ToMicros(price.time), 1334.56 / 1.25);
}

// What gtest calls a case.
void PrintTo(const scenarios::ClusterRow& row, std::ostream* out) {
  *out << row.name;
}

class EveryMachine : public ::testing::TestWithParam<scenarios::ClusterRow> {};

TEST_P(EveryMachine, PricesCollectivesConsistently) {
  const Machine machine(std::string(GetParam().name));
  if (machine.gpus().size() < 2) GTEST_SKIP() << "one GPU";
  for (const CollectiveType type : kAllTypes) {
    double before = 0;
    for (sim::Bytes bytes = 1024; bytes <= 4096 * kMib; bytes *= 8) {
      const CollectivePrice price = machine.Explain(type, bytes);
      const double us = machine.Micros(type, bytes);
      EXPECT_EQ(sim::ToMicros(price.time), us);
      EXPECT_FALSE(price.algorithm.empty() || price.evidence.empty());
      EXPECT_GE(us, before) << ToString(type) << " of " << bytes << " bytes";
      before = us;
    }
    std::vector<sim::DeviceIndex> reversed(machine.gpus().rbegin(), machine.gpus().rend());
    EXPECT_EQ(machine.model().TimeOf({type, kMib, reversed}),
              machine.model().TimeOf({type, kMib, machine.gpus()}));
    const sim::DeviceIndex same[] = {machine.gpus()[0], machine.gpus()[0]};
    EXPECT_EQ(machine.model().TimeOf({type, kMib, same}), 0);
    EXPECT_EQ(machine.Micros(type, 0), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryMachine, ::testing::ValuesIn(scenarios::Clusters()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Collectives, OfCpusTakeTheStepsOfARing) {
  sim::Cluster cluster;
  for (int i = 0; i < 4; ++i)
    cluster.devices.push_back({.name = "cpu" + std::to_string(i),
                               .kind = "cpu",
                               .device_class = sim::DeviceClass::kCpu,
                               .memory = 1});
  cluster.switches = {"all"};
  for (int i = 0; i < 4; ++i)
    cluster.links.push_back(
        {.name = "l" + std::to_string(i), .ends = {i, 4}, .bandwidth = 1'000'000'000, .latency = 500'000});
  cluster.Finish();
  const sim::DeviceIndex ranks[] = {0, 1, 2, 3};
  const auto model = MakeCollectiveModel("", cluster);
  EXPECT_EQ(model->TimeOf({CollectiveType::kAllReduce, 4000, ranks}),
            sim::FromMicros(12));  // docs/model.md 11
}

TEST(CollectiveModels, AreNamedAndTakeNoSettings) {
  const sim::Cluster cluster = scenarios::LoadCluster("h100", BuiltinCatalogue());
  for (const char* spec : {"nccI", "nccl(x=1)"})
    EXPECT_THROW(MakeCollectiveModel(spec, cluster), InputError) << spec;
}

TEST(CollectiveTypes, HaveNames) {
  for (const CollectiveType type : kAllTypes) EXPECT_EQ(CollectiveTypeNamed(ToString(type)), type);
  EXPECT_EQ(CollectiveTypeNamed("allreduce"), std::nullopt);
  EXPECT_DOUBLE_EQ(BusBandwidth(CollectiveType::kAllReduce, 8'000'000, 8, sim::FromMicros(1000)), 14e9);
}

// Every law has knots of which the last is slower than the one before it: beyond it goes on.
TEST(CollectiveData, RefusesWhatIsNoLaw) {
  const std::string file =
      formats::ReadFile(std::string(STOWPLAN_SOURCE_DIR) + "/cost_models/data/collectives.yaml");
  const std::string head = file.substr(0, file.find("laws:"));
  const auto parse = [&](const std::string& law) {
    return ParseCollectiveData(head + "laws:\n  - " + law + "\n", "c.yaml");
  };
  const std::string rest = "link: pcie3-x16, hop: 1, crowding: 0, source: \"s\", ";
  EXPECT_EQ(parse("{gpu: a, type: all-reduce, " + rest + "knots: [[1B, 1, 0], [2B, 1, 1]]}").laws.size(), 1U);
  for (const char* law : {"gpu: a, type: all-reduc, knots: [[1B, 1, 0], [2B, 1, 1]]",
                          "gpu: a, type: all-reduce, knots: [[1B, 1, 0]]",
                          "gpu: a, type: all-reduce, knots: [[1B, 1, 1], [2B, 1, 1]]",
                          "gpu: a, type: all-reduce, knots: [[2B, 1, 0], [1B, 1, 1]]",
                          "gpu: a, type: all-reduce, knots: [[1B, 0], [2B, 1]]"}) {
    EXPECT_THROW(parse("{" + rest + law + "}"), InputError) << law;
  }
}

}  // namespace
}  // namespace stowplan::cost_models
