// The control learner learns what needs no features, and does not where it may not.
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

constexpr std::int64_t kBudget = 30000;
constexpr std::int64_t kWindow = 200;

struct Means {
  double first = 0;  // of the runtimes of the first kWindow samples, relative to the ideal
  double last = 0;
};

Means MeansOf(const std::string& agent, const Task& task, double ideal_us) {
  Evaluator evaluator(task, {.budget = kBudget});
  Means means;
  evaluator.observer = [&](std::int64_t sample, const UnitPlacement&, const Evaluation& evaluation) {
    const double part = static_cast<double>(evaluation.runtime) / (ideal_us * 1e6) / kWindow;
    if (sample <= kWindow) means.first += part;
    if (sample > kBudget - kWindow) means.last += part;
  };
  MakeAgent(agent)->Search(task, evaluator, {.seed = 1});
  return means;
}

// 64 equal ops that know nothing of one another: what counts is that each device gets as many.
TEST(Factored, BalancesIndependentOps) {
  for (const int gpus : {2, 4}) {
    Case c;
    for (int i = 0; i < 64; ++i) c.Add("op" + std::to_string(i), {100});
    c.UseGpus(gpus, /*cpu=*/false);
    const Task task = MakeTask(c.Finish(), "");
    const double ideal_us = 64 * 100.0 / gpus;
    SCOPED_TRACE(gpus);
    const Means means = MeansOf("factored", task, ideal_us);
    EXPECT_LT(means.last - 1, 0.5 * (means.first - 1));
    const Means untrained = MeansOf("factored(lr=0)", task, ideal_us);
    EXPECT_GT(untrained.last - 1, 0.8 * (untrained.first - 1));
  }
}

// Two chains of 32 ops whose tensors are dear to send: one chain a device.
TEST(Factored, KeepsChainsTogether) {
  Case c;
  for (int chain = 0; chain < 2; ++chain) {
    sim::OpIndex last = -1;
    for (int i = 0; i < 32; ++i) {
      std::vector<sim::OpIndex> inputs;
      if (i > 0) inputs.push_back(last);
      c.Add("chain" + std::to_string(chain) + "_" + std::to_string(i), {100}, inputs, 1'000'000);
      last = static_cast<sim::OpIndex>(c.graph.ops.size()) - 1;
    }
  }
  c.UseGpus(2, /*cpu=*/false);
  const Task task = MakeTask(c.Finish(), "");
  for (const std::string weights : {"mean", "top"}) {
    SCOPED_TRACE(weights);
    EXPECT_LT(MeansOf("factored(action=copy,weights=" + weights + ")", task, 32 * 100.0).last, 1.1);
    // A device for each op by itself gets better, and ends at pieces of chains.
    const Means means = MeansOf("factored(weights=" + weights + ")", task, 32 * 100.0);
    EXPECT_LT(means.last - 1, 0.6 * (means.first - 1));
  }
}

// A walk draws from its best placement, and moves as many units as it is told to.
TEST(Factored, WalksFromTheBest) {
  Case c;
  for (int i = 0; i < 64; ++i) c.Add("op" + std::to_string(i), {100});
  c.UseGpus(3, /*cpu=*/false);
  const Task task = MakeTask(c.Finish(), "");
  for (const std::string lr : {"0", "0.3"}) {
    SCOPED_TRACE(lr);
    Evaluator evaluator(task, {.budget = 4000});
    std::vector<UnitPlacement> batch;
    double moved = 0, drawn = 0;
    evaluator.observer = [&](std::int64_t sample, const UnitPlacement& placement, const Evaluation&) {
      if (sample > 20) {
        // The best is that of before the batch: 20 draws are evaluated together.
        int different = 0;
        for (std::size_t u = 0; u < placement.size(); ++u) different += placement[u] != batch.front()[u];
        moved += different;
        ++drawn;
      }
      if (sample % 20 == 0) batch.assign(1, evaluator.best());
    };
    MakeAgent("factored(action=walk,moves=4,lr=" + lr + ")")->Search(task, evaluator, {.seed = 1});
    EXPECT_NEAR(moved / drawn, 4, 0.4);
  }
}

// Two chains, as above: who learns which moves pay ends lower than who moves any unit.
TEST(Factored, WalksLearnWhatPays) {
  Case c;
  for (int chain = 0; chain < 2; ++chain) {
    for (int i = 0; i < 16; ++i) {
      std::vector<sim::OpIndex> inputs;
      if (i > 0) inputs.push_back(static_cast<sim::OpIndex>(c.graph.ops.size()) - 1);
      c.Add("chain" + std::to_string(chain) + "_" + std::to_string(i), {100}, inputs, 1'000'000);
    }
  }
  c.UseGpus(2, /*cpu=*/false);
  const Task task = MakeTask(c.Finish(), "");
  const Means learned = MeansOf("factored(action=walk,lr=0.3)", task, 16 * 100.0);
  EXPECT_LT(learned.last - 1, 0.8 * (MeansOf("factored(action=walk,lr=0)", task, 16 * 100.0).last - 1));
}

// Draws of action=copy are coherent before anything is learned; those of action=device are not.
TEST(Factored, CopiesItsNeighbourFromTheFirstSample) {
  Case c;
  for (int i = 0; i < 64; ++i) {
    std::vector<sim::OpIndex> inputs;
    if (i > 0) inputs.push_back(i - 1);
    c.Add("op" + std::to_string(i), {100}, inputs);
  }
  c.UseGpus(2, /*cpu=*/false);
  const Task task = MakeTask(c.Finish(), "");
  const auto borders = [&](const std::string& agent) {
    std::int64_t count = 0;
    for (const UnitPlacement& placement : Record(agent, task, 100)) {
      for (std::size_t unit = 1; unit < placement.size(); ++unit)
        count += placement[unit] != placement[unit - 1];
    }
    return static_cast<double>(count) / (100.0 * 63);
  };
  EXPECT_NEAR(borders("factored(action=copy,stay=0.9,lr=0)"), 0.1, 0.02);
  EXPECT_NEAR(borders("factored(lr=0)"), 0.5, 0.03);
}

TEST(Factored, SpendsTheBudgetWhereThereIsOneDevice) {
  Case c;
  c.Add("op", {100});
  c.UseGpus(1, /*cpu=*/false);
  const Task task = MakeTask(c.Finish(), "");
  for (const std::string action : {"device", "copy"})
    EXPECT_EQ(Record("factored(action=" + action + ")", task, 50).size(), 50u);
}

}  // namespace
}  // namespace stowplan::agents
