// Large neighbourhoods.
#include "agents/search/rescheduling.h"

#include "agents/placements.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

std::set<std::size_t> Moved(const UnitPlacement& before, const UnitPlacement& after) {
  std::set<std::size_t> moved;
  for (std::size_t unit = 0; unit < before.size(); ++unit) {
    if (before[unit] != after[unit]) moved.insert(unit);
  }
  return moved;
}

struct Rescheduled {
  explicit Rescheduled(std::unique_ptr<Case> made) : c(std::move(made)) {}

  std::unique_ptr<Case> c;
  Task task = MakeTask(*c->problem, "");
  UnitTree tree = MakeUnitTree(c->graph, task.units);
  Rescheduling rescheduling{task, tree};
  Rng rng{1, "test"};
};

TEST(Rescheduling, MovesTheUnitsOfAClusterAlone) {
  Rescheduled made(RandomCase(3, {.ops = 60, .gpus = 3}));
  auto& [c, task, tree, rescheduling, rng] = made;
  const UnitPlacement start = UniformPlacement(task, rng);
  int changed = 0;
  for (int i = 0; i < 50; ++i) {
    const std::set<std::size_t> moved = Moved(start, rescheduling.OfCluster(start, rng));
    EXPECT_LE(moved.size(), start.size() / 2);
    bool in_one = moved.empty();
    for (std::size_t level = 0; level < tree.levels.size(); ++level) {
      for (std::size_t k = 0; k < tree.Clusters(level) && !in_one; ++k) {
        const std::span<const std::size_t> units = tree.Cluster(level, k);
        const std::set<std::size_t> cluster(units.begin(), units.end());
        in_one = cluster.size() <= start.size() / 2 && std::ranges::includes(cluster, moved);
      }
    }
    EXPECT_TRUE(in_one);
    changed += !moved.empty();
  }
  EXPECT_GT(changed, 20);
}

// A list schedule is better than chance.
TEST(Rescheduling, PlacesBetterThanChance) {
  Rescheduled made(RandomCase(4, {.ops = 80, .gpus = 3}));
  auto& [c, task, tree, rescheduling, rng] = made;
  Evaluator evaluator(task, {.budget = 80});
  double chance = 0, placed = 0;
  for (int i = 0; i < 40; ++i) {
    const UnitPlacement start = UniformPlacement(task, rng);
    chance += static_cast<double>(evaluator.Evaluate(start).runtime);
    placed += static_cast<double>(evaluator.Evaluate(rescheduling.OfMany(start, rng)).runtime);
  }
  EXPECT_LT(placed, 0.9 * chance);
}

TEST(Rescheduling, LeavesOutMoreDevicesThanItCanLookThrough) {
  const auto few = RandomCase(5, {.ops = 60, .gpus = 3});
  EXPECT_TRUE(Rescheduling::Takes(MakeTask(*few->problem, "")));
  Task task = MakeTask(*few->problem, "");
  task.devices.resize(2000);
  EXPECT_TRUE(Rescheduling::Takes(task));
  task.devices.resize(300'000);
  EXPECT_FALSE(Rescheduling::Takes(task));
}

}  // namespace
}  // namespace stowplan::agents
