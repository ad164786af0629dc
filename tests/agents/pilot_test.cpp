// stowplan's own search.
#include "agents/evaluator.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

double Milliseconds(sim::Picos time) {
  return static_cast<double>(time) / 1e9;
}

// What its levels are for: layers that only move as a whole are placed apart, so that their steps overlap. The control has the same
// screens, chains and moves, but for levels.
TEST(Pilot, BringsLayersTogether) {
  const auto c = RecurrentCase(6, 31);
  const Task task = MakeTask(*c->problem, "");
  UnitPlacement by_layer;
  for (const auto& ops : task.units.ops) {
    const std::string& name = c->graph.ops[static_cast<std::size_t>(ops.front())].name;
    by_layer.push_back(task.devices[static_cast<std::size_t>(name[5] - '0')]);
  }
  Evaluator layers(task, {.budget = 1});
  const double by_hand = Milliseconds(layers.Evaluate(by_layer).runtime);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto planned = [&](const std::string& agent) {
      Evaluator evaluator(task, {.budget = 1});
      MakeAgent(agent)->Search(task, evaluator, {.seed = seed});
      return Milliseconds(evaluator.best_runtime());
    };
    EXPECT_LT(planned("pilot(plan=8000)"), 1.05 * by_hand) << "seed " << seed;
    EXPECT_GT(planned("pilot(plan=8000,levels=no)"), 1.2 * by_hand) << "seed " << seed;
  }
}

// Its moves change at most half of the units, so what it samples next is near that best, and nowhere near a random start.
TEST(Pilot, GoesOnFromTheBestThatOthersSampled) {
  const auto c = RandomCase(7, {.ops = 80, .gpus = 3});
  const Task task = MakeTask(*c->problem, "");
  Evaluator evaluator(task, {.budget = 403});
  std::vector<UnitPlacement> sampled;
  evaluator.observer = [&](std::int64_t, const UnitPlacement& placement, const Evaluation&) {
    sampled.push_back(placement);
  };
  {
    Evaluator local(task, {.budget = 400});
    MakeAgent("local_search")->Search(task, local, {});
    evaluator.Evaluate(local.best());
  }
  MakeAgent("pilot(plan=0)")->Search(task, evaluator, {});
  for (std::size_t i = 2; i < 10; ++i) {
    std::size_t moved = 0;
    for (std::size_t unit = 0; unit < sampled[i].size(); ++unit)
      moved += sampled[i][unit] != sampled[0][unit];
    EXPECT_LE(moved, sampled[i].size() / 2) << "sample " << i;
  }
}

// Without a plan it looks at its fresh chains, and at what others found.
TEST(Pilot, WithoutAPlanItSamplesTheBestOfItsChains) {
  const auto c = RandomCase(7, {.ops = 80, .gpus = 3});
  const Task task = MakeTask(*c->problem, "");
  const auto first = [&](const UnitPlacement* known) {
    Evaluator evaluator(task, {.budget = known != nullptr ? 2 : 1});
    if (known != nullptr) evaluator.Evaluate(*known);
    MakeAgent("pilot(plan=0,chains=64)")->Search(task, evaluator, {});
    return evaluator.best_runtime();
  };
  UnitPlacement worse;  // than the best of so many by chance
  for (std::size_t unit = 0; unit < task.units.ops.size(); ++unit)
    worse.push_back(task.devices[unit % task.devices.size()]);
  EXPECT_EQ(first(&worse), first(nullptr));
}

}  // namespace
}  // namespace stowplan::agents
