// What every learner of the module keeps, beyond tests/agents/conformance_test.cpp: it is listed, resumes as
// if never interrupted, and carries what it learned.
#include <fmt/format.h>

#include "agents/rl/checkpoint.h"
#include "tests/agents/problems.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

extern "C" const std::vector<stowplan::agents::AgentRow>* stowplan_rl_agents();

namespace stowplan::agents::rl {
namespace {

// agents/registry.cpp lists the learners without opening the module: the two must know the same agents.
TEST(Learners, ModuleMakesThoseThatAreListed) {
  std::vector<std::string> made, listed;
  for (const AgentRow& row : *stowplan_rl_agents()) made.emplace_back(row.name);
  for (const AgentRow& row : Agents()) {
    if (row.kind == AgentKind::kLearner) listed.emplace_back(row.name);
  }
  EXPECT_THAT(made, ::testing::UnorderedElementsAreArray(listed));
}

class EachLearner : public testing::TestWithParam<AgentRow> {
 protected:
  // With small networks where the size is a parameter.
  std::unique_ptr<Agent> Make() const {
    return GetParam().make(AgentSettings(SmallSpec(*FindAgent(GetParam().name))));
  }
  // Of several presets the one whose weights are for any graph.
  std::unique_ptr<Agent> MakeForTransfer() const {
    const std::vector<std::string>& presets = Find("preset")->values.choices;
    return std::ranges::count(presets, "transfer") > 0 ? Make("preset=transfer") : Make();
  }
  // nullptr = it has no such setting.
  const Setting* Find(const std::string& setting) const {
    return FindAgent(GetParam().name)->settings.Find(setting);
  }
  std::unique_ptr<Agent> Make(const std::string& parameters) const {
    return GetParam().make(AgentSettings(GetParam().name + ("(" + parameters + ")")));
  }
};

// docs/protocol_rules.md#rnn: the network of the open planner is a choice of its own, and that of its preset.
TEST(Rnn, HasTwoNetworks) {
  const auto name = [](const std::string& parameters) {
    return MakeAgent("rnn(" + parameters + ")")->name();
  };
  EXPECT_THAT(name("preset=tuned"), HasSubstr("network=icml17"));
  EXPECT_THAT(name("preset=paper"), HasSubstr("network=icml17"));
  EXPECT_THAT(name("preset=code"), HasSubstr("network=planner"));
  // All settings of the preset but the network's.
  EXPECT_EQ(name("preset=code,network=planner"), name("preset=code"));
  EXPECT_EQ(name("preset=code,network=icml17"), name("preset=code,network=icml17,noise=0.5,lr=0.1,batch=1"));
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  const auto samples = [&](const std::string& parameters) {
    const auto agent = MakeAgent("rnn(width=8," + parameters + ")");
    return SearchOnce(*agent, made->task, 150);
  };
  const Samples planner = samples("network=planner");
  EXPECT_EQ(planner.counted, 150);
  EXPECT_EQ(samples("network=planner"), planner);
  EXPECT_NE(samples("network=icml17").placements, planner.placements);
}

TEST_P(EachLearner, IsNoWorseThanItsFirstSampleAndRepeats) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  const std::string path = InTemp("kept.ckpt");
  const Samples plain = SearchOnce(*Make(), made->task, 150);
  EXPECT_EQ(plain.counted, 150);
  EXPECT_LE(*std::min_element(plain.runtimes.begin(), plain.runtimes.end()), plain.runtimes.front());
  EXPECT_EQ(SearchOnce(*Make(), made->task, 150, {.checkpoint = path}), plain) << "with a checkpoint";
  EXPECT_EQ(SearchOnce(*Make(), made->task, 150, {.threads = 2}, 2), plain) << "with two threads";
  EXPECT_NE(SearchOnce(*Make(), made->task, 150, {.seed = 2}).placements, plain.placements);
}

// A checkpoint is data: with bytes changed under a checksum that is right it is refused, or goes on with other numbers.
TEST_P(EachLearner, ForgedCheckpointsAreRefusedOrGoOn) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  const std::string path = InTemp("forged.ckpt");
  std::atomic<bool> stop = false;
  Evaluator evaluator(made->task, {.budget = 90, .stop = &stop});
  evaluator.observer = [&](std::int64_t sample, const UnitPlacement&, const Evaluation&) {
    if (sample == 47) stop = true;  // inside a batch
  };
  Make()->Search(made->task, evaluator, {.checkpoint = path});
  const Checkpoint whole = ReadCheckpoint(path);
  Rng rng(1, "forgery");
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    Checkpoint forged = whole;
    auto section = forged.sections.begin();
    std::advance(section, static_cast<std::int64_t>(rng.Below(forged.sections.size())));
    std::string& bytes = section->second;
    const std::size_t at = rng.Below(bytes.size());
    if (i % 3 == 0) {
      bytes.resize(at);
    } else if (i % 3 == 1) {
      bytes[at] = static_cast<char>(rng.Below(256));
    } else {
      for (std::size_t k = at / 8 * 8; k < std::min(bytes.size(), at / 8 * 8 + 8); ++k) bytes[k] = '\x7f';
    }
    WriteCheckpoint(path, forged);
    Evaluator again(made->task, {.budget = 90});
    try {
      Make()->Search(made->task, again, {.checkpoint = path, .resume = true});
    } catch (const InputError&) {
      ++refused;
    } catch (const RunError&) {  // weights that give no finite number
    }
  }
  EXPECT_GT(refused, 20);
  // Counted on from there, they would overflow. Behind seed, whether it learns, and the number of tasks: updates, log.
  for (const std::size_t at : {8 + 1 + 8, 8 + 1 + 8 + 8}) {
    for (const std::int64_t count : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
      Checkpoint forged = whole;
      std::memcpy(forged.sections.at("run").data() + at, &count, sizeof count);
      WriteCheckpoint(path, forged);
      Evaluator again(made->task, {.budget = 90});
      EXPECT_THROW(Make()->Search(made->task, again, {.checkpoint = path, .resume = true}), InputError);
    }
  }
}

// Stopped at arbitrary samples, several times in a row, and once thrown back to an older checkpoint, as after
// kill -9: the same samples, weights and log as without.
TEST_P(EachLearner, ResumedEqualsUninterrupted) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  const std::int64_t budget = 227;
  const std::string whole_path = InTemp("whole.ckpt"), path = InTemp("parts.ckpt"),
                    old_path = InTemp("old.ckpt");
  const Samples whole = SearchOnce(*Make(), made->task, budget, {.checkpoint = whole_path});

  Samples parts;
  parts.placements.resize(static_cast<std::size_t>(budget));
  parts.runtimes.resize(static_cast<std::size_t>(budget));
  std::int64_t stop_at = 1;
  for (int run = 0; parts.counted < budget; ++run) {
    ASSERT_LT(run, 100);
    std::atomic<bool> stop = false;
    Evaluator evaluator(made->task, {.budget = budget, .stop = &stop});
    stop_at += 37;
    evaluator.observer = [&](std::int64_t sample, const UnitPlacement& placement,
                             const Evaluation& evaluation) {
      parts.placements[static_cast<std::size_t>(sample - 1)] = placement;
      parts.runtimes[static_cast<std::size_t>(sample - 1)] = evaluation.runtime;
      if (sample >= stop_at) stop = true;
    };
    Make()->Search(made->task, evaluator, {.checkpoint = path, .resume = run > 0});
    parts.counted = evaluator.samples();
    parts.proposals = evaluator.proposals();
    const auto overwrite = std::filesystem::copy_options::overwrite_existing;
    if (run == 1) std::filesystem::copy_file(path, old_path, overwrite);
    if (run == 3) std::filesystem::copy_file(old_path, path, overwrite);
  }
  EXPECT_EQ(parts, whole);
  for (const char* section : {"weights", "state"}) {
    EXPECT_TRUE(ReadCheckpoint(path).section(section, path) ==
                ReadCheckpoint(whole_path).section(section, whole_path))
        << section;
  }
  EXPECT_EQ(Slurp(path + ".log.csv"), Slurp(whole_path + ".log.csv"));
}

TEST_P(EachLearner, CarriesItsWeightsToAFileAndBack) {
  const auto made = MakeTestTask(RandomDag(9, 3)), other = MakeTestTask(RandomDag(9, 4));
  const auto agent = MakeForTransfer();
  auto* const transferable = dynamic_cast<Transferable*>(agent.get());
  ASSERT_NE(transferable, nullptr);
  Evaluator first(made->task, {.budget = 70}), second(other->task, {.budget = 75});
  transferable->Train({&made->task, &other->task}, {&first, &second}, {});
  EXPECT_EQ(first.remaining() + second.remaining(), 0);

  const std::string path = InTemp("trained.ckpt");
  transferable->Save(path);
  const Samples applied = SearchOnce(*MakeForTransfer(), other->task, 100, {.learn = false, .init = path});
  EXPECT_LT(applied.counted, 100);
  EXPECT_EQ(SearchOnce(*agent, other->task, 100, {.learn = false}), applied);
  const auto wide = MakeTestTask(RandomDag(9, 3), 3);
  EXPECT_THROW(SearchOnce(*MakeForTransfer(), wide->task, 100, {.init = path}), InputError);
}

// Mean entropy of the decisions of the first update, from the learning log.
double FirstEntropy(const std::string& log) {
  std::istringstream lines(Slurp(log));
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("1,")) {
  }
  std::istringstream columns(line);
  std::string column;
  for (int i = 0; i <= 5; ++i) std::getline(columns, column, ',');
  return std::stod(column);
}

// A policy that is sure of something before it has seen a reward tries nothing else: it stays where its random
// weights put it. Units with many neighbours, as groups of real networks have, are what makes one sure.
TEST_P(EachLearner, FreshPolicyIsUndecidedWhereUnitsHaveManyNeighbours) {
  if (Find("imitate") != nullptr)
    GTEST_SKIP() << "is decided by what it imitated, as far as `smoothing` lets it";
  std::vector<TestOp> ops;
  for (int i = 0; i < 40; ++i) {
    ops.push_back({100, 1'000'000, {}});
    for (int back = 1; back <= std::min(i, 12); ++back) ops.back().inputs.push_back(i - back);
  }
  const auto made = MakeTestTask(ops);
  const std::string path = InTemp("fresh.ckpt");
  const bool walks = Find("episodes") != nullptr;
  const bool stays = Find("stay") != nullptr;
  // From the best placement few units move by intention: the walk is the preset that has to be undecided. That units stay
  // with their neighbours is intended.
  // Half of a grouper's decisions are groups, on which it is nearly sure on purpose; with as many as units none is empty.
  const bool groups = Find("groups") != nullptr;
  const std::string spec = std::string(GetParam().name) + (walks    ? "(preset=walk)"
                                                           : groups ? "(groups=40,stay=0)"
                                                           : stays  ? "(stay=0)"
                                                                    : "");
  SearchOnce(*GetParam().make(AgentSettings(spec)), made->task, walks ? 4 * 41 : 21, {.checkpoint = path});
  EXPECT_GT(FirstEntropy(path + ".log.csv"), (groups ? 0.45 : 0.9) * std::log(2));
}

// One op of eight matters, ten times as fast on one device: its credit is found among decisions without effect.
TEST_P(EachLearner, LearnsTheOneDecisionThatMatters) {
  Case bandit;
  for (int i = 0; i < 8; ++i) {
    std::vector<sim::OpIndex> inputs;
    if (i > 0) inputs.push_back(i - 1);
    bandit.Add("op" + std::to_string(i), {i == 4 ? 1000.0 : 1.0, i == 4 ? 100.0 : 1.0}, inputs, 0);
  }
  bandit.UseGpus(1);
  const Task task = MakeTask(bandit.Finish(), "");
  const auto agent = MakeForTransfer();
  SearchOnce(*agent, task, 2000);
  const std::string path = InTemp("bandit.ckpt");
  dynamic_cast<Transferable&>(*agent).Save(path);
  const Samples greedy = SearchOnce(*agent, task, 100, {.learn = false, .init = path});
  EXPECT_LT(greedy.runtimes.back(), 300 * sim::kPicosPerMicro);
}

// The cheapest case of the learning gate that no single device solves: two chains whose copies take as long as their ops.
TEST_P(EachLearner, PlacesChainsInContiguousPieces) {
  if (Find("episodes") != nullptr)
    GTEST_SKIP() << "walks on from its best placement: how its samples spread says what it explores, not "
                    "what it knows";
  constexpr int kLength = 8;
  std::vector<TestOp> ops;
  for (int i = 0; i < 2 * kLength; ++i)
    ops.push_back({10'000, 100'000'000, i < 2 ? std::vector<int>{} : std::vector<int>{i - 2}});
  const auto made = MakeTestTask(ops);
  const Samples samples =
      SearchOnce(*GetParam().make(AgentSettings(SmallSpec(*FindAgent(GetParam().name)))), made->task, 3000);
  const auto mean = [&](std::size_t first) {
    double sum = 0;
    for (std::size_t i = first; i < first + 300; ++i) sum += sim::ToMicros(samples.runtimes[i]) / 300;
    return sum - kLength * 10'000;  // above the optimum
  };
  EXPECT_LT(mean(samples.runtimes.size() - 300), mean(0) / 2);
}

// The policy itself, not only its luckiest draw: ops of two types, each ten times as fast on a device of its
// own.
TEST_P(EachLearner, OverfitsATinyGraphToTheOptimum) {
  if (Find("batch") == nullptr) GTEST_SKIP() << "no one-shot learner: it has a test of its own";
  Case tiny;
  for (int i = 0; i < 6; ++i) {
    const bool first = i % 3 == 0;
    std::vector<sim::OpIndex> inputs;
    if (i > 0) inputs.push_back(i - 1);
    tiny.Add("op" + std::to_string(i), {first ? 100.0 : 1000.0, first ? 1000.0 : 100.0}, inputs).type =
        first ? "Gather" : "MatMul";
  }
  tiny.UseGpus(1);
  const Task task = MakeTask(tiny.Finish(), "");
  std::string spec = SmallSpec(*FindAgent(GetParam().name));
  // Fewer groups than ops would mix their types.
  if (const std::size_t groups = spec.find("groups=4"); groups != std::string::npos) spec[groups + 7] = '6';
  // Settings found by trial: longer steps drive sgdp's gates to one device for all, and the weight of offers to groups, which
  // the sum over all decisions trains, beyond what the network can take back.
  const bool short_steps =
      GetParam().name == std::string("sgdp") || spec.find("groups=") != std::string::npos;
  spec.insert(spec.size() - 1, fmt::format(",lr={},entropy=1,loss=sum", short_steps ? 0.003 : 0.01));
  const auto agent = GetParam().make(AgentSettings(spec));
  SearchOnce(*agent, task, 4000);
  const std::string path = InTemp("overfit.ckpt");
  dynamic_cast<Transferable&>(*agent).Save(path);
  const Samples greedy = SearchOnce(*agent, task, 10, {.learn = false, .init = path});
  ASSERT_EQ(greedy.counted, 1);
  EXPECT_EQ(greedy.runtimes.front(), BruteForceOptimum(task));
}

std::string NameOf(const testing::TestParamInfo<AgentRow>& row) {
  return row.param.name;
}
INSTANTIATE_TEST_SUITE_P(Module, EachLearner, testing::ValuesIn(*stowplan_rl_agents()), NameOf);

}  // namespace
}  // namespace stowplan::agents::rl
