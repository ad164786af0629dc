// What doppler is built of: doppler_policy.h (its schedules are in unit_schedule_test.cpp); and that it learns. What every
// learner keeps is in learners_test.cpp.
#include <ATen/ATen.h>

#include "agents/rl/checkpoint.h"
#include "agents/rl/doppler_policy.h"
#include "agents/rl/one_shot_learner.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

DopplerOptions SmallDoppler() {
  DopplerOptions options;
  options.width = 8;
  options.hidden = 8;
  options.iterations = 12;
  return options;
}

std::unique_ptr<DopplerPolicy> MakePolicy(const Task& task, const DopplerOptions& options) {
  Rng init(1, "weights");
  return std::make_unique<DopplerPolicy>(options, std::vector<const Task*>{&task}, init);
}

TEST(Doppler, ConstructsSchedules) {
  const auto made = MakeTestTask(RandomDag(30, 5), 3);
  const auto policy = MakePolicy(made->task, SmallDoppler());
  Rng rng(1, "draws");
  const Draws draws = policy->Draw(0, 4, {}, &rng);
  ASSERT_EQ(draws.kinds.size(), 2u);
  for (std::int64_t i = 0; i < 4; ++i) {
    std::set<std::int64_t> scheduled;
    for (std::int64_t step = 0; step < 30; ++step) {
      const auto unit = draws.kinds[0].actions[i][step].item<std::int64_t>();
      for (const sim::TensorRef& input : made->graph.ops[static_cast<std::size_t>(unit)].inputs)
        EXPECT_TRUE(scheduled.contains(input.op)) << "ready units alone";
      EXPECT_TRUE(scheduled.insert(unit).second);
      EXPECT_EQ(draws.placements[static_cast<std::size_t>(i)][static_cast<std::size_t>(unit)],
                draws.kinds[1].actions[i][step].item<std::int64_t>());
    }
  }
  EXPECT_NE(draws.placements[0], draws.placements[1]);
}

// Going the same steps again, all at once, gives the probabilities with which they were drawn, for any part of a batch.
TEST(Doppler, ReplaysWhatItDrew) {
  const auto made = MakeTestTask(RandomDag(30, 5), 3);
  for (const bool published : {false, true}) {
    DopplerOptions options = SmallDoppler();
    options.deviations = options.greedy = published;
    options.neighbour = !published;
    options.window = published ? 64 : 3;
    const auto policy = MakePolicy(made->task, options);
    Rng rng(1, "draws");
    const Draws draws = policy->Draw(0, 4, {}, &rng);
    for (const Draws& part : {draws, draws.Slice(1, 2)}) {
      const std::vector<ActionTerms> terms = policy->Evaluate(0, part);
      for (std::size_t k = 0; k < 2; ++k) {
        const at::Tensor difference =
            terms[k].log_probability.detach().to(at::kDouble) - part.kinds[k].log_probability;
        EXPECT_LT(difference.abs().max().item<double>(), 1e-4);
        EXPECT_TRUE(terms[k].entropy.isfinite().all().item<bool>());
      }
    }
    // Every weight has a part in it.
    const std::vector<ActionTerms> terms = policy->Evaluate(0, draws);
    const Tensors gradients =
        Gradients(terms[0].log_probability.square().sum() + terms[1].log_probability.square().sum(),
                  policy->parameters());
    double none = 0;
    for (const at::Tensor& gradient : gradients) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>());
      none += gradient.abs().max().item<double>() == 0;
    }
    EXPECT_LE(none, 2) << "of the last layers' biases: they move all scores alike";
  }
}

TEST(Doppler, ExploresLessAndLess) {
  const auto made = MakeTestTask(RandomDag(20, 5), 2);
  DopplerOptions options = SmallDoppler();
  options.greedy = true;
  options.epsilon = 0.5;
  const auto policy = MakePolicy(made->task, options);
  const UnitPlacement likeliest = policy->Draw(0, 1, {}, nullptr).placements[0];
  Rng rng(1, "draws");
  const auto differing = [&](double part_spent) {
    double sum = 0;
    for (const UnitPlacement& placement : policy->Draw(0, 10, {0, part_spent}, &rng).placements)
      sum += placement != likeliest;
    return sum;
  };
  EXPECT_EQ(differing(0), 10);
  EXPECT_EQ(differing(1), 0);
}

// On the states that it comes to, and on others.
TEST(Doppler, ImitatesTheHeuristic) {
  const auto made = MakeTestTask(RandomDag(30, 5), 3);
  DopplerOptions options = SmallDoppler();
  options.iterations = 150;
  options.imitation_rate = 1e-2;
  const auto policy = MakePolicy(made->task, options);
  Rng rng(1, "walks");
  const auto before = policy->AgreementWithHeuristic(0, 20, 0.3, rng);
  EXPECT_LT(before.devices, 0.6);
  double first = 0, last = 0;
  while (const auto loss = policy->Pretrain()) {
    if (first == 0) first = *loss;
    last = *loss;
  }
  EXPECT_LT(last, first);
  for (const double epsilon : {0.0, 0.3}) {
    const auto after = policy->AgreementWithHeuristic(0, 20, epsilon, rng);
    EXPECT_GT(after.devices, 0.85) << epsilon;
    EXPECT_GT(after.units, 0.85) << epsilon;
  }
}

// Devices that offer the same get the same probability, in whatever order they stand.
TEST(Doppler, IsEvenBetweenEqualOffers) {
  const auto made = MakeTestTask({{100, 1, {}}}, 4);
  const auto policy = MakePolicy(made->task, SmallDoppler());
  const Draws draws = policy->Draw(0, 1, {}, nullptr);
  EXPECT_NEAR(draws.kinds[1].log_probability.item<double>(), -std::log(4), 1e-6);
  EXPECT_EQ(draws.kinds[0].log_probability.item<double>(), 0) << "one unit is ready";
}

TEST(Doppler, ResumesInTheMiddleOfImitation) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  OneShotOptions options;
  options.batch = 5;
  const auto run = [&](const std::string& path, int stop_after, bool resume) {
    std::atomic<bool> stop = false;
    Evaluator evaluator(made->task, {.budget = 30, .stop = &stop});
    OneShotLearner learner("doppler", options, MakePolicy(made->task, SmallDoppler()), {&made->task},
                           {&evaluator}, {.checkpoint = path, .resume = resume});
    int steps = 0;
    learner.on_update = [&](const UpdateRecord& record) {
      EXPECT_EQ(record.samples == 0, record.update == 0) << "imitation costs no samples";
      if (++steps == stop_after) stop = true;
    };
    learner.Run();
    return steps;
  };
  const std::string whole = InTemp("whole.ckpt"), parts = InTemp("parts.ckpt");
  EXPECT_EQ(run(whole, -1, false), 12 + 6);
  EXPECT_EQ(run(parts, 5, false), 5);
  EXPECT_EQ(run(parts, 4, true), 4);
  EXPECT_EQ(run(parts, -1, true), 18 - 9);
  for (const char* section : {"weights", "state"})
    EXPECT_TRUE(ReadCheckpoint(parts).section(section, parts) ==
                ReadCheckpoint(whole).section(section, whole));
  EXPECT_EQ(Slurp(parts + ".log.csv"), Slurp(whole + ".log.csv"));
}

// Sixteen equal ops between a source and a sink, without a heuristic to imitate: eight on each device.
TEST(Doppler, LearnsToBalance) {
  const auto made = MakeTestTask(Branches(8, 1000, 1000));
  const std::string name = "doppler(width=16,hidden=16,imitate=no,lr=3e-3)";
  const auto agent = MakeAgent(name);
  const Samples samples = SearchOnce(*agent, made->task, 1000);
  const auto mean = [&](std::size_t first) {
    double sum = 0;
    for (std::size_t i = first; i < first + 100; ++i) sum += sim::ToMicros(samples.runtimes[i]) / 100;
    return sum;
  };
  EXPECT_GT(mean(0), 9500);
  EXPECT_LT(mean(900), 8400);
}

TEST(Doppler, RefusesToWeighDrawsThatAreNotThePoliciesOwn) {
  EXPECT_THAT(tests::ErrorOf([&] { MakeAgent("doppler(explore=greedy)"); }), HasSubstr("learner=reinforce"));
  EXPECT_THAT(MakeAgent("doppler(preset=paper)")->name(), HasSubstr("explore=greedy"));
}

}  // namespace
}  // namespace stowplan::agents::rl
