// The learning gate on its cheapest cases: who can learn passes, who cannot fails.
#include "bench/tables/gate.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace berth::bench {
namespace {

const GateCase& CaseOf(const std::string& key) {
  return *std::find_if(GateCases().begin(), GateCases().end(),
                       [&](const GateCase& c) { return c.key == key; });
}

const GateAgent kControl{"control", "factored", "factored(lr=0)", true},
    kRandom{"random", "random", "random"};

TEST(Gate, TheControlLearnsAndRandomDoesNot) {
  std::vector<GateCase> cases = {CaseOf("chains_2"), CaseOf("tiny_1"), CaseOf("balance_64_4"),
                                 CaseOf("inception")};
  const std::vector<GateRun> runs = RunGate(cases, {kControl, kRandom}, 3, {.threads = 1});
  EXPECT_EQ(Judge(cases, kControl, runs).missed, std::vector<std::string>{});
  const GateVerdict random = Judge(cases, kRandom, runs);
  EXPECT_FALSE(
      Counts(CaseOf("balance_64_4"), runs));  // equal ops of equal chances: no gradient says which goes where
  EXPECT_FALSE(random.learned);
  EXPECT_EQ(random.missed, (std::vector<std::string>{"chains_2", "tiny_1", "inception"}));
  const std::string text = PrintGateRuns(runs);
  EXPECT_EQ(PrintGateRuns(ParseGateRuns(text)), text);
}

TEST(Gate, RunsAreTheSameWithAnyNumberOfThreads) {
  const std::vector<GateCase> cases = {CaseOf("tiny_1")};
  const auto text = [&](int threads) {
    return PrintGateRuns(RunGate(cases, {kControl, kRandom}, 3, {.threads = threads}));
  };
  EXPECT_EQ(text(1), text(2));
}

TEST(Gate, WhoWasNotRunDidNotLearn) {
  EXPECT_FALSE(Judge({CaseOf("tiny_1")}, kControl, {}).learned);
}

}  // namespace
}  // namespace berth::bench
