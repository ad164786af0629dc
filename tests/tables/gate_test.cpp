// The learning gate on its cheapest cases: who can learn passes, who cannot fails.
#include "tables/report/gate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "output/interrupt.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tables/report/gate_verdict.h"
#include "tests/temp_folder.h"

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

// Rows of an agent on a case, a seed for each of `late`.
void Add(std::vector<GateRun>& runs, const std::string& gate_case, const std::string& agent,
         const std::vector<double>& late, double goal = 0, double best = 0.1) {
  for (std::size_t i = 0; i < late.size(); ++i) {
    runs.push_back({.gate_case = gate_case,
                    .agent = agent,
                    .seed = static_cast<std::int64_t>(i) + 1,
                    .seconds = best,
                    .late_s = late[i],
                    .goal_s = goal});
  }
}

// A real case that counts.
std::vector<GateRun> CountingRows() {
  std::vector<GateRun> runs;
  Add(runs, "amoebanet", kCopy.spec, {0.5, 0.5, 0.5});
  Add(runs, "amoebanet", kCopy.untrained, {0.7, 0.7, 0.7});
  return runs;
}

TEST(Gate, TheControlLearnsAndRandomDoesNot) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::vector<std::string> all = {"tiny_1"};  // the others add time, and no code
#else
  const std::vector<std::string> all = {"chains_2", "tiny_1", "balance_64_4", "rnnlm"};
#endif
  std::vector<GateCase> cases;
  for (const std::string& key : all) cases.push_back(CaseOf(key));
  const std::vector<GateRun> runs = RunGate(cases, {kCopy, kRandom, kOneGpu}, {.threads = 1});
  EXPECT_EQ(Judge(cases, kCopy, runs).missed, std::vector<std::string>{});
  EXPECT_TRUE(Judge(cases, kCopy, runs).learned);
  for (const GateAgent& agent : {kRandom, kOneGpu}) {
    EXPECT_FALSE(Judge(cases, agent, runs).learned);
    EXPECT_EQ(Judge(cases, agent, runs).missed, all);
  }
  const std::string text = PrintGateRuns(runs);
  EXPECT_EQ(PrintGateRuns(ParseGateRuns(text)), text);
}

// Everything on one GPU is far better there than random.
TEST(Gate, AnAgentThatGoesToOneGpuMissesTheChains) {
  const std::vector<GateCase> cases = {CaseOf("chains_2"), CaseOf("chains_4")};
  std::vector<GateRun> runs = RunGate(cases, {kCopy, kRandom, kOneGpu}, {.threads = 1});
  for (const GateCase& gate : cases) {
    EXPECT_EQ(Counts(gate, kLearner, runs), true);
    const GateRun one = *std::ranges::find_if(
        runs, [&](const GateRun& run) { return run.gate_case == gate.key && run.agent == kGateOneGpu; });
    EXPECT_GT(one.late_s, gate.goal_s);
    Add(runs, gate.key, kLearner.spec, {one.late_s, one.late_s, one.late_s}, gate.goal_s);
    Add(runs, gate.key, kLearner.untrained, {2, 2, 2}, gate.goal_s);
  }
  EXPECT_EQ(Judge(cases, kLearner, runs).missed, (std::vector<std::string>{"chains_2", "chains_4"}));
}

TEST(Gate, WithoutControlsNothingIsLearned) {
  const std::vector<GateCase> cases = {CaseOf("tiny_1")};
  std::vector<GateRun> runs = RunGate(cases, {kRandom}, {.threads = 1});
  Add(runs, "tiny_1", kLearner.spec, {0.0071, 0.0071, 0.0071}, 0.00704);
  Add(runs, "tiny_1", kLearner.untrained, {0.012, 0.012, 0.012}, 0.00704);
  for (const GateAgent& agent : {kRandom, kLearner}) {
    const GateVerdict verdict = Judge(cases, agent, runs);
    EXPECT_FALSE(verdict.learned);
    EXPECT_EQ(verdict.missed, std::vector<std::string>{});
    EXPECT_GT(verdict.not_run, 0);
  }
}

// Seeds that differ much are no reason to miss, nor are seeds that differ little one to pass.
TEST(Gate, ARealCaseWantsEverySeedBelowEachWithoutLearning) {
  const std::vector<GateCase> cases = {CaseOf("amoebanet")};
  const auto learned = [&](const std::vector<double>& late) {
    std::vector<GateRun> runs = CountingRows();
    Add(runs, "amoebanet", kLearner.spec, late);
    Add(runs, "amoebanet", kLearner.untrained, {0.728, 0.728, 0.729});
    return Judge(cases, kLearner, runs).learned;
  };
  EXPECT_TRUE(learned({0.602, 0.656, 0.521}));
  EXPECT_FALSE(learned({0.700, 0.701, 0.700}));  // 4 % below
  EXPECT_FALSE(learned({0.602, 0.7285, 0.521}));
  EXPECT_FALSE(learned({0.602, std::nan(""), 0.521}));
}

TEST(Gate, WhoFitsBeatsWhoNeverDoes) {
  const std::vector<GateCase> cases = {CaseOf("amoebanet")};
  const double never = std::numeric_limits<double>::infinity();
  const auto learned = [&](double best, double best_untrained) {
    std::vector<GateRun> runs = CountingRows();
    Add(runs, "amoebanet", kLearner.spec, {0.7, 0.7, 0.7}, 0, best);
    Add(runs, "amoebanet", kLearner.untrained, {0.7, 0.7, 0.7}, 0, best_untrained);
    return Judge(cases, kLearner, runs).learned;
  };
  EXPECT_TRUE(learned(0.6, never));
  EXPECT_FALSE(learned(never, 0.6));
  EXPECT_FALSE(learned(never, never));
  EXPECT_FALSE(learned(0.6, 0.6));
}

// A walk moves some units at random in each draw: what only one-shot controls meet says nothing of it.
TEST(Gate, WalksAreHeldAgainstWalks) {
  const std::vector<GateCase> cases = {CaseOf("amoebanet")};
  GateAgent walk = kLearner;
  walk.walks = true;
  std::vector<GateRun> runs = CountingRows();
  Add(runs, "amoebanet", kLearner.spec, {0.7, 0.7, 0.7});
  Add(runs, "amoebanet", kLearner.untrained, {0.7, 0.7, 0.7});
  EXPECT_EQ(Judge(cases, kLearner, runs).missed, std::vector<std::string>{"amoebanet"});
  EXPECT_EQ(Judge(cases, walk, runs).missed, std::vector<std::string>{});
  EXPECT_GT(Judge(cases, walk, runs).not_run, 0) << "its controls were not run";
  const auto with_walks = [&](double late) {
    std::vector<GateRun> all = runs;
    for (const GateAgent& control : GateAgents()) {
      if (!control.control || !control.walks) continue;
      Add(all, "amoebanet", control.spec, {late, late, late});
      // Two controls may share what they are without learning.
      std::erase_if(all, [&](const GateRun& run) { return run.agent == control.untrained; });
      Add(all, "amoebanet", control.untrained, {0.7, 0.7, 0.7});
    }
    return Judge(cases, walk, all);
  };
  EXPECT_EQ(with_walks(0.5).missed, std::vector<std::string>{"amoebanet"});
  EXPECT_EQ(with_walks(0.7).missed, std::vector<std::string>{}) << "no control meets it";
  EXPECT_TRUE(with_walks(0.7).failed()) << "who met nothing has learned nothing";
  EXPECT_FALSE(Judge(cases, walk, runs).failed()) << "not known";
}

// Good from its first sample on, and no better at the end.
TEST(Gate, AGoodStartIsNoLearning) {
  const std::vector<GateCase> cases = {CaseOf("tiny_1")};
  std::vector<GateRun> runs = RunGate(cases, {kCopy, kRandom, kOneGpu}, {.threads = 1});
  Add(runs, "tiny_1", kLearner.spec, {0.0075, 0.0075, 0.0075}, 0.00704);
  Add(runs, "tiny_1", kLearner.untrained, {0.0075, 0.0075, 0.0075}, 0.00704);
  EXPECT_EQ(Judge(cases, kLearner, runs).missed, std::vector<std::string>{"tiny_1"});
}

// That the controls learn to come less near than an agent begins shows nothing that it could have learned.
TEST(Gate, AControlThatEndsFartherThanTheAgentBeginsSaysNothing) {
  const std::vector<GateCase> cases = {CaseOf("balance_8_2"), CaseOf("amoebanet")};
  std::vector<GateRun> references = CountingRows();
  Add(references, "balance_8_2", kCopy.spec, {0.064, 0.064, 0.065}, 0.06);
  Add(references, "balance_8_2", kCopy.untrained, {0.09, 0.09, 0.09}, 0.06);
  Add(references, "balance_8_2", kGateRandom, {0.09, 0.09, 0.09}, 0.06);
  Add(references, "balance_8_2", kGateOneGpu, {0.1}, 0.06);
  for (const GateAgent& control : GateAgents()) {
    if (!control.control || control.walks || control.spec == kCopy.spec) continue;
    for (const std::string& spec : {control.spec, control.untrained}) {  // they meet nothing
      for (const char* key : {"balance_8_2", "amoebanet"}) {
        if (NotRun(CaseOf(key), {"", spec, spec}, references) > 0)
          Add(references, key, spec, {0.09, 0.09, 0.09}, key[0] == 'b' ? 0.06 : 0);
      }
    }
  }
  Add(references, "amoebanet", kLearner.spec, {0.5, 0.5, 0.5});
  Add(references, "amoebanet", kLearner.untrained, {0.7, 0.7, 0.7});
  const auto judged = [&](const std::vector<double>& late, const std::vector<double>& untrained) {
    std::vector<GateRun> runs = references;
    Add(runs, "balance_8_2", kLearner.spec, late, 0.06);
    Add(runs, "balance_8_2", kLearner.untrained, untrained, 0.06);
    return Judge(cases, kLearner, runs);
  };
  EXPECT_TRUE(judged({0.061, 0.061, 0.061}, {0.0611, 0.0611, 0.0611}).learned);
  EXPECT_TRUE(judged({0.063, 0.063, 0.063}, {0.062, 0.062, 0.062}).learned);
  const std::vector<std::string> missed = {"balance_8_2"};
  EXPECT_EQ(judged({0.061, 0.061, 0.08}, {0.062, 0.062, 0.062}).missed, missed) << "one seed collapsed";
  EXPECT_EQ(judged({0.063, 0.063, 0.063}, {0.063, 0.063, 0.066}).missed, missed);
  EXPECT_EQ(judged({0.066, 0.066, 0.066}, {0.066, 0.066, 0.066}).missed, missed);
}

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

// The page's line on runs that are missing.
std::string Missing(const RenderedTable& table) {
  for (const auto& [name, text] : table.facts) {
    if (name == "runs missing") return text;
  }
  return "";
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
  // Nor are they shown: the page is of 2,000 samples.
  const RenderedTable table = RenderGate({}, formats::ReadFile(options.rows_path));
  EXPECT_NE(Missing(table).find("random"), std::string::npos) << Missing(table);
  EXPECT_EQ(table.facts[0].second.find("0 runs"), 0U) << table.facts[0].second;
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

TEST(Gate, ThePageSaysWhatWasNotRun) {
  const std::string rows = PrintGateRuns(RunGate({CaseOf("tiny_1")}, {kRandom}, {.threads = 1}));
  const RenderedTable table = RenderGate({}, rows);
  ASSERT_EQ(table.outcome.size(), 1U);
  EXPECT_EQ(table.outcome[0], "0 of 16 learners and presets learned, 0 did not; of 16 it is not known.");
  EXPECT_NE(Missing(table).find("42 of 45 of random; all of control: factored;"), std::string::npos)
      << Missing(table);
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

TEST(Gate, WhoWasNotRunHasNoVerdict) {
  const GateVerdict verdict = Judge({CaseOf("tiny_1")}, kControl, {});
  EXPECT_FALSE(verdict.learned);
  EXPECT_EQ(verdict.missed, std::vector<std::string>{});
  EXPECT_EQ(verdict.not_run, 6);
}

}  // namespace
}  // namespace stowplan::tables
