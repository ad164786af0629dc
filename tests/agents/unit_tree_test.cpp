#include "agents/groupers/unit_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using testing::Le;

UnitTree TreeOf(const Task& task) {
  return MakeUnitTree(task.problem->graph(), task.units);
}

// Every level parts the units, in clusters each of which is a union of clusters below.
RC_GTEST_PROP(UnitTree, LevelsAreUnionsOfThoseBelow, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const auto c = RandomCase(seed, {.ops = *rc::gen::inRange(1, 80), .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const UnitTree tree = TreeOf(task);
  RC_ASSERT(tree.order == TreeOf(task).order);
  std::vector<std::size_t> units = tree.order;
  std::ranges::sort(units);
  RC_ASSERT(units.size() == task.units.ops.size());
  for (std::size_t i = 0; i < units.size(); ++i) RC_ASSERT(units[i] == i);
  for (std::size_t level = 0; level < tree.levels.size(); ++level) {
    const std::vector<std::size_t>& begins = tree.levels[level];
    RC_ASSERT(begins.front() == 0u && begins.back() == units.size());
    RC_ASSERT(std::ranges::is_sorted(begins));
    if (level > 0) RC_ASSERT(std::ranges::includes(tree.levels[level - 1], begins));
    if (level == 0) RC_ASSERT(tree.Clusters(0) == units.size());
  }
  RC_ASSERT(tree.LevelOf(units.size()) == 0u);
  RC_ASSERT(tree.LevelOf(1) == tree.levels.size() - 1);
}

// Each group stands side by side in the order, within a cluster of the level from which it was merged.
RC_GTEST_PROP(UnitTree, GroupsAreUnionsOfClusters, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const auto c = RandomCase(seed, {.ops = *rc::gen::inRange(1, 80), .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const UnitTree tree = TreeOf(task);
  const std::size_t units = tree.order.size();
  for (const std::size_t groups : {std::size_t{1}, *rc::gen::inRange<std::size_t>(1, 90), units, units + 1}) {
    const std::vector<std::int32_t> group = GroupsOf(tree, groups);
    RC_ASSERT(group.size() == units);
    std::int32_t last = 0;
    for (std::size_t i = 0; i < units; ++i) {
      const std::int32_t of_unit = group[tree.order[i]];
      RC_ASSERT(of_unit == last || (i > 0 && of_unit == last + 1));
      last = of_unit;
    }
    RC_ASSERT(static_cast<std::size_t>(last) + 1 == std::min(groups, units));
    for (std::size_t level = 0; level < tree.levels.size(); ++level) {
      if (tree.Clusters(level) < groups) break;
      if (level + 1 < tree.levels.size() && tree.Clusters(level + 1) >= groups) continue;
      for (std::size_t cluster = 0; cluster < tree.Clusters(level); ++cluster) {
        const auto members = tree.Cluster(level, cluster);
        RC_ASSERT(std::ranges::all_of(members, [&](std::size_t u) { return group[u] == group[members[0]]; }));
      }
    }
  }
}

std::vector<std::size_t> Sizes(const UnitTree& tree, std::size_t level) {
  std::vector<std::size_t> sizes;
  for (std::size_t c = 0; c < tree.Clusters(level); ++c) sizes.push_back(tree.Cluster(level, c).size());
  return sizes;
}

TEST(UnitTree, StepsOfALayerAreTiedByItsWeights) {
  const auto c = RecurrentCase(3, 7);
  const Task task = MakeTask(*c->problem, "");
  const UnitTree tree = TreeOf(task);
  const std::size_t level = tree.LevelOf(3);
  EXPECT_THAT(Sizes(tree, level), ElementsAre(16, 16, 16));
  for (std::size_t cluster = 0; cluster < tree.Clusters(level); ++cluster) {
    std::set<std::string> layers;
    for (const std::size_t unit : tree.Cluster(level, cluster)) {
      const std::string& name = c->graph.ops[static_cast<std::size_t>(task.units.ops[unit].front())].name;
      layers.insert(name.substr(0, name.find('_')));
    }
    EXPECT_THAT(layers, SizeIs(1));
  }
}

// A level's clusters have kFactor times as many units as those of the level before, at most.
TEST(UnitTree, ClustersGrowByTheFactor) {
  Case c;
  for (int i = 0; i < 100; ++i)
    c.Add("op" + std::to_string(i), {1},
          i == 0 ? std::vector<sim::OpIndex>{} : std::vector<sim::OpIndex>{i - 1});
  c.UseGpus(2, false);
  const UnitTree tree = TreeOf(MakeTask(c.Finish(), ""));
  std::size_t most = 1;
  for (std::size_t level = 0; level < tree.levels.size(); ++level, most *= UnitTree::kFactor)
    EXPECT_THAT(Sizes(tree, level), Each(Le(most)));
  EXPECT_EQ(tree.Clusters(tree.levels.size() - 1), 1u);
}

// They would stay as many at each level, and a level of few clusters be none.
TEST(UnitTree, WhatSharesNothingComesTogether) {
  Case c;
  for (int i = 0; i < 64; ++i)
    c.Add("op" + std::to_string(i), {1},
          i == 0 ? std::vector<sim::OpIndex>{} : std::vector<sim::OpIndex>{i - 1});
  for (int i = 0; i < 36; ++i) c.Add("alone" + std::to_string(i), {1}, {});
  c.UseGpus(2, false);
  const UnitTree tree = TreeOf(MakeTask(c.Finish(), ""));
  const std::vector<std::size_t> small = Sizes(tree, 1);
  EXPECT_EQ(std::ranges::count(small, std::size_t{4}), std::ssize(small)) << "none is left alone";
  EXPECT_LE(tree.Clusters(tree.LevelOf(2)), 4u);
}

// Of what is cut off, small clusters do not make a level one of so many parts: a chain of 64 units, and one of 4.
TEST(UnitTree, PartsAreNearlyEven) {
  Case c;
  for (int i = 0; i < 68; ++i) {
    c.Add("op" + std::to_string(i), {1},
          i == 0 || i == 64 ? std::vector<sim::OpIndex>{} : std::vector<sim::OpIndex>{i - 1});
  }
  c.UseGpus(2, false);
  const UnitTree tree = TreeOf(MakeTask(c.Finish(), ""));
  const std::vector<std::size_t> sizes = Sizes(tree, tree.LevelOf(2));
  EXPECT_LE(std::ranges::max(sizes), 34u);
}

// A tensor ties once, also where the unit that writes it reads it, too. Unit U shares 3,000 bytes with B and 2,000 with A; at most
// four of the five units come together.
TEST(UnitTree, ATensorCountsOnceWhereItsWriterReadsIt) {
  Case c;
  c.Add("a", {1}, {}, 0);
  c.Add("behind_b", {1}, {}, 1'000'000);
  c.Add("b", {1}, {1}, 3000);
  c.Add("u", {1}, {2}, 2000);
  c.Add("a_reads", {1}, {3}, 1'000'000);
  c.Add("u_reads", {1}, {3}, 0);
  c.Add("behind_a", {1}, {4}, 0);
  c.graph.ops[0].colocate = c.graph.ops[4].colocate = "a";
  c.graph.ops[3].colocate = c.graph.ops[5].colocate = "u";
  c.UseGpus(2, false);
  const Task task = MakeTask(c.Finish(), "");
  ASSERT_EQ(task.units.ops.size(), 5u);
  const UnitTree tree = TreeOf(task);
  ASSERT_EQ(tree.Clusters(1), 2u);
  const auto cluster_of = [&](std::size_t op) {
    const auto unit = static_cast<std::size_t>(task.units.unit_of_op[op]);
    return std::ranges::find(tree.Cluster(1, 0), unit) != tree.Cluster(1, 0).end();
  };
  EXPECT_EQ(cluster_of(3), cluster_of(2));
  EXPECT_NE(cluster_of(3), cluster_of(0));
}

}  // namespace
}  // namespace stowplan::agents
