#include "agents/rl/reinforce.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agents/rl/nn/optimiser.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

TEST(LinearSchedule, FallsUntilAndThenStays) {
  const LinearSchedule schedule{0.1, 0.001, 0.7};
  EXPECT_DOUBLE_EQ(schedule.At(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.At(0.35), 0.0505);  // half way: (0.1 + 0.001) / 2
  EXPECT_DOUBLE_EQ(schedule.At(0.7), 0.001);
  EXPECT_DOUBLE_EQ(schedule.At(1), 0.001);
}

RC_GTEST_PROP(Returns, Telescope, ()) {
  const auto ticks = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000'000)));
  // Multiples of 1/64: sums and differences are exact, so equality is too.
  std::vector<double> costs;
  for (const int tick : ticks) costs.push_back(tick / 64.0);
  const std::vector<double> returns = ReturnsOfDecreases(costs);
  RC_ASSERT(returns.size() + 1 == costs.size());
  for (std::size_t t = 0; t < returns.size(); ++t) RC_ASSERT(returns[t] == costs[t] - costs.back());
}

TEST(Returns, ToTheBestLaterPlacement) {
  const std::vector<double> costs = {5, 3, 4, 2, 6};
  EXPECT_EQ(ReturnsToTheBestLater(costs), (std::vector<double>{3, 1, 2, -4}));
}

TEST(StepBaseline, MeanOfTheLastUpdatesWithTheCurrentOne) {
  StepBaseline baseline(2);
  // Two parallel episodes of two steps: mean {2, 4}.
  EXPECT_EQ(baseline.Update({{1, 3}, {3, 5}}), (std::vector<double>{2, 4}));
  // Window {2, 4}, {6, 0}.
  EXPECT_EQ(baseline.Update({{6, 0}}), (std::vector<double>{4, 2}));
  // The first update has left: {6, 0}, {0, 8}.
  StateWriter out;
  baseline.Save(out);
  const std::string bytes = out.Take();
  StepBaseline restored(2);
  StateReader in(bytes, "baseline");
  restored.Load(in, 2);
  EXPECT_EQ(baseline.Update({{0, 8}}), (std::vector<double>{3, 4}));
  EXPECT_EQ(restored.Update({{0, 8}}), (std::vector<double>{3, 4}));
  StateReader of_more_steps(bytes, "baseline"), of_more_updates(bytes, "baseline");
  EXPECT_THROW(restored.Load(of_more_steps, 3), InputError);
  EXPECT_THROW(StepBaseline(1).Load(of_more_updates, 2), InputError);
}

// One unit, two devices, logits (a, b), p = sigmoid(a - b) for the first: d(-A log p)/da = -A (1 - p) and
// d/db = A (1 - p) if the first is taken; with the entropy H = -p log p - q log q, dH/da = p q (log q - log
// p) = -dH/db.
TEST(PolicyLoss, GradientOfOneDecisionEqualsTheClosedForm) {
  for (const double a : {-1.3, 0.0, 0.4, 2.5}) {
    for (const double advantage : {-2.0, 0.75}) {
      for (const std::int64_t action : {0, 1}) {
        const double b = 0.2, weight = 0.3;
        at::Tensor logits = at::tensor({a, b}, at::kDouble).view({1, 2}).set_requires_grad(true);
        const at::Tensor loss =
            PolicyLoss(TermsOfActions(logits, IndexTensor({action})), {advantage}, weight);
        const at::Tensor gradient = Gradients(loss, {logits}).front();
        const double p = 1 / (1 + std::exp(b - a)), q = 1 - p;
        const double policy = action == 0 ? -advantage * q : advantage * p;
        const double entropy = p * q * (std::log(q) - std::log(p));
        EXPECT_NEAR(gradient[0][0].item<double>(), policy - weight * entropy, 1e-12);
        EXPECT_NEAR(gradient[0][1].item<double>(), -(policy - weight * entropy), 1e-12);
      }
    }
  }
}

// Expected gradient of REINFORCE over both actions with rewards r0, r1 and any baseline = gradient of the
// expected reward, p q (r0 - r1), with the sign of a loss.
TEST(PolicyLoss, ExpectedGradientIsThatOfTheExpectedReward) {
  const double a = 0.7, b = -0.4, r0 = 3, r1 = 1;
  const double p = 1 / (1 + std::exp(b - a)), q = 1 - p;
  for (const double baseline : {0.0, 2.0, -5.0}) {
    double expected = 0;
    for (const std::int64_t action : {0, 1}) {
      at::Tensor logits = at::tensor({a, b}, at::kDouble).view({1, 2}).set_requires_grad(true);
      const double advantage = (action == 0 ? r0 : r1) - baseline;
      const at::Tensor gradient =
          Gradients(PolicyLoss(TermsOfActions(logits, IndexTensor({action})), {advantage}, 0), {logits})
              .front();
      expected += (action == 0 ? p : q) * gradient[0][0].item<double>();
    }
    EXPECT_NEAR(expected, -p * q * (r0 - r1), 1e-12) << "baseline " << baseline;
  }
}

TEST(TermsOfActions, EntropyWithAFloor) {
  const at::Tensor logits = at::zeros({1, 4}, at::kDouble);
  EXPECT_NEAR(TermsOfActions(logits, IndexTensor({2})).entropy.item<double>(), std::log(4.0), 1e-12);
  EXPECT_NEAR(TermsOfActions(logits, IndexTensor({2}), 1e-3).entropy.item<double>(), -std::log(0.251), 1e-12);
  EXPECT_NEAR(TermsOfActions(logits, IndexTensor({2})).log_probability.item<double>(), -std::log(4.0), 1e-12);
}

// Adam's first step is learning rate * sign of the gradient (up to its epsilon); the norm is that before the
// clip.
TEST(Optimiser, ClipsAndSteps) {
  at::Tensor x = at::zeros({2}, at::kDouble).set_requires_grad(true);
  Optimiser optimiser({x});
  EXPECT_NEAR(optimiser.Step({at::tensor({3.0, -4.0}, at::kDouble)}, 0.01, 1.25), 5, 1e-12);
  EXPECT_NEAR(x[0].item<double>(), -0.01, 1e-9);
  EXPECT_NEAR(x[1].item<double>(), 0.01, 1e-9);
}

TEST(Optimiser, StateRoundTripsBitForBit) {
  Rng rng(5, "test");
  at::Tensor x = at::zeros({4}).set_requires_grad(true);
  at::Tensor y = at::zeros({4}).set_requires_grad(true);
  const auto gradient = [&rng] {
    return at::tensor({rng.Uniform(), -rng.Uniform(), rng.Uniform(), -rng.Uniform()}, at::kFloat);
  };
  Optimiser first({x});
  for (int i = 0; i < 3; ++i) first.Step({gradient()}, 0.1, 0.5);
  StateWriter out;
  first.Save(out);
  SaveTensor(x, out);
  const std::string bytes = out.Take();
  Optimiser second({y});
  second.Step({gradient()}, 0.3, 9);  // overwritten by the load
  StateReader in(bytes, "optimiser");
  second.Load(in);
  LoadTensor(in, y);
  in.Finish();
  for (int i = 0; i < 3; ++i) {
    const at::Tensor next = gradient();
    first.Step({next}, 0.1, 0.5);
    second.Step({next}, 0.1, 0.5);
    EXPECT_TRUE(at::equal(x, y)) << "step " << i;
  }
}

TEST(Optimiser, RateZeroChangesNothing) {
  at::Tensor x = at::ones({3}).set_requires_grad(true);
  Optimiser optimiser({x});
  optimiser.Step({at::tensor({1.0F, -7.0F, 0.0F})}, 0, 1);
  EXPECT_TRUE(at::equal(x, at::ones({3})));
}

TEST(LoadTensor, RefusesAnotherShape) {
  StateWriter out;
  SaveTensor(at::zeros({2, 3}), out);
  const std::string bytes = out.Take();
  at::Tensor wrong = at::zeros({3, 2});
  StateReader in(bytes, "tensor");
  EXPECT_THROW(LoadTensor(in, wrong), InputError);
}

}  // namespace
}  // namespace stowplan::agents::rl
