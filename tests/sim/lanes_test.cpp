#include "sim/analysis/lanes.h"

#include "tests/sim/random_case.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

std::vector<Lane> LanesOf(World& world) {
  const Outcome outcome = world.Run();
  const Problem problem(world.graph, world.cluster, world.costs());
  return MakeLanes(problem, world.placement, outcome);
}

// An op of 10 us on gpu0, 1 MB to gpu1 in 105 us, an op of 10 us there.
TEST(Lanes, DevicesAndBothDirectionsOfALink) {
  TwoGpus world;
  world.Add(0, 10, {kMB});
  world.Add(1, 10, {}, {{0, 0}});
  const std::vector<Lane> lanes = LanesOf(world);
  ASSERT_EQ(lanes.size(), 4u);
  EXPECT_EQ(lanes[0].kind, Lane::Kind::kDevice);
  ASSERT_EQ(lanes[1].slices.size(), 1u);
  EXPECT_EQ(lanes[1].slices[0].start, 115 * kUs);
  EXPECT_EQ(lanes[1].slices[0].end, 125 * kUs);
  EXPECT_EQ(lanes[1].slices[0].index, 1);
  EXPECT_EQ(lanes[2].kind, Lane::Kind::kLink);
  ASSERT_EQ(lanes[2].slices.size(), 1u);
  EXPECT_EQ(lanes[2].slices[0].start, 10 * kUs);
  EXPECT_TRUE(lanes[3].backward);
  EXPECT_TRUE(lanes[3].slices.empty());
}

TEST(Lanes, TwoStreamsTakeTwoTracks) {
  World world;
  world.Gpu();
  world.device(0).streams = 2;
  world.Add(0, 10);
  world.Add(0, 10);
  const Lane lane = LanesOf(world).front();
  EXPECT_EQ(lane.tracks, 2);
  EXPECT_EQ(lane.slices[0].track + lane.slices[1].track, 1);
}

// Over two links one transfer is in both lanes, the second time marked.
TEST(Lanes, ARouteOfTwoLinksShowsATransferTwice) {
  World world;
  const DeviceIndex cpu = world.Cpu();
  const DeviceIndex left = world.Gpu(), right = world.Gpu();
  world.Connect(cpu, left);
  world.Connect(cpu, right);
  world.Add(left, 10, {kMB});
  world.Add(right, 10, {}, {{0, 0}});
  int shown = 0, again = 0;
  for (const Lane& lane : LanesOf(world)) {
    if (lane.kind != Lane::Kind::kLink) continue;
    for (const LaneSlice& slice : lane.slices) ++(slice.again ? again : shown);
  }
  EXPECT_EQ(shown, 1);
  EXPECT_EQ(again, 1);
}

TEST(Lanes, TheHostThreadIssuesBeforeTheOpStarts) {
  World world;
  world.Gpu();
  world.Add(0, 2);
  world.cluster.dispatch.cost = 5 * kUs;
  const std::vector<Lane> lanes = LanesOf(world);
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].kind, Lane::Kind::kHost);
  EXPECT_EQ(lanes[0].slices[0].start, 0);
  EXPECT_EQ(lanes[0].slices[0].end, 5 * kUs);
}

// Every op is in one lane, and slices of one track do not overlap.
TEST(Lanes, OfRandomCases) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase random_case = MakeRandomCase(seed);
    const Problem problem(random_case.graph, random_case.cluster, random_case.costs);
    const auto simulator = MakeSimulator(problem);
    const Outcome& outcome =
        simulator->Run(random_case.placement, {.record = RunOptions::Record::kTimeline, .cutoff = {}});
    std::size_t ops = 0;
    for (const Lane& lane : MakeLanes(problem, random_case.placement, outcome)) {
      if (lane.kind == Lane::Kind::kDevice) ops += lane.slices.size();
      std::vector<Picos> until(static_cast<std::size_t>(lane.tracks), 0);
      for (const LaneSlice& slice : lane.slices) {
        Picos& track = until.at(static_cast<std::size_t>(slice.track));
        EXPECT_LE(track, slice.start);
        track = slice.end;
      }
    }
    EXPECT_EQ(ops, outcome.ops.size());
  }
}

}  // namespace
}  // namespace stowplan::sim
