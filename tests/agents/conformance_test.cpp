// The contract of agents/agent.h for every row of the table: a new agent is tested before its author has
// written a test. Learners are tested where the build has their plug-in.
#include "agents/agent.h"
#include "agents/bounds/bounds.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

struct Call {
  UnitPlacement placement;
  sim::Picos runtime;
  bool feasible;
  bool operator==(const Call&) const = default;
};

struct Trial {
  std::vector<Call> calls;
  bool has_best = false;
  sim::Picos best = 0;
  std::int64_t samples = 0;
  std::optional<std::string> refusal;  // the InputError, where the agent does not take the task
};

class Conformance : public testing::TestWithParam<AgentRow> {
 protected:
  void SetUp() override {
    if (GetParam().kind != AgentKind::kLearner) return;
    try {
      MakeAgent(GetParam().name);
    } catch (const RunError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::string name() const { return GetParam().name; }
  bool is_exact() const { return name() == "brute_force"; }

  Trial Search(const Task& task, std::int64_t budget, std::uint64_t seed = 1, int threads = 1) const {
    Evaluator::Options options;
    options.budget = budget;
    options.threads = threads;
    Evaluator evaluator(task, options);
    return SearchWith(task, evaluator, seed, threads);
  }

  Trial SearchWith(const Task& task, Evaluator& evaluator, std::uint64_t seed = 1, int threads = 1) const {
    SearchOptions options;
    options.seed = seed;
    options.threads = threads;
    Trial run;
    evaluator.observer = [&](std::int64_t, const UnitPlacement& placement, const Evaluation& evaluation) {
      run.calls.push_back({placement, evaluation.runtime, evaluation.feasible});
    };
    try {
      MakeAgent(SmallSpec(GetParam()))->Search(task, evaluator, options);
    } catch (const InputError& error) {
      run.refusal = error.what();
    }
    run.has_best = evaluator.has_best();
    run.best = evaluator.best_runtime();
    run.samples = evaluator.samples();
    return run;
  }
};

TEST_P(Conformance, NamesRoundTrip) {
  const bool is_external = name() == "external";  // which is nothing without a program
  const std::string canonical = MakeAgent(is_external ? SmallSpec(GetParam()) : name())->name();
  EXPECT_EQ(MakeAgent(canonical)->name(), canonical);
  EXPECT_EQ(canonical.substr(0, name().size()), name());
  EXPECT_STRNE(GetParam().what, "");
}

TEST_P(Conformance, RefusesUnknownParametersAndListsTheKnownOnes) {
  try {
    MakeAgent(name() + "(colour=red)");
    FAIL() << "an unknown parameter was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("colour"));
    const std::vector<Setting>& settings = GetParam().settings.rows;
    EXPECT_THAT(error.what(),
                HasSubstr(settings.empty() ? "it takes none" : "it takes " + settings.front().name));
  }
}

// Legality is checked by the evaluator, which aborts the program.
TEST_P(Conformance, KeepsWithinTheBudget) {
  const auto tiny = TinyCase();
  const auto random = RandomCase(11, {.ops = 12, .gpus = 2});
  for (const Case* c : {tiny.get(), random.get()}) {
    const Task task = MakeTask(*c->problem, "");
    for (const std::int64_t budget : {0, 1, 7, 40}) {
      SCOPED_TRACE(testing::Message() << task.units.size() << " units, budget " << budget);
      const Trial run = Search(task, budget);
      EXPECT_LE(run.samples, budget);
      EXPECT_EQ(run.samples, static_cast<std::int64_t>(run.calls.size()));
      if (run.refusal) {
        EXPECT_TRUE(is_exact());  // which takes all or nothing
        EXPECT_EQ(run.samples, 0);
        continue;
      }
      EXPECT_EQ(run.samples > 0, budget > 0);
      // Stages ends with the splits that there are.
      if (Samples(GetParam()) && !is_exact() && name() != "stages") {
        // Local search tries each placement once.
        const double placements = std::pow(task.devices.size(), task.units.size());
        const bool can_end = name() == "local_search" && placements < static_cast<double>(budget);
        EXPECT_EQ(run.samples, can_end ? static_cast<std::int64_t>(placements) : budget);
      }
    }
  }
}

TEST_P(Conformance, SameSeedSameCallsForAnyThreads) {
  const auto c = RandomCase(12, {.ops = is_exact() ? 4 : 20, .gpus = 2, .tight_memory = true});
  const Task task = MakeTask(*c->problem, "");
  const std::int64_t budget = is_exact() ? 100 : 40;
  const Trial expected = Search(task, budget, 3, 1);
  ASSERT_FALSE(expected.refusal) << *expected.refusal;
  for (const int threads : {1, 2, 4})
    EXPECT_EQ(Search(task, budget, 3, threads).calls, expected.calls) << threads;
}

TEST_P(Conformance, BestIsNoWorseThanAnySample) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 5, .tight_memory = seed % 2 == 0});
    const Task task = MakeTask(*c->problem, "");
    const Trial run = Search(task, 243, seed);
    std::optional<sim::Picos> best;
    for (const Call& call : run.calls) {
      if (call.feasible && (!best || call.runtime < *best)) best = call.runtime;
    }
    EXPECT_EQ(run.has_best, best.has_value());
    if (best) {
      EXPECT_EQ(run.best, *best);
    }
  }
}

TEST_P(Conformance, NothingFitsIsAResult) {
  const auto c = TinyCase();
  for (sim::Device& device : c->cluster.devices) device.memory = 100;
  const Task task = MakeTask(*c->problem, "");
  const Trial run = Search(task, 30);
  EXPECT_FALSE(run.refusal);
  EXPECT_FALSE(run.has_best);
  EXPECT_GT(run.samples, 0);
}

TEST_P(Conformance, TakesOneDeviceAndOneUnit) {
  const auto c = TinyCase();
  const Task one_device = MakeTask(*c->problem, "", {"gpu1"});
  if (name() != "cpu_only") {
    EXPECT_EQ(Search(one_device, 20).best, 60'000'000);  // 10 + 30 + 20
  }
  const Task one_unit = MakeTask(*c->problem, "neighbour(groups=1)", {"cpu0", "gpu0"});
  const Trial run = Search(one_unit, 20);
  EXPECT_EQ(run.best, name() == "cpu_only" || name() == "round_robin" ? 300'000'000 : 60'000'000);
}

TEST_P(Conformance, StopsWhenAsked) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  std::atomic<bool> stop{true};
  Evaluator::Options options;
  options.budget = 1000;
  options.stop = &stop;
  Evaluator evaluator(task, options);
  EXPECT_EQ(SearchWith(task, evaluator).samples, 0) << "asked before the first sample";

  stop = false;
  options.on_sample = [&stop](const Evaluator& e) { stop = e.samples() >= 3; };
  Evaluator later(task, options);
  EXPECT_LT(SearchWith(task, later).samples, 500) << "asked after the third";
}

// The oracle and the bound on both sides of every agent.
TEST_P(Conformance, LiesBetweenBoundAndOracle) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 5, .tight_memory = seed % 3 == 0});
    const Task task = MakeTask(*c->problem, "");
    Evaluator exact(task, {.budget = 243});
    MakeAgent("brute_force")->Search(task, exact, {});
    const Trial run = Search(task, 60, seed);
    if (!run.has_best) continue;
    ASSERT_TRUE(exact.has_best());
    EXPECT_GE(run.best, exact.best_runtime());
    EXPECT_GE(run.best, ComputeLowerBound(*c->problem).best());
  }
}

std::string NameOf(const testing::TestParamInfo<AgentRow>& row) {
  return row.param.name;
}
INSTANTIATE_TEST_SUITE_P(Agents, Conformance, testing::ValuesIn(Agents()), NameOf);

}  // namespace

// How a failing row is printed.
void PrintTo(const AgentRow& row, std::ostream* out) {
  *out << row.name;
}

}  // namespace stowplan::agents
