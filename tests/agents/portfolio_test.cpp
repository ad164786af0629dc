// The agent for those who do not want to choose one.
#include "agents/search/portfolio.h"

#include "agents/agent.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

constexpr const char* kPortfolio = "portfolio(plan=2000)";

sim::Picos BestOf(const std::string& agent, const Task& task, std::int64_t budget) {
  Evaluator evaluator(task, {.budget = budget});
  MakeAgent(agent)->Search(task, evaluator, {});
  EXPECT_LE(evaluator.samples(), budget);
  return evaluator.has_best() ? evaluator.best_runtime() : std::numeric_limits<sim::Picos>::max();
}

TEST(Portfolio, IsNeverBehindAnyRule) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto c = RandomCase(seed, {.ops = 60, .gpus = 3, .tight_memory = seed % 2 == 0});
    const Task task = MakeTask(*c->problem, "");
    const sim::Picos found = BestOf(kPortfolio, task, 60);
    for (const char* rule : {"single_gpu", "cpu_only", "expert", "m_etf", "m_sct", "heft", "metis", "scotch"})
      EXPECT_LE(found, BestOf(rule, task, 10)) << rule << ", seed " << seed;
  }
}

// Its first samples are those of every rule, list scheduler and partitioner.
TEST(Portfolio, SamplesTheRulesAndSpendsTheRest) {
  const auto c = RandomCase(5, {.ops = 40, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const std::vector<UnitPlacement> sampled = Record(kPortfolio, task, 40);
  EXPECT_EQ(sampled.size(), 40u);
  for (const AgentRow& row : Agents()) {
    const bool constructs = row.kind == AgentKind::kBaseline || row.kind == AgentKind::kConstructive;
    if (!constructs || row.name == std::string("random")) continue;
    EXPECT_NE(std::find(sampled.begin(), sampled.end(), Record(row.name, task).front()), sampled.end())
        << row.name;
  }
  EXPECT_EQ(Record(kPortfolio, task, 3), std::vector<UnitPlacement>(sampled.begin(), sampled.begin() + 3));
}

// A rule that needs a device which is not there is left out.
TEST(Portfolio, TakesMachinesWithoutCpu) {
  const auto c = RandomCase(6, {.ops = 20, .gpus = 2, .cpu = false});
  const Task task = MakeTask(*c->problem, "");
  EXPECT_EQ(Record(kPortfolio, task, 20).size(), 20u);
}

// ---- members that cannot be asked

enum class Fails { kMade, kRequired, kAtOnce, kAfterASample };
constexpr Fails kWays[] = {Fails::kMade, Fails::kRequired, Fails::kAtOnce, Fails::kAfterASample};

// The member as it is until it fails.
class Failing final : public Agent {
 public:
  Failing(std::unique_ptr<Agent> member, Fails when)
      : Agent(member->name()), member_(std::move(member)), when_(when) {}
  void Require(const Task& /*task*/) override {
    if (when_ == Fails::kRequired) throw RunError("its library is not there");
  }
  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (when_ == Fails::kAfterASample && evaluator.remaining() > 0) {
      evaluator.CountProposal();
      evaluator.Evaluate(UnitPlacement(task.units.ops.size(), task.devices.back()));
    }
    if (when_ == Fails::kAtOnce) throw std::bad_alloc();
    throw InputError("it does not take this");
  }

 private:
  std::unique_ptr<Agent> member_;
  Fails when_;
};

AgentMaker MakerWhere(const std::function<bool(const std::string& name)>& fails, Fails when) {
  return [=](const std::string& spec) -> std::unique_ptr<Agent> {
    const std::string name = spec.substr(0, spec.find('('));
    if (!fails(name)) return MakeAgent(spec);
    if (when == Fails::kMade) throw std::runtime_error("no such thing");
    return std::make_unique<Failing>(MakeAgent(spec), when);
  };
}

struct Result {
  sim::Picos best = std::numeric_limits<sim::Picos>::max();
  std::vector<UnitPlacement> sampled;
  std::vector<std::string> left_out;
};

Result Ask(const AgentMaker& make, const Task& task, std::int64_t budget) {
  const std::unique_ptr<Agent> portfolio = MakePortfolioOf(AgentSettings(kPortfolio), make);
  Evaluator evaluator(task, {.budget = budget});
  Result result;
  evaluator.observer = [&](std::int64_t, const UnitPlacement& placement, const Evaluation&) {
    result.sampled.push_back(placement);
  };
  portfolio->Search(task, evaluator, {});
  if (evaluator.has_best()) result.best = evaluator.best_runtime();
  result.left_out = dynamic_cast<const Composed&>(*portfolio).LeftOut();
  return result;
}

std::vector<std::string> MembersOf(const Task& task) {
  std::vector<std::string> members;
  Ask(
      [&](const std::string& spec) {
        members.push_back(spec.substr(0, spec.find('(')));
        return MakeAgent(spec);
      },
      task, 20);
  return members;
}

// Whoever fails, and however: the others are asked, the budget is spent, and it is said who was left out.
TEST(Portfolio, DoesWithoutAnyOfItsMembers) {
  const auto c = RandomCase(7, {.ops = 30, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const std::vector<std::string> members = MembersOf(task);
  ASSERT_GT(members.size(), 8u);
  for (const std::string& failing : members) {
    for (const Fails when : kWays) {
      const Result result =
          Ask(MakerWhere([&](const std::string& name) { return name == failing; }, when), task, 40);
      EXPECT_EQ(result.sampled.size(), 40u) << failing;
      ASSERT_EQ(result.left_out.size(), 1u) << failing;
      EXPECT_EQ(result.left_out.front().substr(0, failing.size() + 2), failing + ": ");
      for (const std::string& other : members) {
        if (other == failing) continue;
        EXPECT_LE(result.best, BestOf(other, task, 10)) << other << " without " << failing;
      }
    }
  }
}

// Its own searches need nobody.
TEST(Portfolio, SearchesWhereAllFail) {
  const auto c = RandomCase(8, {.ops = 10, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  const auto all = [](const std::string&) { return true; };
  for (const Fails when : kWays) {
    const Result result = Ask(MakerWhere(all, when), task, 40);
    EXPECT_LT(result.best, std::numeric_limits<sim::Picos>::max());
    EXPECT_EQ(result.sampled.size(), 40u);
    EXPECT_EQ(result.left_out.size(), MembersOf(task).size());
  }
}

// A disk that is full, or Ctrl-C in Python, is no fault of a member.
TEST(Portfolio, PassesOnWhatFailsInTheEvaluator) {
  const auto c = RandomCase(9, {.ops = 10, .gpus = 2});
  const Task task = MakeTask(*c->problem, "");
  for (const std::int64_t last : {1, 5, 15}) {
    Evaluator evaluator(task, {.budget = 40});
    evaluator.observer = [&](std::int64_t sample, const UnitPlacement&, const Evaluation&) {
      if (sample == last) throw RunError("the disk is full");
    };
    EXPECT_THROW(MakeAgent(kPortfolio)->Search(task, evaluator, {}), RunError);
    EXPECT_EQ(evaluator.samples(), last);
  }
}

TEST(Portfolio, PlacesOnManyDevices) {
  const auto c = RandomCase(10, {.ops = 200, .gpus = 72});
  const Task task = MakeTask(*c->problem, "");
  ASSERT_GT(task.devices.size(), 64u);
  const Result result = Ask(MakeAgent, task, 60);
  EXPECT_EQ(result.sampled.size(), 60u);
  EXPECT_THAT(result.left_out, testing::IsEmpty());
  for (const char* rule : {"single_gpu", "m_etf", "m_sct", "heft", "metis", "scotch"})
    EXPECT_LE(result.best, BestOf(rule, task, 10)) << rule;
}

// More than screens take: they are left out, by name.
TEST(Portfolio, DoesWithoutScreensOnEvenMore) {
  const auto c = RandomCase(10, {.ops = 30, .gpus = 280});
  const Task task = MakeTask(*c->problem, "");
  const Result result = Ask(MakeAgent, task, 60);
  EXPECT_EQ(result.sampled.size(), 60u);
  EXPECT_THAT(result.left_out, testing::ElementsAre(testing::StartsWith("screens: ")));
}

// ---- its own searches

std::vector<UnitPlacement> SampledWith(int threads, const Task& task) {
  Evaluator evaluator(task, {.budget = 700, .threads = threads});
  std::vector<UnitPlacement> sampled;
  evaluator.observer = [&](std::int64_t, const UnitPlacement& placement, const Evaluation&) {
    sampled.push_back(placement);
  };
  MakeAgent("portfolio(plan=60000)")->Search(task, evaluator, {.threads = threads});
  return sampled;
}

// Long enough for all of them to have their turn: plans of several flights, tau, and ways from an optimum.
TEST(Portfolio, SamplesTheSameWithAnyNumberOfThreads) {
  for (const bool published : {false, true}) {
    const auto c = RandomCase(
        11, {.ops = 40, .gpus = 3, .rules = published ? sim::Rules::kPublished : sim::Rules::kNative});
    const Task task = MakeTask(*c->problem, "");
    const std::vector<UnitPlacement> one = SampledWith(1, task);
    EXPECT_EQ(one.size(), 700u);
    for (const int threads : {2, 3}) EXPECT_EQ(SampledWith(threads, task), one) << threads;
  }
}

// At equal samples, over problems where one or the other of them is the better one.
TEST(Portfolio, IsNotBehindItsMembers) {
  double portfolio = 0, better = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const auto c = RandomCase(seed, {.ops = 80, .gpus = 3});
    const Task task = MakeTask(*c->problem, "");
    const auto log_of = [&](const std::string& agent) {
      return std::log(static_cast<double>(BestOf(agent, task, 400)));
    };
    portfolio += log_of("portfolio");
    better += std::min(log_of("local_search"), log_of("pilot(plan=16000)"));
  }
  EXPECT_LT(portfolio, better + 6 * 0.002);
}

// Where screens are wrong about what is near the rules' best they may be right elsewhere, and a plan's end shows it.
TEST(Portfolio, TriesAPlanHoweverRightScreensAreNearTheRules) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto c = RandomCase(seed, {.ops = 40, .gpus = 4});
    const Task task = MakeTask(*c->problem, "");
    Evaluator evaluator(task, {.budget = 120});
    const std::unique_ptr<Agent> portfolio = MakeAgent(kPortfolio);
    portfolio->Search(task, evaluator, {});
    const auto& composed = dynamic_cast<const Composed&>(*portfolio);
    bool planned = false;
    for (std::int64_t sample = 1; sample <= 120; ++sample)
      planned = planned || composed.AuthorOf(sample) == "plan";
    EXPECT_TRUE(planned) << "seed " << seed;
  }
}

TEST(Portfolio, SaysWhoFoundWhat) {
  const auto c = RandomCase(12, {.ops = 60, .gpus = 3});
  const Task task = MakeTask(*c->problem, "");
  Evaluator evaluator(task, {.budget = 300});
  const std::unique_ptr<Agent> portfolio = MakeAgent(kPortfolio);
  portfolio->Search(task, evaluator, {});
  const auto& composed = dynamic_cast<const Composed&>(*portfolio);
  EXPECT_EQ(composed.AuthorOf(1), "cpu_only");
  for (std::int64_t sample = 1; sample <= 300; ++sample) EXPECT_NE(composed.AuthorOf(sample), "");
  EXPECT_EQ(composed.AuthorOf(301), "");
}

}  // namespace
}  // namespace stowplan::agents
