// The machines of the table with the catalogue's numbers: their routes, and those of many hosts.
#include "problem/loaded_problem.h"
#include "scenarios/scenarios.h"
#include "sim/base/fnv.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

sim::Cluster Load(const std::string& name) {
  return scenarios::LoadCluster(name, cost_models::BuiltinCatalogue());
}

// FNV-1a over the link directions of all pairs, and a mark behind each pair.
std::uint64_t HashOfRoutes(const sim::Cluster& cluster) {
  std::uint64_t hash = 1469598103934665603U;
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
  for (sim::DeviceIndex from = 0; from < cluster.size(); ++from) {
    for (sim::DeviceIndex to = 0; to < cluster.size(); ++to) {
      for (const auto& hop : cluster.route(from, to))
        add(static_cast<std::uint64_t>(2 * hop.link + hop.forward));
      add(0xffff);
    }
  }
  return hash;
}

// As a search for each device over all nodes found them: simulated times that were recorded rest on them.
TEST(Machines, HaveTheRoutesThatTheyHad) {
  const std::pair<const char*, std::uint64_t> kHashes[] = {{"k40(gpus=8)", 0x07f80300549cd9a4},
                                                           {"k80(gpus=8)", 0xc5e0925f3e0db5c4},
                                                           {"p100(gpus=3)", 0xe54b67954d8e578f},
                                                           {"v100(gpus=8)", 0x05533bb646b2d4c0},
                                                           {"v100(gpus=3)", 0x520bbe7e8593762d},
                                                           {"dgx2", 0xdf14bff229523ff4},
                                                           {"a100", 0x505f3f36cbd469b4},
                                                           {"h100(gpus=3)", 0xafb2488adf26e3aa},
                                                           {"h200", 0x505f3f36cbd469b4},
                                                           {"workstation(gpus=8)", 0x94e652f21c295854},
                                                           {"workstation", 0x5e53e6667929c89a},
                                                           {"pcie_tree", 0xc375f7102d11c602},
                                                           {"pcie_tree(gpus=3)", 0x5da6f83021ece942},
                                                           {"h100_hosts", 0x1e99b5a409a46f01},
                                                           {"h100_hosts(gpus=3)", 0xed318e9ebcb98c7f},
                                                           {"baechi(gpus=8)", 0x07f80300549cd9a4},
                                                           {"doppler(gpus=8)", 0xee7c477079bc242b},
                                                           {"msr", 0x2266a6e3755f2e72}};
  for (const auto& [name, hash] : kHashes) EXPECT_EQ(HashOfRoutes(Load(name)), hash) << name;
}

sim::Placement InTurns(const sim::OpGraph& graph, const sim::Cluster& cluster, const char* one,
                       const char* other) {
  sim::Placement placement;
  for (sim::OpIndex op = 0; op < graph.size(); ++op)
    placement.device.push_back(cluster.Find(op % 2 == 0 ? one : other));
  return placement;
}

// More than have a row for each pair: two GPUs of different hosts send as two of two hosts do.
TEST(Machines, OfManyHostsRunAsThoseOfTwo) {
  const LoadedProblem two({.graph = "chain(ops=20)", .cluster = "h100_hosts(hosts=2)"});
  const LoadedProblem many({.graph = "chain(ops=20)", .cluster = "h100_hosts(hosts=300)"});
  ASSERT_GT(many.cluster().size(), sim::kMaxPaired);
  const auto run = [](const LoadedProblem& loaded, const char* one, const char* other) {
    return sim::MakeSimulator(loaded.problem())
        ->Run(InTurns(loaded.graph(), loaded.cluster(), one, other))
        .runtime;
  };
  EXPECT_EQ(run(many, "gpu3", "gpu2399"), run(two, "gpu3", "gpu15"));
  EXPECT_EQ(run(many, "gpu2392", "gpu2399"), run(two, "gpu8", "gpu15"));
}

TEST(Machines, OfMoreThanCanBeSimulatedAreRefusedBeforeTheyAreBuilt) {
  EXPECT_THROW(Load("h100_hosts(hosts=16384)"), InputError);
  EXPECT_THROW(Load("gb200_nvl72(hosts=228)"), InputError);
}

// A spine of half the bandwidth: 16 hosts of 8 NICs of 36 GB/s below each of two leaves.
TEST(Machines, LeavesAreOversubscribed) {
  const sim::Cluster leaves = Load("h100_hosts(hosts=32,network=leaf,pod=16,oversubscription=2)");
  std::map<std::string, std::int64_t> up;
  for (const sim::Link& link : leaves.links)
    if (link.name.starts_with("up-")) up[link.name] = link.bandwidth;
  EXPECT_EQ(up, (std::map<std::string, std::int64_t>{{"up-leaf0", 2'304'000'000'000},
                                                     {"up-leaf1", 2'304'000'000'000}}));
  const auto hops = [&](const char* to) { return leaves.route(leaves.Find("gpu0"), leaves.Find(to)).size(); };
  EXPECT_EQ(hops("gpu8"), 2U);
  EXPECT_EQ(hops("gpu128"), 4U);
  const sim::Cluster rails = Load("h100_hosts(hosts=32,network=rails,pod=16)");
  EXPECT_EQ(rails.switches.size(), 1U + 2 * 8 + 32);
}

}  // namespace
}  // namespace stowplan::problem
