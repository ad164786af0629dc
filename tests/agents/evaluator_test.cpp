#include "agents/evaluator.h"

#include <nlohmann/json.hpp>

#include "agents/placements.h"
#include "agents/search/moves.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

// a (10 us) on gpu0 or gpu1, b and c behind it; all on gpu0: 10 + 20 + 30, all on gpu1: 10 + 30 + 20;
// everything on the CPU 300. b on gpu0 and c on gpu1: a's 1 KiB leaves at 10 and needs 2 * 5 us + 0.1024 us:
// max(30, 20.1024 + 20).
constexpr sim::Picos kSplit = 40'102'400;

class EvaluatorTest : public testing::Test {
 protected:
  EvaluatorTest() : tiny_(TinyCase()), task_(MakeTask(*tiny_->problem, "")) {}

  Evaluator::Options Budget(std::int64_t budget, int threads = 1) const {
    Evaluator::Options options;
    options.budget = budget;
    options.threads = threads;
    return options;
  }

  std::unique_ptr<Case> tiny_;
  Task task_;
};

TEST_F(EvaluatorTest, CountsWhateverIsAsked) {
  Evaluator evaluator(task_, Budget(10));
  EXPECT_EQ(evaluator.Evaluate({1, 1, 1}).runtime, 60'000'000);
  EXPECT_EQ(evaluator.samples(), 1);
  evaluator.Evaluate({1, 1, 1});  // repeated
  EXPECT_EQ(evaluator.samples(), 2);
  EXPECT_EQ(evaluator.distinct(), 1);
  const Evaluation stopped = evaluator.Evaluate({0, 0, 0}, false, 100'000'000);  // cut off
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(evaluator.samples(), 3);
  EXPECT_EQ(evaluator.distinct(), 2);
  evaluator.EvaluateBatch(std::vector<UnitPlacement>{{1, 1, 1}, {2, 2, 2}});
  EXPECT_EQ(evaluator.samples(), 5);
  EXPECT_EQ(evaluator.remaining(), 5);
  EXPECT_EQ(evaluator.distinct(), 3);
  EXPECT_EQ(evaluator.proposals(), 0);
  evaluator.CountProposal();
  EXPECT_EQ(evaluator.proposals(), 1);
}

TEST_F(EvaluatorTest, KeepsTheBestAndTheCurve) {
  Evaluator evaluator(task_, Budget(10));
  EXPECT_FALSE(evaluator.has_best());
  EXPECT_EQ(evaluator.samples_to_best(), 0);
  for (const UnitPlacement& placement :
       std::vector<UnitPlacement>{{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 2}, {1, 1, 1}}) {
    evaluator.Evaluate(placement);
  }
  EXPECT_THAT(evaluator.best(), ElementsAre(1, 1, 2));
  EXPECT_EQ(evaluator.best_runtime(), kSplit);
  ASSERT_THAT(evaluator.curve(), SizeIs(3));
  EXPECT_EQ(evaluator.curve()[0].sample, 1);
  EXPECT_EQ(evaluator.curve()[0].best, 300'000'000);
  EXPECT_EQ(evaluator.curve()[1].sample, 2);
  EXPECT_EQ(evaluator.curve()[2].sample, 4);
  EXPECT_EQ(evaluator.samples_to_best(), 4);
  EXPECT_EQ(evaluator.samples_to_within(0.01), 4);
  EXPECT_EQ(evaluator.samples_to_within(0.5), 2);  // 60 <= 1.5 * 40.1
  EXPECT_EQ(evaluator.samples_to_within(10), 1);
}

TEST_F(EvaluatorTest, ACutOffEvaluationIsNeverTheBest) {
  Evaluator evaluator(task_, Budget(10));
  EXPECT_TRUE(evaluator.Evaluate({0, 0, 0}, false, 1'000'000).stopped);
  EXPECT_FALSE(evaluator.has_best());
  const Evaluation met = evaluator.Evaluate({1, 1, 1}, false, 60'000'000);  // not exceeded
  EXPECT_FALSE(met.stopped);
  EXPECT_EQ(evaluator.best_runtime(), 60'000'000);
}

TEST_F(EvaluatorTest, IsAskedToEndWithItsTime) {
  Evaluator ended(task_, {.budget = 10, .seconds = 1e-12});
  EXPECT_TRUE(ended.stop_requested());
  EXPECT_TRUE(ended.out_of_time());
  Evaluator open(task_, {.budget = 10, .seconds = 1e9});
  EXPECT_FALSE(open.stop_requested());
  EXPECT_FALSE(Evaluator(task_, {.budget = 10}).out_of_time());
}

TEST_F(EvaluatorTest, GivesStartTimesOnRequest) {
  Evaluator evaluator(task_, Budget(2));
  EXPECT_THAT(evaluator.Evaluate({1, 1, 1}).start, IsEmpty());
  EXPECT_THAT(evaluator.Evaluate({1, 1, 1}, true).start, ElementsAre(0, 10'000'000, 30'000'000));
}

TEST_F(EvaluatorTest, CutsABatchAtTheBudget) {
  for (const int threads : {1, 2}) {
    Evaluator evaluator(task_, Budget(2, threads));
    EXPECT_THAT(evaluator.EvaluateBatch(std::vector<UnitPlacement>(5, {1, 1, 1})), SizeIs(2));
    EXPECT_EQ(evaluator.remaining(), 0);
  }
}

TEST_F(EvaluatorTest, NothingGoesPastTheBudget) {
  Evaluator evaluator(task_, Budget(1));
  evaluator.Evaluate({1, 1, 1});
  EXPECT_DEATH(evaluator.Evaluate({1, 1, 1}), "samples\\(\\) < budget\\(\\)");
  EXPECT_DEATH(evaluator.EvaluateBatch(std::vector<UnitPlacement>{{1, 1, 1}}),
               "samples\\(\\) < budget\\(\\)");
}

TEST_F(EvaluatorTest, RefusesWhatIsNoPlacement) {
  const Task gpus = MakeTask(*tiny_->problem, "", {"gpu0", "gpu1"});
  Evaluator evaluator(gpus, Budget(5));
  EXPECT_DEATH(evaluator.Evaluate({1, 1}), "IsLegal");
  EXPECT_DEATH(evaluator.Evaluate({1, 1, 0}), "IsLegal");  // the CPU was not offered
  EXPECT_DEATH(evaluator.EvaluateBatch(std::vector<UnitPlacement>{{1, 1, 3}, {1, 1, 1}}), "IsLegal");
}

TEST_F(EvaluatorTest, ReportsWhatDoesNotFit) {
  tiny_->cluster.devices[1].memory = 1024;  // a and one more output of 1 KiB do not fit
  Evaluator evaluator(task_, Budget(5));
  const Evaluation evaluation = evaluator.Evaluate({1, 1, 1});
  EXPECT_FALSE(evaluation.feasible);
  ASSERT_TRUE(evaluation.oom.has_value());
  EXPECT_EQ(evaluation.oom->device, 1);
  EXPECT_EQ(evaluation.runtime, 60'000'000) << "as if memory were unlimited";
  EXPECT_GT(evaluation.peak[1], 1024);
  EXPECT_EQ(evaluator.samples(), 1);
  EXPECT_FALSE(evaluator.has_best());
  evaluator.Evaluate({2, 2, 2});
  EXPECT_EQ(evaluator.samples_to_best(), 2);
}

// Submission order and equal bits for any number of threads.
TEST_F(EvaluatorTest, BatchesEqualSingleEvaluations) {
  const auto random = RandomCase(5, {.ops = 30, .gpus = 3, .tight_memory = true});
  const Task task = MakeTask(*random->problem, "");
  Rng rng(1, "test");
  std::vector<UnitPlacement> placements;
  for (int i = 0; i < 50; ++i) placements.push_back(UniformPlacement(task, rng));
  Evaluator single(task, Budget(50));
  std::vector<Evaluation> expected;
  for (const UnitPlacement& placement : placements) expected.push_back(single.Evaluate(placement, true));
  for (const int threads : {1, 2, 8}) {
    Evaluator batch(task, Budget(50, threads));
    const std::vector<Evaluation> found = batch.EvaluateBatch(placements, true);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].runtime, expected[i].runtime);
      EXPECT_EQ(found[i].feasible, expected[i].feasible);
      EXPECT_EQ(found[i].peak, expected[i].peak);
      EXPECT_EQ(found[i].start, expected[i].start);
    }
    EXPECT_EQ(batch.samples_to_best(), single.samples_to_best());
    EXPECT_EQ(batch.has_best(), single.has_best());
    EXPECT_EQ(batch.best(), single.best());
  }
}

TEST_F(EvaluatorTest, TellsObserversInSampleOrder) {
  int calls = 0;
  Evaluator::Options options = Budget(10, 2);
  options.on_sample = [&calls](const Evaluator&) { ++calls; };
  std::atomic<bool> stop{false};
  options.stop = &stop;
  Evaluator evaluator(task_, options);
  std::vector<std::int64_t> samples;
  std::vector<UnitPlacement> seen;
  evaluator.observer = [&](std::int64_t sample, const UnitPlacement& placement, const Evaluation&) {
    samples.push_back(sample);
    seen.push_back(placement);
  };
  evaluator.Evaluate({0, 0, 0});
  evaluator.EvaluateBatch(std::vector<UnitPlacement>{{1, 1, 1}, {2, 2, 2}});
  EXPECT_THAT(samples, ElementsAre(1, 2, 3));
  EXPECT_THAT(seen[2], ElementsAre(2, 2, 2));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(evaluator.stop_requested());
  stop = true;
  EXPECT_TRUE(evaluator.stop_requested());
}

TEST_F(EvaluatorTest, GoesOnFromItsState) {
  Evaluator first(task_, Budget(10));
  first.Evaluate({0, 0, 0});
  first.Evaluate({1, 1, 1});
  first.CountProposal();
  first.CountScreens(16);
  const std::string state = first.SaveState();

  Evaluator second(task_, Budget(10));
  second.RestoreState(state);
  for (Evaluator* evaluator : {&first, &second}) {
    evaluator->Evaluate({1, 1, 1});
    evaluator->Evaluate({1, 1, 2});
    EXPECT_EQ(evaluator->samples(), 4);
    EXPECT_EQ(evaluator->distinct(), 3);
    EXPECT_EQ(evaluator->proposals(), 1);
    EXPECT_EQ(evaluator->screens(), 16);
    EXPECT_EQ(evaluator->best_runtime(), kSplit);
    EXPECT_EQ(evaluator->samples_to_best(), 4);
    EXPECT_THAT(evaluator->curve(), SizeIs(3));
  }
  EXPECT_GE(second.curve()[2].wall_seconds, second.curve()[1].wall_seconds);
}

// What a resumed search would choose from is what one without interruption would.
TEST_F(EvaluatorTest, AStateHoldsThePlainest) {
  Evaluator first(task_, {.budget = 10, .within = 100});
  for (const UnitPlacement& placement :
       {UnitPlacement{1, 1, 2}, UnitPlacement{1, 1, 1}, UnitPlacement{0, 1, 2}})
    first.Evaluate(placement);
  Evaluator second(task_, {.budget = 10, .within = 100}), without(task_, Budget(10));
  second.RestoreState(first.SaveState());
  ASSERT_THAT(first.plainest().kept(), Not(IsEmpty()));
  ASSERT_EQ(second.plainest().kept().size(), first.plainest().kept().size());
  for (std::size_t i = 0; i < first.plainest().kept().size(); ++i) {
    EXPECT_EQ(second.plainest().kept()[i].placement, first.plainest().kept()[i].placement);
    EXPECT_EQ(second.plainest().kept()[i].plainness, first.plainest().kept()[i].plainness);
  }
  EXPECT_EQ(first.plainest().kept().front().plainness.devices, 1);
  // Of a search that kept none the best is there.
  without.Evaluate({1, 1, 2});
  Evaluator third(task_, {.budget = 10, .within = 0.01});
  third.RestoreState(without.SaveState());
  ASSERT_THAT(third.plainest().kept(), SizeIs(1));
  EXPECT_EQ(third.plainest().kept().front().placement, third.best());
}

TEST_F(EvaluatorTest, RefusesForeignStates) {
  Evaluator evaluator(task_, Budget(2));
  evaluator.Evaluate({1, 1, 1});
  const std::string state = evaluator.SaveState();

  const Task gpus = MakeTask(*tiny_->problem, "", {"gpu0", "gpu1"});
  Evaluator other(gpus, Budget(2));
  EXPECT_THAT([&] { other.RestoreState(state); }, ThrowsMessage<InputError>(HasSubstr("another graph")));
  Evaluator poor(task_, Budget(0));
  EXPECT_THAT([&] { poor.RestoreState(state); }, ThrowsMessage<InputError>(HasSubstr("the budget of 0")));
  Evaluator fresh(task_, Budget(2));
  EXPECT_THAT([&] { fresh.RestoreState("{\"task\":1"); }, ThrowsMessage<InputError>(HasSubstr("SaveState")));
  std::string broken = state;
  broken.replace(broken.find("\"best\":["), 9, "\"best\":[9,");
  EXPECT_THROW(fresh.RestoreState(broken), InputError);
  for (const std::string key : {"proposals", "screens"}) {
    for (const std::int64_t count : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
      nlohmann::json forged = nlohmann::json::parse(state);
      forged[key] = count;
      EXPECT_THAT([&] { fresh.RestoreState(forged.dump()); },
                  ThrowsMessage<InputError>(HasSubstr("it has counted to")));
    }
  }
  for (const std::int64_t sample : {-1, 0, 3}) {
    nlohmann::json forged = nlohmann::json::parse(state);
    forged["curve"][0][0] = sample;
    EXPECT_THAT([&] { fresh.RestoreState(forged.dump()); },
                ThrowsMessage<InputError>(HasSubstr("its curve has sample")));
  }
  EXPECT_EQ(fresh.samples(), 0) << "a refused state changes nothing";
  EXPECT_FALSE(fresh.has_best());
}

// Else an agent could set its counter back.
TEST_F(EvaluatorTest, AStateIsRestoredOnlyBeforeTheFirstSample) {
  Evaluator evaluator(task_, Budget(2));
  const std::string empty = evaluator.SaveState();
  evaluator.Evaluate({1, 1, 1});
  EXPECT_DEATH(evaluator.RestoreState(empty), "samples");
}

// What is saved while an agent goes on does not change under who saves it.
TEST_F(EvaluatorTest, CountsNothingMoreWhenItIsFrozen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto counts_on = [this] {
    std::atomic<std::int64_t> seen = 0;
    Evaluator::Options options = Budget(1'000'000'000);
    options.on_sample = [&](const Evaluator& now) { seen = now.samples(); };
    Evaluator evaluator(task_, options);
    std::thread([&] {
      while (seen < 100) std::this_thread::yield();
      evaluator.Freeze();
      const std::int64_t samples = evaluator.samples();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::_Exit(evaluator.samples() == samples && seen == samples && evaluator.has_best() ? 3 : 4);
    }).detach();
    for (;;) evaluator.Evaluate({1, 1, 1});
  };
  EXPECT_EXIT(counts_on(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace stowplan::agents
