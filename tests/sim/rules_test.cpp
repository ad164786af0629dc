// Where the published rules are wrong about machines, native does the opposite: one test for each rule.
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

struct Both {
  Outcome native;
  Outcome published;
};

Both RunBoth(World& w) {
  Both both;
  w.cluster.rules = Rules::kNative;
  both.native = w.Run();
  w.cluster.rules = Rules::kPublished;
  both.published = w.Run();
  return both;
}

struct ThreeGpus : World {
  ThreeGpus() {
    for (int i = 0; i < 3; ++i) Gpu();
    Connect(0, 1);
    Connect(0, 2);
    Connect(1, 2);
  }
};

TEST(Rules, OneCopyForEachDestination) {
  ThreeGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 1, {}, {{a, 0}});
  w.Add(2, 1, {}, {{a, 0}});
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.transfers.size(), 2u);
  EXPECT_EQ(published.transfers.size(), 1u);
}

TEST(Rules, ControlEdgesCarryNoBytes) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {76'000});
  const OpIndex b = w.Add(1, 1, {}, {}, {a});
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.ops[b].start, 15 * kUs);  // the latency
  EXPECT_EQ(native.transfers[0].bytes, 0);
  EXPECT_EQ(published.ops[b].start, 20 * kUs);  // output 0
  EXPECT_EQ(published.transfers[0].bytes, 76'000);
}

TEST(Rules, EveryOutputThatIsReadCounts) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB, 0});
  const OpIndex b = w.Add(1, 1, {}, {{a, 0}, {a, 1}});
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.ops[b].start, 115 * kUs);
  EXPECT_EQ(published.ops[b].start, 10 * kUs);  // the last named output is empty
}

TEST(Rules, LinksAreResourcesAndLatencyComesFirst) {
  // Two devices that send share nothing in published; on a half-duplex link they wait for each other.
  TwoGpus w;
  w.cluster.links[0].duplex = Duplex::kHalf;
  const OpIndex a = w.Add(0, 10, {76'000}), b = w.Add(1, 10, {76'000});
  w.Add(1, 1, {}, {{a, 0}});
  const OpIndex d = w.Add(0, 1, {}, {{b, 0}});
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.ops[d].start, 35'200'000);  // 10 + 2 * (5 + 7.6)
  EXPECT_EQ(published.ops[d].start, 20 * kUs);
  EXPECT_EQ(published.runtime, 45 * kUs);  // a pause at the end
  EXPECT_EQ(native.runtime, 36'200'000);   // the last op
}

TEST(Rules, NoPauseBetweenOps) {
  World w;
  w.Gpu();
  w.Add(0, 10);
  w.Add(0, 10);
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.runtime, 20 * kUs);
  EXPECT_EQ(published.runtime, 31'400'000);
}

TEST(Rules, CostsAreThoseOfTheDevice) {
  for (const DeviceIndex d : {0, 1}) {
    World w;
    w.Gpu();
    w.Gpu();
    w.SetCost(w.Add(d, 10), 1, 30);
    EXPECT_EQ(w.Run().runtime, (d == 0 ? 10 : 30) * kUs);
  }
}

TEST(Rules, WeightsWorkspaceAndReceivedCopiesTakeMemory) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex b = w.Add(1, 10, {}, {{a, 0}});
  w.op(b).persistent_bytes = 300;
  w.op(b).workspace_bytes = 20;
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.devices[1].peak, kMB + 320);
  EXPECT_EQ(published.devices[1].peak, 0);
}

TEST(Rules, OutputsLiveUntilTheirLastUseEnds) {
  // b starts and would find a's output gone: published frees it one microsecond before b ends, rounded down.
  World w;
  w.Gpu();
  const OpIndex a = w.Add(0, 10, {1000});
  w.Add(0, 0.5, {300}, {{a, 0}});
  const auto [native, published] = RunBoth(w);
  EXPECT_EQ(native.devices[0].peak, 1300);
  EXPECT_EQ(published.devices[0].peak, 1000);
}

TEST(Rules, MemoryRunsOut) {
  World w;
  w.Gpu();
  w.device(0).memory = 999;
  w.Add(0, 10, {1000});
  const auto [native, published] = RunBoth(w);
  EXPECT_FALSE(native.feasible());
  EXPECT_TRUE(published.feasible());
}

TEST(Rules, APlacementIsNotChanged) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 1, {}, {{a, 0}});
  const std::vector<DeviceIndex> before = w.placement.device;
  RunBoth(w);
  EXPECT_EQ(w.placement.device, before);
}

}  // namespace
}  // namespace stowplan::sim
