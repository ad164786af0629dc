#include "agents/search/moves.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agents/placements.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

std::size_t Distance(const UnitPlacement& a, const UnitPlacement& b) {
  std::size_t different = 0;
  for (std::size_t unit = 0; unit < a.size(); ++unit) different += a[unit] != b[unit];
  return different;
}

RC_GTEST_PROP(Moves, NeighboursDifferAndAreLegal, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const auto c = RandomCase(seed, {.ops = *rc::gen::inRange(1, 40), .gpus = *rc::gen::inRange(1, 4)});
  const Task task = MakeTask(*c->problem, "");
  const auto kinds = *rc::gen::element(Moves::Kinds::kRunsAndConnected, Moves::Kinds::kWithClusters);
  const Moves moves(task, kinds);
  std::size_t parted = 1;  // levels of two clusters or more, the lowest among them
  if (kinds == Moves::Kinds::kWithClusters) {
    while (parted < moves.tree().levels.size() && moves.tree().Clusters(parted) > 1) ++parted;
  }
  Rng rng(seed, "test");
  UnitPlacement placement = UniformPlacement(task, rng);
  for (int i = 0; i < 20; ++i) {
    const bool clusters = kinds == Moves::Kinds::kWithClusters && i % 2 == 0;
    const UnitPlacement next = clusters ? moves.ClusterNeighbour(placement, rng.Below(parted), rng)
                                        : moves.Neighbour(placement, rng);
    RC_ASSERT(next != placement);
    for (const sim::DeviceIndex d : next)
      RC_ASSERT(std::binary_search(task.devices.begin(), task.devices.end(), d));
    placement = next;
  }
}

TEST(Moves, ThereIsNoNeighbourOnOneDevice) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "", {"gpu0"});
  Rng rng(1, "test");
  const UnitPlacement only(static_cast<std::size_t>(task.units.size()), task.devices.front());
  EXPECT_EQ(Moves(task).Neighbour(only, rng), only);
}

// Every distance occurs from one unit to half of them.
TEST(Moves, ChangeFromOneUnitToHalfOfThem) {
  const auto c = RandomCase(3, {.ops = 40, .gpus = 2, .cpu = false, .colocate = false});
  const Task task = MakeTask(*c->problem, "");
  const Moves moves(task);
  const UnitPlacement start(40, task.devices.front());
  Rng rng(1, "test");
  std::set<std::size_t> distances;
  for (int i = 0; i < 5000; ++i) distances.insert(Distance(start, moves.Neighbour(start, rng)));
  EXPECT_THAT(distances, SizeIs(20));
  EXPECT_EQ(*distances.begin(), 1u);
  EXPECT_EQ(*distances.rbegin(), 20u);
}

RC_GTEST_PROP(Moves, ACrossHasItsUnitsFromOneOrTheOther, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const auto c = RandomCase(seed, {.ops = 20, .gpus = 3});
  const Task task = MakeTask(*c->problem, "");
  Rng rng(seed, "test");
  const UnitPlacement a = UniformPlacement(task, rng);
  const UnitPlacement b = UniformPlacement(task, rng);
  const UnitPlacement child = Moves(task).Cross(a, b, rng);
  for (std::size_t unit = 0; unit < child.size(); ++unit)
    RC_ASSERT(child[unit] == a[unit] || child[unit] == b[unit]);
}

// Four layers forward and back, each backward op reading its forward op, all of equal cost.
// Of 64 devices mostly those that are in use, and now and then any; a random placement has any number of them.
TEST(Moves, KeepMostlyToTheDevicesInUse) {
  const auto c = RandomCase(4, {.ops = 40, .gpus = 64, .cpu = false});
  const Task task = MakeTask(*c->problem, "");
  const Moves moves(task, Moves::Kinds::kWithClusters);
  Rng rng(1, "test");
  UnitPlacement two(task.units.ops.size(), 3);
  for (std::size_t unit = 0; unit < two.size(); unit += 2) two[unit] = 40;
  std::set<sim::DeviceIndex> reached;
  std::set<std::size_t> used;
  int new_ones = 0;
  for (int i = 0; i < 4000; ++i) {
    const UnitPlacement next = moves.Neighbour(two, rng);
    const std::set<sim::DeviceIndex> devices(next.begin(), next.end());
    new_ones += devices.size() > 2;
    reached.insert(devices.begin(), devices.end());
    const UnitPlacement random = moves.RandomClusters(0, rng);
    used.insert(std::set(random.begin(), random.end()).size());
  }
  EXPECT_LT(new_ones, 1600);
  EXPECT_THAT(reached, SizeIs(64));
  EXPECT_EQ(*used.begin(), 1u);
  EXPECT_GT(*used.rbegin(), 20u);
}

TEST(Moves, TrivialPlacementsAreSingleDevicesAndBlocksOfEqualCost) {
  Case c;
  for (int i = 0; i < 4; ++i) {
    c.Add("forward" + std::to_string(i), {10},
          i == 0 ? std::vector<sim::OpIndex>{} : std::vector<sim::OpIndex>{i - 1});
  }
  for (int i = 3; i >= 0; --i) c.Add("backward" + std::to_string(i), {10}, {6 - i, i});
  c.UseGpus(2, false);
  const Task task = MakeTask(c.Finish(), "");
  const std::vector<UnitPlacement> placements = Moves(task).TrivialPlacements();
  ASSERT_THAT(placements, SizeIs(4));
  EXPECT_THAT(placements[0], Each(0));
  EXPECT_THAT(placements[1], Each(1));
  EXPECT_THAT(placements[2], ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)) << "in topological order";
  EXPECT_THAT(placements[3], ElementsAre(0, 0, 1, 1, 1, 1, 0, 0)) << "gradients with their layer";
}

// All units of a cluster come to one device, whatever theirs was.
TEST(Moves, ClustersMoveAsAWhole) {
  const auto c = RandomCase(4, {.ops = 60, .gpus = 3, .cpu = false});
  const Task task = MakeTask(*c->problem, "");
  const Moves moves(task, Moves::Kinds::kWithClusters);
  const UnitTree& tree = moves.tree();
  const std::size_t level = tree.LevelOf(3);
  ASSERT_GT(level, 0u);
  Rng rng(1, "test");
  const UnitPlacement start = moves.RandomClusters(0, rng);
  for (int i = 0; i < 100; ++i) {
    const UnitPlacement next = moves.ClusterNeighbour(start, level, rng);
    EXPECT_LE(Distance(start, next), start.size() / 2);
    for (std::size_t cluster = 0; cluster < tree.Clusters(level); ++cluster) {
      std::size_t moved = 0;
      std::set<sim::DeviceIndex> devices;
      for (const std::size_t unit : tree.Cluster(level, cluster)) {
        moved += next[unit] != start[unit];
        devices.insert(next[unit]);
      }
      EXPECT_TRUE(moved == 0 || devices.size() == 1);
    }
  }
  const UnitPlacement clusters = moves.RandomClusters(level, rng);
  for (std::size_t cluster = 0; cluster < tree.Clusters(level); ++cluster) {
    for (const std::size_t unit : tree.Cluster(level, cluster))
      EXPECT_EQ(clusters[unit], clusters[tree.Cluster(level, cluster).front()]);
  }
}

TEST(Moves, StartsAreTheSharedOneOrTheTrivialOnes) {
  const auto c = RandomCase(5, {.ops = 10, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const Moves moves(task);
  EXPECT_THAT(StartsOf("random", task, moves, 7), ElementsAre(StartPlacement(task, 7)));
  EXPECT_EQ(StartsOf("trivial", task, moves, 7), moves.TrivialPlacements());
}

}  // namespace
}  // namespace stowplan::agents
