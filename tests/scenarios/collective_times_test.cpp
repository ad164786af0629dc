// Collectives on the clusters of the registry; exact times are in tests/formats/collectives_test.cpp.
#include <fmt/format.h>

#include "scenarios/scenarios.h"
#include "sim/formats/collectives.h"
#include "sim/simulator.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

// Of tensors of `bytes`, one on each GPU.
double Micros(const std::string& type, const sim::Cluster& cluster, sim::Bytes bytes) {
  sim::OpGraph graph;
  graph.name = type;
  sim::Op all;
  all.name = "all";
  all.type = type;
  for (const sim::Device& device : cluster.devices) {
    if (device.device_class != sim::DeviceClass::kGpu) continue;
    sim::Op& makes = graph.ops.emplace_back();
    makes.name = device.name;
    makes.type = "Make";
    makes.cost_us = 0;
    makes.outputs.emplace_back().bytes = bytes;
    makes.colocate = device.name;
    all.inputs.push_back({graph.size() - 1, 0});
    all.outputs.emplace_back().bytes = bytes;
  }
  graph.ops.push_back(all);
  graph.Finish();
  const sim::OpGraph made = formats::SplitCollectives(graph);
  sim::Placement placement;
  for (const sim::Op& op : made.ops) placement.device.push_back(cluster.Find(op.colocate));
  const sim::Problem problem(made, cluster, sim::PriceOps(made, cluster, sim::NoCostModel()));
  return sim::ToMicros(sim::MakeSimulator(problem)->Run(placement).runtime);
}

// As large as what is sent in a few latencies, where the number of chunks that is best depends on the links, they may be
// slower by 8 %. Links without a latency (`msr`, of a paper) would gain by as many chunks as there are bytes.
TEST(CollectiveTimesTest, BroadcastAndReduceAreNeverSlowerThanAllReduce) {
  int clusters = 0;
  for (const ClusterRow& row : Clusters()) {
    for (const char* gpus : {"2", "3", "4", "6", "8"}) {
      const sim::Cluster cluster = LoadCluster(fmt::format("{}(gpus={})", row.name, gpus), TestCatalogue());
      if (std::ranges::all_of(cluster.links, [](const sim::Link& link) { return link.latency == 0; }))
        continue;
      ++clusters;
      for (const int power : {2, 12, 16, 18, 20, 22, 24, 25, 26, 27, 28, 30}) {
        const sim::Bytes bytes = sim::Bytes{1} << power;
        const double most = Micros("AllReduce", cluster, bytes) * (power > 16 && power < 28 ? 1.08 : 1);
        for (const char* type : {"Broadcast", "Reduce"})
          EXPECT_LE(Micros(type, cluster, bytes), most) << type << " of " << bytes << " on " << cluster.name;
      }
    }
  }
  EXPECT_GE(clusters, 50);
}

// Each of four sends three quarters over its link; 25 us over two links, and what is dispatched.
TEST(CollectiveTimesTest, AnAllToAllOverPciExpressKeepsEachLinkBusy) {
  const sim::Cluster cluster = LoadCluster("k40(gpus=4)", TestCatalogue());
  EXPECT_NEAR(Micros("AllToAll", cluster, 400'000'000), 25 + 3 * 10'000, 20);
}

}  // namespace
}  // namespace stowplan::scenarios
