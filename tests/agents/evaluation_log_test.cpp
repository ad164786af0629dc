// A search that goes on from its log is the search without interruption.
#include "agents/evaluation_log.h"

#include "agents/agent.h"
#include "agents/random_numbers.h"
#include "sim/formats/formats.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

class EvaluationLogTest : public ::testing::Test {
 protected:
  struct Search {
    std::vector<UnitPlacement> placements;
    std::vector<sim::Picos> runtimes;
    std::vector<CurvePoint> curve;
    double simulated_seconds = 0;
  };

  Search Run(const std::string& agent, std::int64_t budget, EvaluationLog* log) const {
    Evaluator evaluator(task_, {.budget = budget, .log = log});
    Search search;
    evaluator.observer = [&](std::int64_t, const UnitPlacement& placement, const Evaluation& evaluation) {
      search.placements.push_back(placement);
      search.runtimes.push_back(evaluation.runtime);
    };
    MakeAgent(agent)->Search(task_, evaluator, {});
    search.curve = evaluator.curve();
    search.simulated_seconds = evaluator.simulator_seconds();
    return search;
  }

  std::string Earlier() const { return formats::ReadFile(path_); }

  const tests::TempFolder folder_;
  const std::string path_ = folder_ / "log";
  const std::unique_ptr<Case> case_ = RandomCase(7, {.ops = 10});
  const Task task_ = MakeTask(*case_->problem, "colocation");
};

TEST_F(EvaluationLogTest, AnswersAsFarAsItGoes) {
  for (const char* agent :
       {"local_search", "annealing", "genetic", "cross_entropy", "random", "factored", "pilot(plan=800)"}) {
    const Search whole = Run(agent, 200, nullptr);
    {
      EvaluationLog log(task_, agent, 1, path_);
      Run(agent, 200, &log);
    }
    const std::string all = Earlier();
    // Cut anywhere, as a kill would: frames that are not whole count for nothing.
    for (const std::size_t cut : {all.size(), all.size() - 1, all.size() / 2, all.find('\n') + 1}) {
      formats::WriteFile(path_, all.substr(0, cut));
      EvaluationLog log(task_, agent, 1, path_, Earlier());
      const Search resumed = Run(agent, 200, &log);
      EXPECT_EQ(resumed.placements, whole.placements) << agent;
      EXPECT_EQ(resumed.runtimes, whole.runtimes) << agent;
    }
    EXPECT_EQ(Earlier().size(), all.size()) << agent << ": whole again";
  }
}

TEST_F(EvaluationLogTest, TimesAreThoseOfTheFirstRun) {
  {
    EvaluationLog log(task_, "random", 1, path_);
    Run("random", 100, &log);
  }
  const auto run = [&] {
    EvaluationLog log(task_, "random", 1, "", Earlier());
    return Run("random", 100, &log);
  };
  const Search first = run(), second = run();
  ASSERT_FALSE(first.curve.empty());
  EXPECT_GT(first.simulated_seconds, 0);
  EXPECT_EQ(first.simulated_seconds, second.simulated_seconds);
  EXPECT_EQ(first.curve.back().simulator_seconds, second.curve.back().simulator_seconds);
}

template <typename Call>
std::string ErrorOf(const Call& call) {
  return tests::ErrorOf([&] { call(); }, "no error");
}

TEST_F(EvaluationLogTest, RefusesThoseOfAnotherSearch) {
  {
    EvaluationLog log(task_, "random", 1, path_);
    Run("random", 20, &log);
  }
  const auto open = [&](const std::string& agent, std::uint64_t seed, const std::string& earlier) {
    return ErrorOf([&] { EvaluationLog(task_, agent, seed, path_, earlier); });
  };
  EXPECT_THAT(open("annealing", 1, Earlier()), HasSubstr("holds the evaluations of random seed 1, not of"));
  EXPECT_THAT(open("random", 2, Earlier()), HasSubstr("not of random seed 2"));
  EXPECT_THAT(open("random", 1, "{\"format\": \"stowplan.graph\"}\n"), HasSubstr("holds no evaluations"));
  const Task fewer = MakeTask(*case_->problem, "colocation", {"gpu0"});
  EXPECT_THAT(ErrorOf([&] { EvaluationLog(fewer, "random", 1, path_, Earlier()); }),
              HasSubstr("on another problem"));
}

// As a file of its own would be made: the hashes are right, what they are of is not.
std::string Forged(const std::string& log, Rng& rng) {
  constexpr std::size_t kHead = 40;  // bytes, their hash, the placement's hash, two times
  std::string text = log.substr(0, log.find('\n') + 1);
  for (std::size_t at = text.size(); at + kHead <= log.size();) {
    std::string head = log.substr(at, kHead);
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, head.data(), sizeof bytes);
    std::string body = log.substr(at + kHead, bytes);
    at += kHead + bytes;
    if (rng.Below(30) == 0) {
      const std::size_t where = rng.Below(body.size());
      if (rng.Below(3) == 0) {
        body.resize(where);
      } else {
        body[where] = static_cast<char>(rng.Below(256));
      }
    }
    if (rng.Below(200) == 0)
      head.replace(24, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8);  // a time that is none
    bytes = body.size();
    std::uint64_t hash = bytes;
    for (const char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = Mix(hash);
    std::memcpy(head.data(), &bytes, sizeof bytes);
    std::memcpy(head.data() + 8, &hash, sizeof hash);
    text += head + body;
  }
  return text;
}

TEST_F(EvaluationLogTest, AnswersThatAreNoneAreRefused) {
  Rng rng(1, "forged");
  int refused = 0, taken = 0;
  for (const char* agent : {"random", "local_search", "pilot(plan=800)", "genetic"}) {
    {
      EvaluationLog log(task_, agent, 1, path_);
      Run(agent, 40, &log);
    }
    const std::string all = Earlier();
    for (int i = 0; i < 40; ++i) {
      EvaluationLog log(task_, agent, 1, "", Forged(all, rng));
      const std::string error = ErrorOf([&] { Run(agent, 40, &log); });
      ++(error == "no error" ? taken : refused);
      if (error != "no error") {
        EXPECT_THAT(error, HasSubstr("start without --resume")) << agent;
      }
    }
  }
  EXPECT_GT(refused, 60);
  EXPECT_GT(taken, 0);  // of a runtime that is another nobody can know
}

// The temperature of annealing depends on the budget, and so does what it tries.
TEST_F(EvaluationLogTest, RefusesAPlacementThatWasNotTried) {
  {
    EvaluationLog log(task_, "annealing", 1, path_);
    Run("annealing", 200, &log);
  }
  EvaluationLog log(task_, "annealing", 1, path_, Earlier());
  EXPECT_THAT(ErrorOf([&] { Run("annealing", 2000, &log); }), HasSubstr("tried another placement as its"));
}

}  // namespace
}  // namespace stowplan::agents
