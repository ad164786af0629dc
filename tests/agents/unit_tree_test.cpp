#include "agents/unit_tree.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agents/evaluator.h"
#include "tests/agents/problems.h"

namespace berth::agents {
namespace {

using testing::SizeIs;

// Every level parts the units, in clusters each of which is a union of clusters below.
RC_GTEST_PROP(UnitTree, LevelsAreUnionsOfThoseBelow, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  const auto c = RandomCase(seed, {.ops = *rc::gen::inRange(1, 80), .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const UnitTree tree = MakeUnitTree(task);
  RC_ASSERT(tree.order == MakeUnitTree(task).order);
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

// Layers of a recurrent model, unrolled: each step reads its layer's weights, the layer below and the step before, and has a
// gradient as large as the weights, which the layer sums. Ties to other layers are as many, but of states.
void AddRecurrent(int layers, int steps, Case& c) {
  constexpr sim::Bytes kWeights = 100'000'000;
  constexpr sim::Bytes kState = 1'000'000;
  std::vector<sim::OpIndex> below(static_cast<std::size_t>(steps), -1);
  sim::OpIndex next = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    c.Add(name, {0}, {}, kWeights);
    const sim::OpIndex weights = next++;
    std::vector<sim::OpIndex> gradients;
    sim::OpIndex before = -1;
    for (int step = 0; step < steps; ++step) {
      std::vector<sim::OpIndex> inputs = {weights};
      if (before >= 0) inputs.push_back(before);
      sim::OpIndex& under = below[static_cast<std::size_t>(step)];
      if (under >= 0) inputs.push_back(under);
      c.Add(name + "_" + std::to_string(step), {1000}, inputs, kState);
      before = under = next++;
      c.Add(name + "_gradient" + std::to_string(step), {1000}, {before}, kWeights);
      gradients.push_back(next++);
    }
    c.Add(name + "_sum", {1000}, gradients, 0);
    ++next;
  }
  c.UseGpus(layers, false);
}

TEST(UnitTree, StepsOfALayerAreTiedByItsWeights) {
  Case c;
  AddRecurrent(3, 7, c);
  const Task task = MakeTask(c.Finish(), "");
  const UnitTree tree = MakeUnitTree(task);
  const std::size_t level = tree.LevelOf(3);
  ASSERT_EQ(tree.Clusters(level), 3u);
  for (std::size_t cluster = 0; cluster < 3; ++cluster) {
    std::set<std::string> layers;
    for (const std::size_t unit : tree.Cluster(level, cluster)) {
      const std::string& name = c.graph.ops[static_cast<std::size_t>(task.units.ops[unit].front())].name;
      layers.insert(name.substr(0, name.find('_')));
    }
    EXPECT_THAT(layers, SizeIs(1));
    EXPECT_THAT(tree.Cluster(level, cluster), SizeIs(16));
  }
}

// What the tree is for: layers that only move as a whole are placed apart, so that their steps overlap. The control has the
// same screens, chains and moves, but for levels.
TEST(Pilot, BringsLayersTogether) {
  Case c;
  AddRecurrent(6, 31, c);
  const Task task = MakeTask(c.Finish(), "");
  const auto best = [&](const std::string& agent) {
    Evaluator evaluator(task, {.budget = 1});
    MakeAgent(agent)->Search(task, evaluator, {.seed = 1});
    return static_cast<double>(evaluator.best_runtime()) / 1e9;  // [ms]
  };
  UnitPlacement by_layer;
  for (const auto& ops : task.units.ops) {
    const std::string& name = c.graph.ops[static_cast<std::size_t>(ops.front())].name;
    by_layer.push_back(task.devices[static_cast<std::size_t>(name[5] - '0')]);
  }
  Evaluator layers(task, {.budget = 1});
  const double runtime = static_cast<double>(layers.Evaluate(by_layer).runtime) / 1e9;
  EXPECT_LT(best("pilot(plan=8000)"), 1.05 * runtime);
  EXPECT_GT(best("pilot(plan=8000,levels=no)"), 1.2 * runtime);
}

}  // namespace
}  // namespace berth::agents
