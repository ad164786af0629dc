#include "agents/rl/losses.h"

#include <ATen/ATen.h>

#include "agents/rl/nn/categorical.h"
#include "tests/agents/rl/gradient_check.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

// 3 rows of 4 decisions between 5 choices.
struct Example {
  at::Tensor logits = RandomTensor({3, 4, 5}, 1, 2).set_requires_grad(true);
  at::Tensor actions = at::tensor({0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}, at::kLong).view({3, 4});
  at::Tensor weights = at::tensor({0.5, -1.0, 2.0}, at::kDouble);

  ActionTerms Terms() const { return TermsOfActions(logits, actions); }
};

TEST(PpoLoss, FirstEpochHasTheGradientOfReinforce) {
  const Example e;
  const at::Tensor old = e.Terms().log_probability.detach();
  const at::Tensor ppo = Gradients(PpoLoss(e.Terms(), old, e.weights, 0.2, 0.3), {e.logits})[0];
  const at::Tensor reinforce = Gradients(ReinforceLoss(e.Terms(), e.weights, 0.3, true), {e.logits})[0];
  EXPECT_LT((ppo - reinforce).abs().max().item<double>(), 1e-15);
  EXPECT_GT(ppo.abs().max().item<double>(), 0.01);
}

TEST(PpoLoss, GradientAwayFromTheFirstEpoch) {
  const Example e;
  const at::Tensor old = e.Terms().log_probability.detach() + RandomTensor({3, 4}, 2, 0.1);
  ExpectGradient([&] { return PpoLoss(e.Terms(), old, e.weights, 0.2, 0.3); }, {e.logits}, 100);
}

// Ratio 2 with range 0.2: a good action is pushed no further, a bad one still is pushed back.
TEST(PpoLoss, RatiosOutsideTheRangeStopOnTheGoodSideOnly) {
  const Example e;
  const at::Tensor old = e.Terms().log_probability.detach() - std::log(2.0);
  const at::Tensor gradient = Gradients(PpoLoss(e.Terms(), old, e.weights, 0.2, 0), {e.logits})[0];
  EXPECT_EQ(gradient[0].abs().max().item<double>(), 0);
  EXPECT_GT(gradient[1].abs().max().item<double>(), 0);
  // -min(2 w, 1.2 w): 1.2 x -0.5, 2 x 1, 1.2 x -2.
  EXPECT_NEAR(PpoLoss(e.Terms(), old, e.weights, 0.2, 0).item<double>(), -0.6 + 2 - 2.4, 1e-12);
}

TEST(ReinforceLoss, SumsOrAveragesOverDecisions) {
  const Example e;
  const double sum = ReinforceLoss(e.Terms(), e.weights, 0.3, false).item<double>();
  EXPECT_NEAR(ReinforceLoss(e.Terms(), e.weights, 0.3, true).item<double>(), sum / 4, 1e-12);
  ExpectGradient([&] { return ReinforceLoss(e.Terms(), e.weights, 0.3, false); }, {e.logits}, 100);
}

TEST(DrawActions, FollowsTheProbabilitiesAndTellsThem) {
  const at::Tensor logits = at::tensor({0.1, 0.2, 0.7}, at::kDouble).log().expand({20'000, 3});
  Rng rng(1, "test");
  const DrawnActions drawn = DrawActions(logits, &rng);
  const at::Tensor parts = at::one_hot(drawn.actions, 3).to(at::kDouble).mean(0);
  // Standard deviation of a part: at most 0.5 / sqrt(20,000) = 0.0035.
  EXPECT_NEAR(parts[0].item<double>(), 0.1, 0.015);
  EXPECT_NEAR(parts[2].item<double>(), 0.7, 0.015);
  EXPECT_NEAR(drawn.log_probability[0].exp().item<double>(), 0.1 * std::pow(2, drawn.actions[0].item<int>()),
              0.31);
  const DrawnActions greedy = DrawActions(at::tensor({1.0, 3.0, 3.0, 2.0}).view({1, 4}), nullptr);
  EXPECT_EQ(greedy.actions.item<std::int64_t>(), 1) << "the first of equals";
}

// What episodes draw together is what each draws alone, to the last bit.
TEST(DrawActions, RowsDoNotDependOnWhoIsBesideThem) {
  Rng rng(1, "test"), same(1, "test");
  for (const std::int64_t choices : {2, 3, 4, 8}) {
    const at::Tensor logits = (7 * DrawNormal({5, choices}, at::kDouble, rng)).to(at::kFloat);
    same = rng;
    std::vector<double> uniforms(5);
    for (double& uniform : uniforms) uniform = same.Uniform();
    const DrawnActions together = DrawActions(logits, uniforms);
    for (std::int64_t row = 0; row < 5; ++row) {
      const DrawnActions alone = DrawActions(logits.narrow(0, row, 1), &rng);
      EXPECT_TRUE(at::equal(together.actions.narrow(0, row, 1), alone.actions));
      EXPECT_TRUE(at::equal(together.log_probability.narrow(0, row, 1), alone.log_probability));
    }
    const DrawnActions likeliest = DrawActions(logits, std::span<const double>());
    EXPECT_TRUE(at::equal(likeliest.actions, DrawActions(logits, nullptr).actions));
  }
}

TEST(DrawNormal, HasMeanZeroAndDeviationOne) {
  Rng rng(1, "test");
  const at::Tensor values = DrawNormal({10'001}, at::kDouble, rng);
  EXPECT_NEAR(values.mean().item<double>(), 0, 0.05);
  EXPECT_NEAR(values.std().item<double>(), 1, 0.05);
}

}  // namespace
}  // namespace stowplan::agents::rl
