#include "agents/rl/features/offers.h"

#include <ATen/ATen.h>

#include "agents/rl/features/unit_features.h"
#include "agents/rl/nn/categorical.h"
#include "agents/rl/nn/stay.h"
#include "tests/agents/rl/gradient_check.h"
#include "tests/agents/rl/test_task.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

Offers::Units UnitsOf(const Task& task) {
  return Offers(true, 1, at::kDouble).UnitsOf(task, UnitGraph(task, /*reach=*/false).order());
}

// Three ops of 100, 100 and 300 us that exchange nothing, on two equal devices.
TEST(Offers, AreThoseOfTheScheduleSoFar) {
  const auto made = MakeTestTask({{100, 0, {}}, {100, 0, {}}, {300, 0, {}}});
  const Offers::Units units = UnitsOf(made->task);
  Offers::Haste haste{at::ones({1, 3}, at::kDouble), {&units}};
  const at::Tensor delays = Offers::MetBy(haste, IndexTensor({0, 0, 1, 0, 1, 1}).view({2, 3}));
  // Later by 0; by its own length; by 200 us where its own is 300. And in the second row by 0.
  const at::Tensor expected =
      at::tensor({0., 0., 0.5, 0., 0.4, 0., 0., 0., 0.5, 0., 0., 0.}, at::kDouble).view({2, 3, 2});
  EXPECT_LT(Difference(delays, expected), 1e-12);
}

// Groups of 10, 30, none and 20 on one device, of twice that on the other, and in the second sequence groups of 10 and 10.
TEST(Offers, ToGroupsAreWhatTheLoadLeaves) {
  const at::Tensor work =
      at::tensor({10., 20., 30., 60., 0., 0., 20., 40., 10., 10., 10., 10., 0., 0., 0., 0.}, at::kDouble)
          .view({2, 4, 2});
  const Offers::Haste haste{at::ones({2, 4}, at::kDouble), {nullptr, work}};
  // Two draws of each grouping.
  const at::Tensor actions = IndexTensor({0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0}).view({4, 4});
  const at::Tensor delays = Offers::MetBy(haste, actions);
  const auto row = [&](std::int64_t r) { return delays[r].flatten(); };
  const auto expect = [&](std::int64_t r, std::vector<double> numbers) {
    EXPECT_LT(Difference(row(r), at::tensor(numbers, at::kDouble)), 1e-12) << "row " << r << row(r);
  };
  // Group 0 ends at 10 or 20, group 1 at 10 + 30 or 60, group 2 at 10 or 60, group 3 at 10 + 20 or 60 + 40.
  expect(0, {0, 10. / 30, 0, 20. / 80, 0, 1, 0, 70. / 110});
  expect(1, {0, 10. / 30, 0, 50. / 110, 1, 0, 0, 10. / 50});
  expect(2, {0, 0, 10. / 20, 0, 1, 0, 1, 0});
  expect(3, {0, 0, 0, 10. / 20, 0, 0, 0, 0});
}

// What is placed: the units of one sequence, or the groups of two.
struct Case {
  Case(std::unique_ptr<TestTask> task, bool groups)
      : made(std::move(task)),
        items(made->task.units.size()),
        sequences(groups ? 2 : 1),
        units(UnitsOf(made->task)),
        placed(groups ? Offers::Placed{nullptr, RandomTensor({2, items, 2}, 7).abs() + 0.1}
                      : Offers::Placed{&units}) {}

  std::unique_ptr<TestTask> made;
  std::int64_t items, sequences;
  Offers::Units units;
  Offers::Placed placed;
};

class OffersTo : public ::testing::TestWithParam<bool> {};

// What is learned from is what was drawn, with items that stay too.
TEST_P(OffersTo, InTurnAreThoseOfTheWhole) {
  const Case of(MakeTestTask(RandomDag(15, 3)), GetParam());
  const Offers offers(true, 4, at::kDouble);
  const Stay stay(0.7, 4, 2, at::kDouble);
  Shake(offers.parameters());
  Shake(stay.parameters());
  const at::NoGradGuard no_grad;
  const at::Tensor described = RandomTensor({of.sequences, 15, 4}, 1), own = RandomTensor({6, 15, 2}, 2);
  const Offers::Haste haste = offers.Read(described, of.placed);
  const at::Tensor earlier = EarlierItems(of.made->task, of.units.order).expand({of.sequences, -1});
  const Stay::Pulls pulls = stay.Read(described, earlier);
  Offers::Walk walk(haste, 6);
  Stay::Walk stays(stay, pulls, 6);
  Rng rng(1, "draws");
  Tensors actions, logits;
  for (const at::Tensor& of_item : own.unbind(1)) {
    logits.push_back(walk.Next(stays.Next(of_item)));
    actions.push_back(DrawActions(logits.back(), &rng).actions);
    walk.Choose(actions.back());
    stays.Choose(actions.back());
  }
  const at::Tensor drawn = at::stack(actions, 1), alone = Offers::Added(haste, walk.Delays());
  EXPECT_LT(Difference(at::stack(logits, 1), own + stay.Added(pulls, drawn) + alone), 1e-13);
  EXPECT_GT(alone.abs().max().item<double>(), 0.01);
  EXPECT_TRUE(Offers::MetBy(haste, drawn).equal(walk.Delays()));
}

TEST_P(OffersTo, Gradient) {
  const Case of(MakeTestTask(RandomDag(9, 5)), GetParam());
  const Offers offers(true, 3, at::kDouble);
  Shake(offers.parameters());
  Tensors all = offers.parameters();
  all.push_back(RandomTensor({of.sequences, 9, 3}, 2).set_requires_grad(true));
  const at::Tensor weights = RandomTensor({4, 9, 2}, 3);
  const at::Tensor actions = (RandomTensor({4, 9}, 4) > 0).to(at::kLong);
  const auto haste = [&] { return offers.Read(all.back(), of.placed); };
  const at::Tensor delays = Offers::MetBy(haste(), actions);
  ExpectGradient([&] { return (Offers::Added(haste(), delays) * weights).sum(); }, all, 20);
}

TEST_P(OffersTo, FreshOrOffAddNothing) {
  const Case of(MakeTestTask(RandomDag(9, 5)), GetParam());
  const at::Tensor described = RandomTensor({of.sequences, 9, 3}, 1), logits = RandomTensor({2, 2}, 2);
  const Offers fresh(true, 3, at::kDouble), off(false, 3, at::kDouble);
  EXPECT_FALSE(off.on());
  for (const Offers* offers : {&fresh, &off}) {
    const Offers::Haste haste = offers->Read(described, of.placed);
    Offers::Walk walk(haste, 2);
    EXPECT_EQ(Difference(walk.Next(logits), logits), 0);
    walk.Choose(IndexTensor({0, 1}));
    EXPECT_EQ(Difference(walk.Next(logits), logits), 0);
    EXPECT_EQ(walk.Delays().defined(), offers->on());
    EXPECT_EQ(Offers::MetBy(haste, at::zeros({2, 9}, at::kLong)).defined(), offers->on());
    EXPECT_EQ(Offers::Added(haste, at::ones({2, 9, 2}, at::kDouble)).abs().max().item<double>(), 0);
  }
  EXPECT_FALSE(off.UnitsOf(of.made->task, of.units.order).graph.has_value());
}

INSTANTIATE_TEST_SUITE_P(, OffersTo, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Groups" : "Units"; });

}  // namespace
}  // namespace stowplan::agents::rl
