#include "agents/rl/placeto/placeto_state.h"

#include <ATen/ATen.h>

#include "tests/agents/rl/test_task.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

PlacetoOptions Options(const std::string& spec) {
  return ReadPlacetoOptions(AgentSettings(spec));
}

TEST(PlacetoOptions, RefusesWhatItDoesNotKnow) {
  try {
    Options("placeto(learning=1)");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no setting 'learning'"));
    EXPECT_THAT(error.what(), HasSubstr("entropy_end"));
  }
  EXPECT_THROW(Options("placeto(preset=best)"), InputError);
  EXPECT_THROW(Options("placeto(episodes=0)"), InputError);
  EXPECT_THROW(Options("placeto(preset=paper,offers=yes)"), InputError);
  EXPECT_THROW(Options("placeto(offers=greedy)"), InputError);
  EXPECT_THROW(Options("placeto(lr=-1)"), InputError);
  EXPECT_THROW(Options("placeto(start=warm)"), InputError);
}

// Two GPUs of 10 GB. Costs 100 (op0), 200 (op1), 50 us (op2); 4 MB, 1 MB, 0 out; chain 0 -> 1, op2 apart.
// One GPU needs 350 us: the reference.
std::unique_ptr<TestTask> ThreeOps() {
  return MakeTestTask({{100, 4'000'000, {}, 2'000'000}, {200, 1'000'000, {0}}, {50, 0, {}}}, 2,
                      10'000'000'000);
}

TEST(PlacetoView, Features) {
  const auto made = ThreeOps();
  const PlacetoView view(made->task, Options("placeto(preset=walk,memory=yes)"));
  EXPECT_EQ(view.features(), 8);
  // Depths 0, 1, 0: the order is 0, 2, 1.
  EXPECT_THAT(view.graph().order(), ElementsAre(0, 2, 1));
  PlacetoEpisode episode;
  episode.start = {0, 1, 1};
  episode.actions = {1};
  episode.known = {0, 1};
  episode.steps = 2;  // both states are replayed
  // Microseconds x 1e6: under the placement of the start, then after op0 went to device 1.
  episode.starts = {0, 505'000'000, 0, 0, 100'000'000, 400'000'000};
  const std::vector<PlacetoView::State> states = {{&episode, 0}, {&episode, 1}};
  EXPECT_EQ(view.UnitsInTurn(states), (std::vector<UnitIndex>{0, 2}));
  const at::Tensor features = view.Features(states);
  ASSERT_EQ(features.sizes(), (at::IntArrayRef{3, 2, 8}));
  // cost / 200, bytes out / 4 MB, visits, current, start, memory / 6 MB, one-hot device.
  const auto expect = [&features](std::int64_t unit, std::int64_t state, const std::vector<float>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_FLOAT_EQ(features[unit][state][static_cast<std::int64_t>(i)].item<float>(), row[i])
          << "unit " << unit << ", state " << state << ", feature " << i;
    }
  };
  expect(0, 0, {0.5F, 1, 0, 1, 0, 1, 1, 0});
  expect(1, 0, {1, 0.25F, 0, 0, 1, 1.0F / 6, 0, 1});
  expect(2, 0, {0.25F, 0, 0, 0, 0, 0, 0, 1});
  // Unit 2 is in turn and starts at 400: unit 0 at -400, unit 1 at -300, both divided by 400.
  expect(0, 1, {0.5F, 1, 1, 0, -1, 1, 0, 1});
  expect(1, 1, {1, 0.25F, 0, 0, -0.75F, 1.0F / 6, 0, 1});
  expect(2, 1, {0.25F, 0, 0, 1, 0, 0, 0, 1});

  // As published: the largest shifted start is 0, so nothing is divided and microseconds remain.
  const PlacetoView published(made->task, Options("placeto(preset=walk,scale=max)"));
  EXPECT_FLOAT_EQ(published.Features(states)[0][1][4].item<float>(), -400);
  // Without start times the column is 0, and without the memory feature the row is one shorter.
  const PlacetoView blind(made->task, Options("placeto(preset=walk,starts=no)"));
  EXPECT_EQ(blind.features(), 7);
  EXPECT_FLOAT_EQ(blind.Features(states)[0][1][4].item<float>(), 0);
}

TEST(PlacetoView, VisitsCountPasses) {
  const auto made = ThreeOps();
  const PlacetoView view(made->task, Options("placeto(preset=walk,passes=2,starts=no)"));
  EXPECT_EQ(view.steps(), 6);
  PlacetoEpisode episode;
  episode.start = {0, 0, 0};
  episode.actions = {0, 1, 0, 1};
  episode.steps = 5;
  const std::vector<PlacetoView::State> states = {{&episode, 4}};  // second pass, unit 2 in turn
  const at::Tensor features = view.Features(states);
  EXPECT_FLOAT_EQ(features[0][0][2].item<float>(), 2);
  EXPECT_FLOAT_EQ(features[2][0][2].item<float>(), 1);
  EXPECT_FLOAT_EQ(features[1][0][2].item<float>(), 1);
  EXPECT_EQ(view.SlotsBefore(episode, 4), (std::vector<std::int32_t>{1, 0, 1}));
}

// f = min(t + 2 s/GB x excess, cap): reference 350 us, cap 10 x that.
// op0 -> op1 on two devices, op2 apart. With op0 (100 us) on the first: op1 ends there first, as its input is there; op2
// (50 us) on the second, which is idle; x us later on the first counts x / (x + 50).
TEST(PlacetoView, OffersOfAListSchedule) {
  const auto made = ThreeOps();
  const PlacetoView view(made->task, Options("placeto(every=1)"));
  ASSERT_TRUE(view.offers());
  std::int64_t step_of[3];
  for (std::int64_t step = 0; step < 3; ++step) step_of[view.UnitsOfStep(step).front()] = step;
  const std::vector<std::int32_t> slots = {0, 0, 1};
  const UnitSchedule before_1 = view.ScheduleBefore(slots, step_of[1]);
  const std::vector<float> of_1 = view.OfferNumbers(1, before_1.OffersFor(1));
  ASSERT_EQ(of_1.size(), 4u);
  EXPECT_EQ(of_1[0], 0);
  EXPECT_EQ(of_1[1], 1) << "its input is there";
  EXPECT_LT(of_1[2], 0) << "4 MB have to come";
  EXPECT_EQ(of_1[3], 0);
  // After op1 (200 us), too, if it comes before.
  const float later = step_of[2] < step_of[1] ? 100 : 300;
  const UnitSchedule before_2 = view.ScheduleBefore(slots, step_of[2]);
  EXPECT_EQ(view.OfferNumbers(2, before_2.OffersFor(2)),
            (std::vector<float>{-later / (later + 50), 0, 0, 0}));
}

TEST(PlacetoView, CostWithMemoryPenalty) {
  const auto made = ThreeOps();
  const PlacetoView tuned(made->task, Options("placeto"));
  Evaluation evaluation;
  evaluation.runtime = 700 * sim::kPicosPerMicro;
  evaluation.peak = {10'000'000'000, 1};
  EXPECT_DOUBLE_EQ(tuned.CostOf(evaluation), 2);  // fits to the byte: 700 / 350
  evaluation.feasible = false;
  evaluation.peak = {10'000'100'000, 1};  // 1e-4 GB too much: 200 us
  EXPECT_DOUBLE_EQ(tuned.CostOf(evaluation), 900.0 / 350);
  evaluation.peak = {1, 11'000'000'000};  // 2 s: the cap
  EXPECT_DOUBLE_EQ(tuned.CostOf(evaluation), 10);

  // In seconds, and with the sample setting's 8 GB and 10 s.
  const PlacetoView code(made->task, Options("placeto(preset=code)"));
  evaluation.peak = {8'000'000'000, 9'500'000'000};
  EXPECT_DOUBLE_EQ(code.CostOf(evaluation), 0.0007 + 2 * 1.5);
  evaluation.peak = {8'000'000'000, 19'500'000'000};
  EXPECT_DOUBLE_EQ(code.CostOf(evaluation), 10);

  const PlacetoView named(made->task, Options("placeto(penalty=3,limit_gb=9,cap_s=20,relative=no)"));
  evaluation.peak = {8'000'000'000, 10'000'000'000};
  EXPECT_DOUBLE_EQ(named.CostOf(evaluation), 0.0007 + 3 * 1.0);
  evaluation.peak = {8'000'000'000, 19'500'000'000};
  EXPECT_DOUBLE_EQ(named.CostOf(evaluation), 20);
}

// Five units by threes: steps of three and of two units, twice.
TEST(PlacetoView, UnitsByThrees) {
  const auto made = MakeTestTask({{1, 0, {}}, {1, 0, {0}}, {1, 0, {1}}, {1, 0, {2}}, {1, 0, {3}}});
  const PlacetoView view(made->task, Options("placeto(every=3,passes=2,starts=no)"));
  EXPECT_EQ(view.steps(), 4);
  EXPECT_THAT(view.UnitsOfStep(2), ElementsAre(0, 1, 2));
  EXPECT_THAT(view.UnitsOfStep(3), ElementsAre(3, 4));
  EXPECT_EQ(view.FirstDecision(3), 8u);
  PlacetoEpisode episode;
  episode.start = {0, 0, 0, 0, 0};
  episode.actions = {1, 0, 1, 0, 1, 0, 0, 0, 1, 1};
  episode.steps = 4;
  EXPECT_THAT(view.SlotsBefore(episode, 1), ElementsAre(1, 0, 1, 0, 0));
  EXPECT_THAT(view.SlotsBefore(episode, 3), ElementsAre(0, 0, 0, 0, 1));
  const std::vector<PlacetoView::State> states = {{&episode, 3}};
  EXPECT_THAT(view.UnitsInTurn(states), ElementsAre(3, 4));
  const at::Tensor features = view.Features(states);
  for (std::int64_t unit = 0; unit < 5; ++unit) {
    EXPECT_EQ(features[unit][0][2].item<float>(), unit < 3 ? 2 : 1) << "visits of " << unit;
    EXPECT_EQ(features[unit][0][3].item<float>(), unit < 3 ? 0 : 1) << "in turn: " << unit;
  }
}

TEST(PlacetoView, ASampleHasTheEarliestStartOfAUnit) {
  const auto made = ThreeOps();
  const PlacetoView view(made->task, Options("placeto"));
  Evaluation evaluation;
  evaluation.runtime = 350 * sim::kPicosPerMicro;
  evaluation.peak = {0, 0};
  evaluation.start = {0, 100, 300};
  const PlacetoSample sample = view.SampleOf({0, 1, 0}, evaluation);
  PlacetoEpisode episode;
  episode.Append(sample);
  episode.Repeat();
  EXPECT_THAT(episode.costs, ElementsAre(1, 1));
  EXPECT_THAT(episode.known, ElementsAre(0, 0));
  EXPECT_THAT(episode.starts, ElementsAre(0, 100, 300));
}

}  // namespace
}  // namespace stowplan::agents::rl
