// The runs of the sanity suite, on its cheapest cases.
#include "tables/derive/gate.h"

#include <fmt/format.h>

#include "output/interrupt.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

const GateCase& CaseOf(const std::string& key) {
  return *std::find_if(GateCases().begin(), GateCases().end(),
                       [&](const GateCase& c) { return c.key == key; });
}

const GateAgent kControl{"control", "factored", "factored(lr=0)", true},
    kCopy{"copy", "factored(action=copy,lr=0.3)", "factored(action=copy,lr=0)", true},
    kRandom{"random", kGateRandom, kGateRandom}, kOneGpu{"one GPU", kGateOneGpu, kGateOneGpu, false, 1},
    kLearner{"learner", "learner", "learner(lr=0)"};

TEST(Gate, RunsWhatIsAskedForAlone) {
  const std::vector<GateCase> cases = {CaseOf("tiny_1"), CaseOf("tiny_2")};
  const auto run = [&](const std::string& pattern) {
    std::set<std::string> ran;
    for (const GateRun& one : RunGate(cases, {kCopy, kRandom}, {.threads = 1, .cells = {pattern}}))
      ran.insert(one.gate_case + "/" + one.agent);
    return ran;
  };
  EXPECT_EQ(run("tiny_2/random"), std::set<std::string>{"tiny_2/random"});
  EXPECT_EQ(run("*/random"), (std::set<std::string>{"tiny_1/random", "tiny_2/random"}));
  EXPECT_THROW(run("*/randm"), InputError);
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
    EXPECT_EQ(total, 9);
    if (first == 0) first = done;
    stop = done == 2;
  };
  EXPECT_THROW(RunGate(cases, agents, options), output::Interrupted);
  EXPECT_EQ(ParseGateRuns(formats::ReadFile(path)).size(), 2U);
  std::ofstream(path, std::ios::app) << "tiny_1,random,1,0.0";
  stop = false;
  first = 0;
  options.resume = true;
  EXPECT_EQ(PrintGateRuns(RunGate(cases, agents, options)), whole);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(ParseGateRuns(formats::ReadFile(path)).size(), 9U);
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
  EXPECT_EQ(ParseGateRuns(formats::ReadFile(options.rows_path)).size(), 3U);
}

TEST(Gate, RowsStayUntilTheFirstRunHasEnded) {
  const tests::TempFolder folder;
  const std::string path = folder / "rows.csv";
  formats::WriteFile(path, "kept\n");
  std::atomic<bool> stop = true;
  EXPECT_THROW(RunGate({CaseOf("tiny_1")}, {kRandom}, {.threads = 1, .stop = &stop, .rows_path = path}),
               output::Interrupted);
  EXPECT_EQ(formats::ReadFile(path), "kept\n");
  stop = false;
  RunGate({CaseOf("tiny_1")}, {kRandom}, {.threads = 1, .stop = &stop, .rows_path = path});
  EXPECT_EQ(ParseGateRuns(formats::ReadFile(path)).size(), 3U);
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"rows.csv"});
}

TEST(Gate, ForeignRowsAreRefused) {
  EXPECT_THROW(ParseGateRuns("a,b\n1,2\n"), InputError);
  EXPECT_THROW(ParseGateRuns(""), InputError);
  const std::string rows = PrintGateRuns({{.gate_case = "tiny_1", .agent = "random", .seconds = 1}});
  EXPECT_EQ(PrintGateRuns(ParseGateRuns(rows)), rows);
  for (const char* wrong : {"x", "1x", ""}) {
    std::string text = rows;
    text.replace(text.find("random,1,"), 9, fmt::format("random,{},", wrong));
    EXPECT_THROW(ParseGateRuns(text), InputError) << wrong;
  }
}

}  // namespace
}  // namespace stowplan::tables
