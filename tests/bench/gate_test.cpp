// The learning gate on its cheapest cases: who can learn passes, who cannot fails.
#include "bench/tables/gate.h"

#include <algorithm>
#include <atomic>
#include <fstream>

#include <gtest/gtest.h>

#include "bench/interrupt.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "tests/temp_folder.h"

namespace berth::bench {
namespace {

const GateCase& CaseOf(const std::string& key) {
  return *std::find_if(GateCases().begin(), GateCases().end(),
                       [&](const GateCase& c) { return c.key == key; });
}

const GateAgent kControl{"control", "factored", "factored(lr=0)", true},
    kCopy{"copy", "factored(action=copy)", "factored(action=copy,lr=0)", true},
    kRandom{"random", "random", "random"};

TEST(Gate, TheControlLearnsAndRandomDoesNot) {
  std::vector<GateCase> cases = {CaseOf("chains_2"), CaseOf("tiny_1"), CaseOf("balance_64_4"),
                                 CaseOf("rnnlm")};
  const std::vector<GateRun> runs = RunGate(cases, {kControl, kCopy, kRandom}, {.threads = 1});
  EXPECT_EQ(Judge(cases, kCopy, runs).missed, std::vector<std::string>{});
  EXPECT_TRUE(Judge(cases, kCopy, runs).learned);
  const GateVerdict random = Judge(cases, kRandom, runs);
  // Equal ops of equal chances: no gradient says which goes where.
  EXPECT_EQ(Counts(CaseOf("balance_64_4"), runs), false);
  EXPECT_FALSE(random.learned);
  EXPECT_EQ(random.missed, (std::vector<std::string>{"chains_2", "tiny_1", "rnnlm"}));
  const std::string text = PrintGateRuns(runs);
  EXPECT_EQ(PrintGateRuns(ParseGateRuns(text)), text);
}

TEST(Gate, RunsAreTheSameWithAnyNumberOfThreads) {
  const std::vector<GateCase> cases = {CaseOf("tiny_1")};
  const auto text = [&](int threads) {
    return PrintGateRuns(RunGate(cases, {kControl, kRandom}, {.threads = threads}));
  };
  EXPECT_EQ(text(1), text(2));
}

// Stopped after two runs, killed while it wrote the third.
TEST(Gate, KeepsEachRunAndGoesOn) {
  const std::vector<GateCase> cases = {CaseOf("tiny_1")};
  const std::vector<GateAgent> agents = {kControl, kRandom};
  const std::string whole = PrintGateRuns(RunGate(cases, agents, {.threads = 1}));
  const tests::TempFolder folder;
  const std::string path = folder / "rows.csv";
  std::atomic<bool> stop = false;
  std::int64_t first = 0;
  DerivedOptions options{.threads = 1, .stop = &stop, .rows_path = path};
  options.on_part = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 6);
    if (first == 0) first = done;
    stop = done == 2;
  };
  EXPECT_THROW(RunGate(cases, agents, options), Interrupted);
  EXPECT_EQ(ParseGateRuns(formats::ReadFile(path)).size(), 2U);
  std::ofstream(path, std::ios::app) << "tiny_1,random,1,0.0";
  stop = false;
  first = 0;
  options.resume = true;
  EXPECT_EQ(PrintGateRuns(RunGate(cases, agents, options)), whole);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(ParseGateRuns(formats::ReadFile(path)).size(), 6U);
}

TEST(Gate, RunsOfAnotherExperimentAreNotTaken) {
  std::vector<GateCase> cases = {CaseOf("tiny_1")};
  const tests::TempFolder folder;
  DerivedOptions options{.threads = 1, .rows_path = folder / "rows.csv", .resume = true};
  RunGate(cases, {kRandom}, options);
  cases[0].samples = 20;
  std::int64_t runs = 0;
  options.on_part = [&](std::int64_t, std::int64_t) { ++runs; };
  RunGate(cases, {kRandom}, options);
  EXPECT_EQ(runs, 3);
}

TEST(Gate, ThePageSaysWhatWasNotRun) {
  const std::string rows = PrintGateRuns(RunGate({CaseOf("tiny_1")}, {kRandom}, {.threads = 1}));
  const RenderedTable table = RenderGate({}, rows);
  ASSERT_EQ(table.outcome.size(), 2U);
  EXPECT_EQ(table.outcome[0].find("0 of"), 0U) << table.outcome[0];
  EXPECT_NE(table.outcome[1].find("42 of 45 of random; all of control: factored;"), std::string::npos)
      << table.outcome[1];
}

TEST(Gate, ForeignRowsAreRefused) {
  EXPECT_THROW(ParseGateRuns("a,b\n1,2\n"), InputError);
  EXPECT_THROW(ParseGateRuns(""), InputError);
}

TEST(Gate, WhoWasNotRunHasNoVerdict) {
  const GateVerdict verdict = Judge({CaseOf("tiny_1")}, kControl, {});
  EXPECT_FALSE(verdict.learned);
  EXPECT_EQ(verdict.missed, std::vector<std::string>{});
  EXPECT_EQ(verdict.not_run, 3);
}

}  // namespace
}  // namespace berth::bench
