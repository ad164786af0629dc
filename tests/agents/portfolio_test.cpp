// The agent for those who do not want to choose one.
#include <algorithm>

#include <gtest/gtest.h>

#include "agents/agent.h"
#include "tests/agents/problems.h"

namespace stowplan::agents {
namespace {

constexpr const char* kPortfolio = "portfolio(plan=2000)";

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
    const sim::Picos found = BestOf(kPortfolio, task, 60);
    for (const char* rule : {"single_gpu", "cpu_only", "expert", "m_etf", "m_sct", "heft", "metis", "scotch"})
      EXPECT_LE(found, BestOf(rule, task, 10)) << rule << ", seed " << seed;
  }
}

// Its first samples are those of every rule, list scheduler and partitioner.
TEST(Portfolio, SamplesTheRulesAndSpendsTheRest) {
  const auto c = RandomCase(5, {.ops = 40, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const std::vector<UnitPlacement> sampled = Record(kPortfolio, task, 40);
  EXPECT_EQ(sampled.size(), 40u);
  for (const AgentRow& row : Agents()) {
    const bool constructs = row.kind == AgentKind::kBaseline || row.kind == AgentKind::kConstructive;
    if (!constructs || row.name == std::string("random")) continue;
    EXPECT_NE(std::find(sampled.begin(), sampled.end(), Record(row.name, task).front()), sampled.end())
        << row.name;
  }
  EXPECT_EQ(Record(kPortfolio, task, 3), std::vector<UnitPlacement>(sampled.begin(), sampled.begin() + 3));
}

// A rule that needs a device which is not there is left out.
TEST(Portfolio, TakesMachinesWithoutCpu) {
  const auto c = RandomCase(6, {.ops = 20, .gpus = 2, .cpu = false});
  const Task task = MakeTask(*c->problem, "");
  EXPECT_EQ(Record(kPortfolio, task, 20).size(), 20u);
}

}  // namespace
}  // namespace stowplan::agents
