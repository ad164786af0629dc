// The agent for those who do not want to choose one.
#include <algorithm>

#include <gtest/gtest.h>

#include "agents/agent.h"
#include "tests/agents/problems.h"

namespace berth::agents {
namespace {

sim::Picos BestOf(const std::string& agent, const Task& task, std::int64_t budget) {
  Evaluator evaluator(task, {.budget = budget});
  MakeAgent(agent)->Search(task, evaluator, {});
  EXPECT_LE(evaluator.samples(), budget);
  return evaluator.has_best() ? evaluator.best_runtime() : std::numeric_limits<sim::Picos>::max();
}

TEST(Portfolio, IsNeverBehindAnyRule) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto c = RandomCase(seed, {.ops = 60, .gpus = 3, .tight_memory = seed % 2 == 0});
    const Task task = MakeTask(*c->problem, "");
    const sim::Picos found = BestOf("portfolio", task, 60);
    for (const char* rule : {"single_gpu", "cpu_only", "expert", "m_etf", "m_sct", "heft", "metis", "scotch"})
      EXPECT_LE(found, BestOf(rule, task, 10)) << rule << ", seed " << seed;
  }
}

// Its first samples are those of every rule, list scheduler and partitioner.
TEST(Portfolio, SamplesTheRulesAndSpendsTheRest) {
  const auto c = RandomCase(5, {.ops = 40, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const std::vector<UnitPlacement> sampled = Record("portfolio", task, 40);
  EXPECT_EQ(sampled.size(), 40u);
  for (const AgentRow& row : Agents()) {
    const bool constructs = row.kind == AgentKind::kBaseline || row.kind == AgentKind::kConstructive;
    if (!constructs || row.name == std::string("random")) continue;
    EXPECT_NE(std::find(sampled.begin(), sampled.end(), Record(row.name, task).front()), sampled.end())
        << row.name;
  }
  EXPECT_EQ(Record("portfolio", task, 3), std::vector<UnitPlacement>(sampled.begin(), sampled.begin() + 3));
}

// A rule that needs a device which is not there is left out.
TEST(Portfolio, TakesMachinesWithoutCpu) {
  const auto c = RandomCase(6, {.ops = 20, .gpus = 2, .cpu = false});
  const Task task = MakeTask(*c->problem, "");
  EXPECT_EQ(Record("portfolio", task, 20).size(), 20u);
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

}  // namespace
}  // namespace berth::agents
