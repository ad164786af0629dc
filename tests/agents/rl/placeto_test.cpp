#include <ATen/ATen.h>

#include "agents/placements.h"
#include "agents/rl/learners.h"
#include "agents/rl/placeto/placeto_learner.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

Samples SearchOnce(const std::string& spec, const Task& task, std::int64_t budget,
                   const SearchOptions& options = {}, int evaluator_threads = 1) {
  return rl::SearchOnce(*MakePlaceto(AgentSettings(spec)), task, budget, options, evaluator_threads);
}

// 7 units: episodes of 8 samples. 4 episodes an update, a greedy pass after 8 of them:
// budget 100 = 8 x 8 (two updates) + 8 (greedy) + 28 (four episodes that are cut before their last sample: not
// learned from).
TEST(Placeto, EpisodesTimesUnitsPlusOneEqualsTheCounter) {
  const auto made = MakeTestTask(RandomDag(7, 1));
  Evaluator evaluator(made->task, {.budget = 100});
  PlacetoLearner learner(ReadPlacetoOptions(AgentSettings("placeto(preset=walk,greedy=8)")), {&made->task},
                         {&evaluator}, {});
  std::vector<std::int64_t> samples, episodes;
  learner.on_update = [&](const UpdateRecord& record) {
    samples.push_back(record.samples);
    episodes.push_back(record.episodes);
    for (const PlacetoEpisode& episode : learner.batch()) EXPECT_EQ(episode.spent, 8);
  };
  learner.Run();
  EXPECT_EQ(samples, (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(episodes, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(evaluator.proposals(), 13);  // 8 learned from, 1 greedy, 4 cut short
}

TEST(Placeto, EpisodesStartAtTheSharedStartAndMoveOneUnitAStep) {
  const auto made = MakeTestTask(RandomDag(7, 1), 3);
  const Samples samples = SearchOnce("placeto(preset=walk,episodes=1)", made->task, 24, {.seed = 5});
  const UnitPlacement start = StartPlacement(made->task, 5);
  const UnitGraph graph(made->task);
  for (std::size_t s = 0; s < samples.placements.size(); ++s) {
    if (s % 8 == 0) {
      EXPECT_EQ(samples.placements[s], start);
      continue;
    }
    for (std::size_t unit = 0; unit < 7; ++unit) {
      if (static_cast<UnitIndex>(unit) == graph.order()[s % 8 - 1]) continue;
      EXPECT_EQ(samples.placements[s][unit], samples.placements[s - 1][unit]);
    }
  }
}

TEST(Placeto, StartsOfTheOtherKinds) {
  const auto made = MakeTestTask(RandomDag(7, 1), 3);
  const Samples single = SearchOnce("placeto(preset=walk,episodes=1,start=single)", made->task, 24);
  EXPECT_EQ(single.placements[16], UnitPlacement(7, 0));
  const Samples each = SearchOnce("placeto(preset=walk,episodes=1,start=random-each)", made->task, 24);
  EXPECT_NE(each.placements[0], each.placements[8]);
  EXPECT_NE(each.placements[8], each.placements[16]);
  const Samples own = SearchOnce("placeto(preset=walk,episodes=2)", made->task, 32);
  EXPECT_NE(own.placements[0], own.placements[1]);
  EXPECT_EQ(own.placements[16], own.placements[0]);
  EXPECT_EQ(own.placements[17], own.placements[1]);
  const Samples best = SearchOnce("placeto(preset=walk,episodes=1,start=best)", made->task, 24);
  const auto first_best =
      std::min_element(best.runtimes.begin(), best.runtimes.begin() + 8) - best.runtimes.begin();
  EXPECT_EQ(best.placements[8], best.placements[static_cast<std::size_t>(first_best)]);
}

// The log-probabilities in the loss are those of the actions whose placements were evaluated: the replayed
// ones equal the drawn ones up to the rounding of another batch, and the actions of an episode rebuild its
// samples.
TEST(Placeto, LearnsFromTheActionsThatWereEvaluated) {
  const auto made = MakeTestTask(RandomDag(12, 2), 3);
  Samples samples;
  Evaluator evaluator(made->task, {.budget = 13 * 4 * 3});
  Observe(evaluator, samples);
  const PlacetoOptions options = ReadPlacetoOptions(AgentSettings("placeto(preset=walk,lr=0.01,greedy=0)"));
  PlacetoLearner learner(options, {&made->task}, {&evaluator}, {});
  const PlacetoView view(made->task, options);
  std::size_t seen = 0;
  learner.on_update = [&](const UpdateRecord& record) {
    EXPECT_LT(record.drift, 1e-5);
    for (std::int64_t t = 0; t <= 12; ++t) {
      for (const PlacetoEpisode& episode : learner.batch()) {
        EXPECT_EQ(view.ToPlacement(view.SlotsBefore(episode, t)), samples.placements.at(seen));
        const double seconds = static_cast<double>(samples.runtimes.at(seen)) /
                               static_cast<double>(made->task.reference_runtime);
        EXPECT_DOUBLE_EQ(episode.costs[static_cast<std::size_t>(t)], seconds);
        ++seen;
      }
    }
  };
  learner.Run();
  EXPECT_EQ(seen, samples.placements.size());
}

// What was offered when an action was drawn is what is learned from: a schedule of the units before, where they then were.
TEST(Placeto, LearnsFromTheOffersThatWereMet) {
  const auto made = MakeTestTask(RandomDag(40, 2), 3);
  for (const char* spec : {"placeto(every=7)", "placeto(every=7,passes=2,lr=0.1)"}) {
    const PlacetoOptions options = ReadPlacetoOptions(AgentSettings(spec));
    Evaluator evaluator(made->task, {.budget = 300});
    PlacetoLearner learner(options, {&made->task}, {&evaluator}, {});
    const PlacetoView view(made->task, options);
    std::int64_t updates = 0;
    learner.on_update = [&](const UpdateRecord& record) {
      ++updates;
      EXPECT_LT(record.drift, 1e-4);
      for (const PlacetoEpisode& episode : learner.batch()) {
        std::vector<float> expected;
        for (std::int64_t step = 0; step < episode.steps; ++step) {
          const std::vector<std::int32_t> after = view.SlotsBefore(episode, step + 1);
          UnitSchedule schedule = view.ScheduleBefore(view.SlotsBefore(episode, step), step);
          for (const UnitIndex unit : view.UnitsOfStep(step)) {
            const auto offers = schedule.OffersFor(unit);
            const std::vector<float> numbers = view.OfferNumbers(unit, offers);
            expected.insert(expected.end(), numbers.begin(), numbers.end());
            const auto slot = static_cast<std::size_t>(after[static_cast<std::size_t>(unit)]);
            schedule.Place(unit, slot, offers[slot]);
          }
        }
        ASSERT_EQ(episode.offers, expected);
      }
    };
    learner.Run();
    EXPECT_GT(updates, 3);
  }
  EXPECT_NE(SearchOnce("placeto", made->task, 300).placements,
            SearchOnce("placeto(offers=no)", made->task, 300).placements);
  EXPECT_EQ(SearchOnce("placeto(lr=0)", made->task, 300).placements,
            SearchOnce("placeto(lr=0,offers=no)", made->task, 300).placements)
      << "nothing is read from them before it is learned";
}

// An episode that is read from a checkpoint is taken only if every index that it will be asked for is there.
TEST(Placeto, EpisodesOfAnotherShapeAreRefused) {
  const auto made = MakeTestTask(RandomDag(10, 2), 3);
  for (const char* spec :
       {"placeto(every=4,passes=2)", "placeto(preset=walk)", "placeto(preset=walk,starts=no)"}) {
    SCOPED_TRACE(spec);
    const PlacetoOptions options = ReadPlacetoOptions(AgentSettings(spec));
    Evaluator evaluator(made->task, {.budget = 120});
    PlacetoLearner learner(options, {&made->task}, {&evaluator}, {});
    const PlacetoView view(made->task, options);
    PlacetoEpisode whole;
    learner.on_update = [&](const UpdateRecord&) { whole = learner.batch().front(); };
    learner.Run();
    ASSERT_TRUE(view.Holds(whole));
    EXPECT_TRUE(
        view.Holds(PlacetoEpisode{.length = whole.length, .start = whole.start, .slots = whole.slots}))
        << "not begun";
    using Change = std::function<void(PlacetoEpisode&)>;
    const std::vector<Change> changes = {
        [](auto& e) { --e.length; },
        [](auto& e) { --e.steps; },
        [](auto& e) { e.steps = -1; },
        [](auto& e) { e.start.pop_back(); },
        [](auto& e) { e.start[0] = 3; },
        [](auto& e) { e.slots[1] = -1; },
        [](auto& e) { e.moved.pop_back(); },
        [](auto& e) { e.actions.back() = 3; },
        [](auto& e) { e.actions.push_back(0); },
        [](auto& e) { e.log_probabilities.pop_back(); },
        [](auto& e) { e.offers.push_back(0); },
        [](auto& e) { e.costs.pop_back(); },
        [](auto& e) { e.costs.clear(); },
        [](auto& e) { e.known.clear(); },
        [](auto& e) { e.known.front() = -1; },
        [](auto& e) { e.known[1] = 1000; },
        [](auto& e) { e.starts.push_back(0); },
        [](auto& e) { e.cut = true; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      PlacetoEpisode changed = whole;
      changes[i](changed);
      EXPECT_FALSE(view.Holds(changed)) << i;
    }
  }
}

// Wherever a run is stopped, inside a pass, between two tasks, after the budget of one has ended.
TEST(Placeto, GoesOnFromEverySample) {
  const auto first = MakeTestTask(RandomDag(7, 1), 2), second = MakeTestTask(RandomDag(9, 2), 2);
  const std::string path = InTemp("every.ckpt");
  for (const char* spec : {"placeto(preset=walk)", "placeto(preset=walk,every=4,passes=2,repeats=no)"}) {
    for (std::int64_t at = 1; at < 70; at += 3) {
      std::atomic<bool> stop = false;
      const auto run = [&](bool resume) {
        stop = false;
        Evaluator one(first->task, {.budget = 31, .stop = &stop}),
            two(second->task, {.budget = 60, .stop = &stop});
        std::int64_t seen = 0;
        const auto watch = [&](std::int64_t, const UnitPlacement&, const Evaluation&) {
          if (++seen == at && !resume) stop = true;
        };
        one.observer = two.observer = watch;
        PlacetoLearner learner(ReadPlacetoOptions(AgentSettings(spec)), {&first->task, &second->task},
                               {&one, &two}, {.checkpoint = path, .resume = resume});
        learner.Run();
        return std::pair(one.remaining(), two.remaining());
      };
      run(false);
      EXPECT_EQ(run(true), std::pair(std::int64_t{0}, std::int64_t{0})) << spec << ", stopped after " << at;
    }
  }
}

// One unit, two devices: an episode is one decision. The first update's loss is
// sum over episodes of -(return - mean return) log p(action) - weight (-p log p - q log q).
TEST(Placeto, LossOfOneUnitOnTwoDevicesEqualsTheClosedForm) {
  const auto made = MakeTestTask({{100, 0, {}}});
  Evaluator evaluator(made->task, {.budget = 16});
  PlacetoLearner learner(ReadPlacetoOptions(AgentSettings("placeto(preset=walk,episodes=8,entropy=0.1)")),
                         {&made->task}, {&evaluator}, {});
  int updates = 0;
  learner.on_update = [&](const UpdateRecord& record) {
    ++updates;
    double mean = 0, expected = 0;
    for (const PlacetoEpisode& episode : learner.batch()) mean += (episode.costs[0] - episode.costs[1]) / 8;
    for (const PlacetoEpisode& episode : learner.batch()) {
      const double log_p = episode.log_probabilities[0], p = std::exp(log_p), q = 1 - p;
      expected -= (episode.costs[0] - episode.costs[1] - mean) * log_p;
      expected -= 0.1 * (-p * log_p - q * std::log(q));
    }
    EXPECT_NEAR(record.loss, expected, 1e-5);
  };
  learner.Run();
  EXPECT_EQ(updates, 1);
}

// A policy that learns nothing draws what the fresh network gives: walked here once more by hand.
TEST(Placeto, LearningRateZeroEqualsTheUntrainedPolicy) {
  const auto made = MakeTestTask(RandomDag(9, 3), 2);
  const std::uint64_t seed = 11;
  const PlacetoOptions options =
      ReadPlacetoOptions(AgentSettings("placeto(preset=walk,lr=0,greedy=0,episodes=3,start=single)"));
  const Samples samples = SearchOnce(options.name, made->task, 3 * 10 * 4, {.seed = seed});

  Evaluator unused(made->task, {.budget = 1});
  PlacetoLearner untrained(options, {&made->task}, {&unused}, {.seed = seed});
  const PlacetoView view(made->task, options);
  const PlacetoGraph graph(view.graph(), true, at::kFloat);
  Evaluator evaluator(made->task, {.budget = 1000});
  Rng rng(seed, "placeto actions");
  std::vector<UnitPlacement> expected;
  for (int update = 0; update < 4; ++update) {
    std::vector<PlacetoEpisode> episodes(3);
    for (PlacetoEpisode& episode : episodes) {
      episode.start = episode.slots = std::vector<std::int32_t>(9, 0);
    }
    for (std::int64_t step = 0; step <= view.steps(); ++step) {
      std::vector<PlacetoView::State> states;
      for (const PlacetoEpisode& episode : episodes) states.push_back({&episode, step - 1});
      at::Tensor first;
      if (step > 0) {
        first = untrained.network()
                    .Read(graph, view.Features(states), view.UnitsInTurn(states))
                    .With()
                    .softmax(-1)
                    .select(1, 0);
      }
      for (std::size_t e = 0; e < episodes.size(); ++e) {
        PlacetoEpisode& episode = episodes[e];
        if (step > 0) {
          const int slot = rng.Uniform() < first[static_cast<std::int64_t>(e)].item<double>() ? 0 : 1;
          episode.slots[static_cast<std::size_t>(view.UnitsOfStep(step - 1).front())] = slot;
          ++episode.steps;
        }
        expected.push_back(view.ToPlacement(episode.slots));
        episode.Append(view.SampleOf(episode.slots, evaluator.Evaluate(expected.back(), true)));
      }
    }
  }
  EXPECT_EQ(samples.placements, expected);
}

// Two branches of 2 x 300 us behind a cheap source: the optimum puts the branches on different devices, and
// the transfers (10 us) are worth it. Learned until the greedy policy itself walks to the optimum, from a
// start that is not.
TEST(Placeto, OverfitsATinyGraphToTheOptimum) {
  const auto made = MakeTestTask(Branches(2, 300, 50'000));
  const sim::Picos optimum = BruteForceOptimum(made->task);
  int solved = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Evaluator evaluator(made->task, {.budget = 7 * 800});
    const auto agent = MakePlaceto(AgentSettings("placeto(preset=walk,lr=0.005,start=single,mean=no)"));
    agent->Search(made->task, evaluator, {.seed = seed});
    EXPECT_EQ(evaluator.best_runtime(), optimum);
    const std::string path = InTemp("overfit.ckpt");
    dynamic_cast<Transferable&>(*agent).Save(path);
    const Samples greedy = SearchOnce("placeto(preset=walk,start=single,mean=no)", made->task, 100,
                                      {.seed = seed, .learn = false, .init = path});
    ASSERT_EQ(greedy.counted, 7);
    EXPECT_GT(greedy.runtimes.front(), optimum);
    if (greedy.runtimes.back() == optimum) ++solved;
  }
  EXPECT_EQ(solved, 3);
}

// Two units of 6 GB weights each on cards of 10 GB: one card is faster (no transfer) but does not fit. The
// penalty, not the verdict, must drive the policy apart.
TEST(Placeto, MemoryPenaltyDrivesAwayFromWhatDoesNotFit) {
  const auto made = MakeTestTask(
      {{100'000, 1'000'000'000, {}, 4'000'000'000}, {100'000, 0, {0}, 6'000'000'000}}, 2, 10'000'000'000);
  EXPECT_FALSE(Evaluator(made->task, {.budget = 1}).Evaluate({0, 0}).feasible);
  Evaluator evaluator(made->task, {.budget = 3 * 1000});
  PlacetoLearner learner(
      ReadPlacetoOptions(AgentSettings("placeto(preset=walk,lr=0.005,entropy=0.01,start=single)")),
      {&made->task}, {&evaluator}, {});
  std::vector<double> costs;
  learner.on_update = [&costs](const UpdateRecord& record) { costs.push_back(record.mean_cost); };
  learner.Run();
  // Together: 200 ms + 2 s/GB x 1 GB is above 5 references of 0.2 s; apart: 300 ms and a bit.
  double first = 0, last = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    first += costs[i] / 10;
    last += costs[costs.size() - 1 - i] / 10;
  }
  EXPECT_GT(first, 2);
  EXPECT_LT(last, 1.7);
}

TEST(Placeto, WithoutLearningOneGreedyPass) {
  const auto made = MakeTestTask(RandomDag(9, 3));
  const Samples samples = SearchOnce("placeto(preset=walk)", made->task, 1000, {.learn = false});
  EXPECT_EQ(samples.counted, 10);
  EXPECT_EQ(samples.proposals, 1);
  EXPECT_EQ(samples, SearchOnce("placeto(preset=walk)", made->task, 1000, {.learn = false}));
}

TEST(Placeto, TrainsOnTwoGraphsAndAppliesToAThird) {
  const auto a = MakeTestTask(RandomDag(6, 1)), b = MakeTestTask(RandomDag(11, 2)),
             c = MakeTestTask(RandomDag(8, 3));
  const auto agent = MakePlaceto(AgentSettings("placeto(preset=walk,lr=0.01)"));
  auto& transferable = dynamic_cast<Transferable&>(*agent);
  Evaluator first(a->task, {.budget = 7 * 10 + 3}), second(b->task, {.budget = 12 * 6});
  const std::string checkpoint = InTemp("train.ckpt");
  transferable.Train({&a->task, &b->task}, {&first, &second}, {.checkpoint = checkpoint});
  EXPECT_EQ(first.remaining(), 0);
  EXPECT_EQ(second.remaining(), 0);

  const std::string path = InTemp("trained.ckpt");
  transferable.Save(path);
  const Samples zero_shot = SearchOnce("placeto(preset=walk)", c->task, 1000, {.learn = false, .init = path});
  EXPECT_EQ(zero_shot.counted, 9);
  // The same policy by Load, by init from the run's checkpoint, and kept by the agent that trained.
  const auto loaded = MakePlaceto(AgentSettings("placeto(preset=walk)"));
  dynamic_cast<Transferable&>(*loaded).Load(path);
  for (Agent* other : {loaded.get(), agent.get()}) {
    Samples samples;
    Evaluator evaluator(c->task, {.budget = 1000});
    Observe(evaluator, samples);
    other->Search(c->task, evaluator, {.learn = false});
    EXPECT_EQ(samples.placements, zero_shot.placements);
  }
  EXPECT_EQ(SearchOnce("placeto(preset=walk)", c->task, 1000, {.learn = false, .init = checkpoint}),
            zero_shot);
  // Fine-tuning from it runs, and differs from a fresh start.
  EXPECT_NE(SearchOnce("placeto(preset=walk)", c->task, 72, {.init = path}).placements,
            SearchOnce("placeto(preset=walk)", c->task, 72).placements);

  const auto wide = MakeTestTask(RandomDag(6, 1), 3);
  EXPECT_THROW(SearchOnce("placeto(preset=walk)", wide->task, 10, {.init = path}), InputError);
  EXPECT_THROW(SearchOnce("placeto(preset=walk,memory=yes)", c->task, 10, {.init = path}), InputError);
  EXPECT_THROW(SearchOnce("placeto(preset=walk)", c->task, 10, {.init = path + ".absent"}), InputError);
  Evaluator third(wide->task, {.budget = 10}), fourth(c->task, {.budget = 10});
  EXPECT_THROW(transferable.Train({&c->task, &wide->task}, {&fourth, &third}, {}), InputError);
}

// Every sample but the first of an episode differs from the one before it, and an episode that starts at the best
// placement does not ask for that one again.
TEST(Placeto, WhatIsKnownIsNotEvaluatedAgain) {
  const auto made = MakeTestTask(RandomDag(20, 4), 2);
  Samples samples;
  Evaluator evaluator(made->task, {.budget = 300});
  Observe(evaluator, samples);
  PlacetoLearner learner(ReadPlacetoOptions(AgentSettings("placeto(every=2,episodes=1,moves=1)")),
                         {&made->task}, {&evaluator}, {});
  std::int64_t spent = 0, updates = 0;
  learner.on_update = [&](const UpdateRecord& record) {
    const PlacetoEpisode& episode = learner.batch().front();
    const auto moves = std::count(episode.moved.begin(), episode.moved.end(), 1);
    EXPECT_EQ(episode.spent, std::max<std::int64_t>(moves + (updates == 0 ? 1 : 0), 1));
    spent += episode.spent;
    EXPECT_EQ(record.samples, spent);
    ++updates;
  };
  learner.Run();
  EXPECT_GT(updates, 100);
  EXPECT_EQ(samples.placements.size(), 300u);
}

// On one device nothing can move: each episode still spends a sample, and the search ends.
TEST(Placeto, AnEpisodeWithoutAMoveIsOneSample) {
  const auto made = MakeTestTask(RandomDag(7, 1), 1);
  const Samples samples = SearchOnce("placeto", made->task, 9);
  EXPECT_EQ(samples.counted, 9);
}

TEST(Placeto, MovesOfAPassAreSteered) {
  const auto made = MakeTestTask(RandomDag(60, 4), 3);
  for (const double moves : {1.0, 6.0}) {
    Evaluator evaluator(made->task, {.budget = 2000});
    PlacetoLearner learner(
        ReadPlacetoOptions(AgentSettings("placeto(every=20,moves=" + std::to_string(moves) + ")")),
        {&made->task}, {&evaluator}, {});
    double sum = 0, episodes = 0;
    learner.on_update = [&](const UpdateRecord&) {
      for (const PlacetoEpisode& episode : learner.batch()) {
        sum += episode.expected_moves;
        ++episodes;
      }
    };
    learner.Run();
    EXPECT_NEAR(sum / episodes, moves, 0.15 * moves);
  }
}

// Five ops that wait for nothing, no two sums of whose times are equal: the first is a draw, each other one goes to the GPU
// that is free first. Without `episodes=1` the sixth sample would be the second of the second walk.
TEST(Placeto, TheGreedyControlPutsEachUnitWhereItEndsFirst) {
  const std::vector<double> cost_us = {4, 64, 8, 32, 16};
  std::vector<TestOp> ops;
  for (const double cost : cost_us) ops.push_back({cost, 4, {}});
  const auto made = MakeTestTask(ops);
  const UnitGraph graph(made->task);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Samples walk =
        SearchOnce("placeto(preset=transfer,offers=greedy,lr=0,every=1,episodes=1,repeats=yes)", made->task,
                   6, {.seed = seed});
    ASSERT_EQ(walk.placements.size(), 6U);
    const UnitPlacement& end = walk.placements.back();
    std::vector<double> busy(2);
    for (const UnitIndex unit : graph.order()) {
      const auto u = static_cast<std::size_t>(unit);
      if (busy[0] != busy[1]) {
        EXPECT_EQ(end[u], busy[0] < busy[1] ? 0 : 1) << "op" << unit << ", seed " << seed;
      }
      busy[static_cast<std::size_t>(end[u])] += cost_us[u];
    }
  }
}

// A short unit leaves a busy device for its own good, a long one, which loses little of its length, stays with its input.
TEST(Placeto, TheGreedyControlStaysWithItsHeaviestInputWhereThatCostsLittle) {
  for (const auto& [length_us, stays] : {std::pair{10., false}, {150., true}}) {
    const auto made = MakeTestTask({{10, 4, {}}, {12, 4, {}}, {100, 4, {}}, {length_us, 4, {0}}});
    const Samples walk = SearchOnce(
        "placeto(preset=transfer,offers=greedy,lr=0,every=1,episodes=1,repeats=yes)", made->task, 5);
    const UnitPlacement& end = walk.placements.back();
    ASSERT_EQ(end[2], end[0]) << "so the device of the first is busy";
    EXPECT_EQ(end[3] == end[0], stays) << length_us;
  }
}

// Its network is outweighed by the logit for staying, so that a pass without learning would move nothing.
TEST(Placeto, TheSearchOfOneGraphIsNotForOthers) {
  const auto made = MakeTestTask(RandomDag(7, 1));
  const auto refused = [&](const char* spec) {
    try {
      SearchOnce(spec, made->task, 10, {.learn = false});
      return false;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("placeto(preset=transfer)"));
      return true;
    }
  };
  EXPECT_TRUE(refused("placeto"));
  EXPECT_FALSE(refused("placeto(preset=walk)"));
  EXPECT_FALSE(refused("placeto(preset=transfer)"));
  EXPECT_FALSE(refused("placeto(moves=0)"));
}

}  // namespace
}  // namespace stowplan::agents::rl
