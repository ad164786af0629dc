#include "agents/bounds/device_classes.h"

#include <numeric>

#include "agents/bounds/bounds.h"
#include "agents/timing.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

std::vector<sim::DeviceIndex> All(const sim::Cluster& cluster) {
  std::vector<sim::DeviceIndex> devices(cluster.devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

// Hosts with a switch for their GPUs, all of which have a card of their own to one network.
sim::Cluster Hosts(int hosts, int gpus) {
  sim::Cluster cluster;
  cluster.name = "hosts";
  for (int d = 0; d < hosts * gpus; ++d) {
    cluster.devices.push_back(
        {.name = "gpu" + std::to_string(d), .kind = "gpu", .memory = sim::Bytes{1} << 40});
  }
  const auto connect = [&](int gpu, int end, std::int64_t bandwidth) {
    cluster.links.push_back({.name = "link" + std::to_string(cluster.links.size()),
                             .ends = {gpu, hosts * gpus + end},
                             .bandwidth = bandwidth,
                             .latency = sim::kPicosPerMicro});
  };
  cluster.switches.push_back("network");
  for (int host = 0; host < hosts; ++host) {
    cluster.switches.push_back("switch" + std::to_string(host));
    for (int gpu = host * gpus; gpu < (host + 1) * gpus; ++gpu) {
      connect(gpu, 1 + host, 400'000'000'000);
      connect(gpu, 0, 50'000'000'000);
    }
  }
  cluster.Finish();
  return cluster;
}

TEST(DeviceClasses, GpusOfEqualHostsAreOneClassWithTwoKindsOfRoutes) {
  const sim::Cluster cluster = Hosts(3, 4);
  const RouteKinds routes(cluster, All(cluster));
  ASSERT_EQ(routes.kinds().size(), 2U);
  EXPECT_EQ(routes.kinds()[0].pairs, 12 * 3);  // to the others of the host
  EXPECT_EQ(routes.kinds()[1].pairs, 12 * 8);
  const DeviceClasses classes(routes, std::vector<std::int32_t>(12, 0));
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_EQ(classes.classes()[0].devices, 12);
  EXPECT_EQ(classes.Between(0, 0), (std::vector<std::int32_t>{0, 1}));
}

// One GPU of another colour: those of its host see it near by, all others far.
TEST(DeviceClasses, WhoIsNearToAnotherIsAnother) {
  const sim::Cluster cluster = Hosts(3, 4);
  std::vector<std::int32_t> colours(12, 0);
  colours[5] = 1;
  const DeviceClasses classes(RouteKinds(cluster, All(cluster)), colours);
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes.classes()[0].devices, 8);
  EXPECT_EQ(classes.classes()[1].devices, 3);
  EXPECT_EQ(classes.classes()[2].devices, 1);
}

TEST(DeviceClasses, RoutesOfOneKindTakeEqualTimes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto c = RandomCase(seed, {.gpus = 5});
    const std::vector<sim::DeviceIndex> devices = All(c->cluster);
    const RouteKinds routes(c->cluster, devices);
    std::int64_t pairs = 0;
    for (const RouteKinds::Kind& kind : routes.kinds()) pairs += kind.pairs;
    EXPECT_EQ(pairs, std::ssize(devices) * (std::ssize(devices) - 1));
    for (std::size_t from = 0; from < devices.size(); ++from) {
      for (std::size_t to = 0; to < devices.size(); ++to) {
        if (from == to) continue;
        const RouteKinds::Kind& kind = routes.kinds()[static_cast<std::size_t>(routes.Of(from, to))];
        for (const sim::Bytes bytes : {sim::Bytes{0}, sim::Bytes{999'999}}) {
          EXPECT_EQ(LoneTransferTime(c->cluster, bytes, devices[from], devices[to]),
                    LoneTransferTime(c->cluster, bytes, kind.from, kind.to));
        }
      }
    }
  }
}

// With a column of costs for each device no two are of one class, and bounds are computed device by device.
TEST(DeviceClasses, BoundsByClassAreThoseByDevice) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto from = RandomCase(seed, {.ops = 12, .tight_memory = seed % 2 == 0});
    sim::Cluster cluster = Hosts(2, 3);
    for (sim::Device& device : cluster.devices) {
      if (seed % 2 == 0) device.memory = from->cluster.devices.front().memory;
      if (seed % 3 == 0) device.streams = 2;
    }
    cluster.dispatch = from->cluster.dispatch;
    const sim::DeviceIndex gpus = cluster.size();
    sim::CostTable by_class{.cost_model = "test",
                            .devices = gpus,
                            .picos = {},
                            .tier = {},
                            .shared_columns = 1,
                            .column_of = std::vector<sim::DeviceIndex>(cluster.devices.size(), 0)};
    for (sim::OpIndex op = 0; op < from->graph.size(); ++op)
      by_class.picos.push_back(from->problem->costs().at(op, 0));
    by_class.tier.assign(by_class.picos.size(), sim::Tier::kMeasured);
    sim::CostTable by_device = by_class;
    for (sim::DeviceIndex d = 0; d < gpus; ++d) by_device.Separate(d);
    const LowerBound a = ComputeLowerBound(sim::Problem(from->graph, cluster, by_class));
    const LowerBound b = ComputeLowerBound(sim::Problem(from->graph, cluster, by_device));
    EXPECT_EQ(a.critical_path, b.critical_path) << seed;
    EXPECT_EQ(a.work, b.work) << seed;
    EXPECT_EQ(a.window, b.window) << seed;
    EXPECT_EQ(a.memory, b.memory) << seed;
    EXPECT_EQ(a.nothing_fits, b.nothing_fits) << seed;
    EXPECT_GT(a.critical_path, 0) << seed;
  }
}

}  // namespace
}  // namespace stowplan::agents
