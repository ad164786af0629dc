#include "agents/rl/one_shot_learner.h"

#include <ATen/ATen.h>

#include "agents/rl/nn/categorical.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

// The smallest policy there is: independent logits for each unit, all tasks alike.
class TablePolicy : public Policy {
 public:
  explicit TablePolicy(const std::vector<const Task*>& tasks)
      : tasks_(tasks),
        parameters_{at::zeros({tasks[0]->units.size(), static_cast<std::int64_t>(tasks[0]->devices.size())})
                        .set_requires_grad(true)} {}

  Draws Draw(std::size_t task, std::int64_t count, const Moment&, Rng* rng) override {
    const at::Tensor& logits = parameters_[0];
    const DrawnActions drawn = DrawActions(logits.repeat({count, 1}), rng);
    Draws draws;
    draws.kinds = {{drawn.actions.view({count, -1}), drawn.log_probability.view({count, -1}), {}, 1}};
    const std::int64_t* const slots = drawn.actions.data_ptr<std::int64_t>();
    const auto units = static_cast<std::size_t>(logits.size(0));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      draws.placements.push_back(PlacementOfSlots(*tasks_[task], {slots + i * units, units}));
    return draws;
  }
  std::vector<ActionTerms> Evaluate(std::size_t, const Draws& draws) const override {
    const at::Tensor& actions = draws.kinds[0].actions;
    return {TermsOfActions(parameters_[0].expand({actions.size(0), -1, -1}), actions)};
  }
  const Tensors& parameters() const override { return parameters_; }
  void Save(StateWriter& out) const override { SaveTensor(parameters_[0], out); }
  void Load(StateReader& in) override { LoadTensor(in, parameters_[0]); }

 private:
  std::vector<const Task*> tasks_;
  Tensors parameters_;
};

struct TableRun {
  TableRun(const Task& task, const OneShotOptions& options, std::int64_t budget,
           const SearchOptions& search = {})
      : evaluator(task, {.budget = budget}),
        learner("table", options, std::make_unique<TablePolicy>(std::vector<const Task*>{&task}), {&task},
                {&evaluator}, search) {
    learner.on_update = [this](const UpdateRecord& record) { records.push_back(record); };
  }

  Evaluator evaluator;
  OneShotLearner learner;
  std::vector<UpdateRecord> records;
};

TEST(OneShotLearner, LearnsFromWholeBatchesAndCountsGreedyDraws) {
  const auto made = MakeTestTask(RandomDag(5, 1));
  TableRun run(made->task, {.batch = 8, .greedy = 2}, 45);
  run.learner.Run();
  // 8, 16, one greedy, 25, 33, one greedy, 42, and three that no update follows.
  std::vector<std::int64_t> samples;
  for (const UpdateRecord& record : run.records) samples.push_back(record.samples);
  EXPECT_EQ(samples, (std::vector<std::int64_t>{8, 16, 25, 33, 42}));
  EXPECT_EQ(run.evaluator.proposals(), 45);
}

// One unit, two devices, logits 0: p = 1/2, entropy log 2; the loss of the first update is
// -sum over draws of A / n log p - weight log 2, and leave-one-out advantages sum to 0.
TEST(OneShotLearner, FirstUpdateOfOneDecisionEqualsTheClosedForm) {
  const auto made = MakeTestTask({{100, 0, {}}});
  for (const auto algorithm : {OneShotOptions::Algorithm::kReinforce, OneShotOptions::Algorithm::kPpo}) {
    TableRun run(made->task, {.algorithm = algorithm, .batch = 8, .entropy = {0.3, 0, 1}}, 8);
    run.learner.Run();
    ASSERT_EQ(run.records.size(), 1u);
    EXPECT_NEAR(run.records[0].entropy, std::log(2), 1e-6);
    EXPECT_NEAR(run.records[0].loss, -0.3 * std::log(2), 1e-6);
    EXPECT_LT(run.records[0].drift, 1e-6);
  }
}

TEST(OneShotLearner, EachLearnerFindsTheOptimumOfATinyGraph) {
  const auto made = MakeTestTask(Branches(2, 300, 50'000));
  const sim::Picos optimum = BruteForceOptimum(made->task);
  using Algorithm = OneShotOptions::Algorithm;
  for (const OneShotOptions& options :
       {OneShotOptions{.learning_rate = {0.02, 0.02, 1}},
        OneShotOptions{.algorithm = Algorithm::kPpo, .learning_rate = {0.01, 0.01, 1}, .minibatches = 2},
        OneShotOptions{.baseline = Baseline::kMovingAverage, .learning_rate = {0.02, 0.02, 1}},
        OneShotOptions{
            .baseline = Baseline::kRunningMean, .mean = false, .learning_rate = {0.02, 0.02, 1}}}) {
    TableRun run(made->task, options, 4000);
    run.learner.Run();
    EXPECT_EQ(run.evaluator.best_runtime(), optimum);
    // The policy itself, not only its luckiest draw.
    TableRun applied(made->task, options, 10, {.learn = false});
    applied.learner.ReadWeights(run.learner.WriteWeights(), "run");
    applied.learner.Run();
    EXPECT_EQ(applied.evaluator.samples(), 1);
    EXPECT_EQ(applied.evaluator.best_runtime(), optimum);
  }
}

// Two units of 6 GB on cards of 10 GB: together is faster and does not fit.
TEST(OneShotLearner, LearnsToFit) {
  const auto made = MakeTestTask(
      {{100'000, 1'000'000'000, {}, 4'000'000'000}, {100'000, 0, {0}, 6'000'000'000}}, 2, 10'000'000'000);
  for (const OneShotOptions& options :
       {OneShotOptions{.learning_rate = {0.02, 0.02, 1}},
        OneShotOptions{.reward = Reward::kRoot, .learning_rate = {0.02, 0.02, 1}}}) {
    TableRun run(made->task, options, 1600);
    run.learner.Run();
    TableRun applied(made->task, options, 1, {.learn = false});
    applied.learner.ReadWeights(run.learner.WriteWeights(), "run");
    applied.learner.Run();
    EXPECT_TRUE(applied.evaluator.has_best());
  }
}

// Three equal choices for each unit; a step that is not made has no gradient.
TEST(OneShotLearner, LearningRateZeroLogsTheFreshPolicy) {
  const auto made = MakeTestTask(RandomDag(6, 2), 3);
  TableRun run(made->task, {.batch = 8, .learning_rate = {0, 0, 1}, .entropy = {0.3, 0.3, 1}}, 16);
  run.learner.Run();
  ASSERT_EQ(run.records.size(), 2u);
  for (const UpdateRecord& record : run.records) {
    EXPECT_NEAR(record.entropy, std::log(3), 1e-6);
    EXPECT_NEAR(record.entropy_weight, 0.3, 1e-12);
    EXPECT_TRUE(std::isnan(record.gradient_norm));
    EXPECT_TRUE(std::isnan(record.loss));
  }
}

// A held entropy that falls below its target gets more weight with each update, but no more than is allowed.
TEST(OneShotLearner, WeightOfAHeldEntropyHasACeiling) {
  const auto made = MakeTestTask(Branches(2, 300, 50'000));
  const auto most_weight = [&](double entropy_most) {
    TableRun run(made->task,
                 {.learning_rate = {0.1, 0.1, 1},
                  .entropy = {0.02, 0, 1},
                  .target = {1, 1, 1},
                  .entropy_most = entropy_most},
                 1600);
    run.learner.Run();
    double most = 0;
    for (const UpdateRecord& record : run.records) most = std::max(most, record.entropy_weight);
    return most;
  };
  EXPECT_GT(most_weight(1), 0.05);
  EXPECT_EQ(most_weight(0.03), 0.03);
}

// Nothing fits: with `valid_update` no draw is learned from after that update, so the weights stay.
TEST(OneShotLearner, OnlyFeasibleDrawsTeachFromTheGivenUpdateOn) {
  const auto made = MakeTestTask({{100, 1000, {}, 900}, {100, 1000, {0}, 900}}, 2, 1000);
  TableRun all(made->task, {.entropy = {0, 0, 1}}, 64),
      none(made->task, {.valid_part = 0, .entropy = {0, 0, 1}}, 64);
  all.learner.Run();
  none.learner.Run();
  EXPECT_FALSE(all.evaluator.has_best());
  EXPECT_GT(all.learner.policy().parameters()[0].abs().max().item<double>(), 0);
  EXPECT_EQ(none.learner.policy().parameters()[0].abs().max().item<double>(), 0);
  EXPECT_EQ(none.records.back().episodes, 0);
}

TEST(OneShotOptions, StaircaseOfTheLearningRate) {
  const OneShotOptions options{
      .learning_rate = {0.1, 0.1, 1}, .step_factor = 0.5, .step_from = 400, .step_every = 50};
  EXPECT_DOUBLE_EQ(options.LearningRateAt(0.3, 449), 0.1);
  EXPECT_DOUBLE_EQ(options.LearningRateAt(0.3, 450), 0.05);
  EXPECT_DOUBLE_EQ(options.LearningRateAt(0.3, 500), 0.025);
}

}  // namespace
}  // namespace stowplan::agents::rl
