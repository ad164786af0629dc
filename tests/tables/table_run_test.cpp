// Planning, running, resuming: a resumed table equals an uninterrupted one in all but wall times
// (docs/protocol_rules.md#resume).
#include <fmt/format.h>
#include <signal.h>

#include "agents/agent.h"
#include "agents/bounds/bounds.h"
#include "sim/formats/formats.h"
#include "tables/results.h"
#include "tables/run/runner.h"
#include "tables/store.h"
#include "tests/cli/program.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::RunStowplan;
using testing::TinyTable;
using tests::TempFolder;

// Rows without what may differ between two runs.
std::string Comparable(std::vector<CellRecord> records) {
  for (CellRecord& record : records) {
    record.wall_seconds.reset();
    record.simulator_seconds.reset();
    record.curve_agent_seconds.clear();
    record.date.clear();
  }
  return PrintRows(records);
}

std::vector<std::string> Names(const std::vector<CellPlan>& plans) {
  std::vector<std::string> names;
  for (const CellPlan& plan : plans)
    names.push_back(plan.line->key + "/" + plan.column->key + "#" + std::to_string(plan.seed));
  return names;
}

TEST(Plan, CheapColumnsFirstLearnersLastThenSeedBySeed) {
  const TableDefinition table = TinyTable();
  PlanOptions options;
  options.seeds = 2;
  EXPECT_EQ(Names(PlanCells(table, options)),
            (std::vector<std::string>{"rnnlm/cpu_only#1", "rnnlm/single_gpu#1", "nmt_2/cpu_only#1",
                                      "nmt_2/single_gpu#1", "rnnlm/random#1", "nmt_2/random#1",
                                      "rnnlm/random#2", "nmt_2/random#2", "rnnlm/learner#1",
                                      "nmt_2/learner#1", "rnnlm/learner#2", "nmt_2/learner#2"}));
}

TEST(Plan, QuickIsOneSeedAndTheSmallBudget) {
  const TableDefinition table = TinyTable();
  PlanOptions options;
  options.size = BudgetSize::kQuick;
  for (const CellPlan& plan : PlanCells(table, options)) {
    EXPECT_EQ(plan.seed, 1);
    EXPECT_EQ(plan.budget, plan.column->sampled ? 10 : 1);
  }
}

TEST(Plan, PaperTakesTheRowsBudgetAndTheBudgetsUnits) {
  TableDefinition table = TinyTable();
  table.blocks[0].lines[0].paper_samples = 91;
  table.blocks[0].columns[2].grouper.clear();
  PlanOptions options;
  options.size = BudgetSize::kPaper;
  options.cells = {"*/random", "*/single_gpu"};
  std::vector<std::string> plans;
  for (const CellPlan& plan : PlanCells(table, options))
    plans.push_back(fmt::format("{} {} {}", plan.line->key, plan.budget, plan.grouper));
  EXPECT_EQ(plans, (std::vector<std::string>{"rnnlm 1 colocation", "nmt_2 1 colocation", "rnnlm 91 stage",
                                             "nmt_2 70 stage"}));
}

TEST(Plan, ABlockMaySpendWhatThePaperDid) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks.front());
  table.blocks[1].key = "paper";
  table.blocks[1].paper_budget = true;
  table.standard.seeds = 3;
  table.paper.seeds = 2;
  for (TableBlock& block : table.blocks) block.lines[0].paper_samples = 91;
  using Plans = std::vector<std::string>;
  const auto plans_of = [&](const PlanOptions& options) {
    Plans plans;
    for (const CellPlan& plan : PlanCells(table, options)) {
      if (plan.block->key == "paper" && plan.line->key == "rnnlm")
        plans.push_back(fmt::format("{} {} #{}", plan.column->key, plan.budget, plan.seed));
    }
    return plans;
  };
  PlanOptions options;
  options.cells = {"rnnlm/random", "rnnlm/cpu_only"};
  EXPECT_EQ(plans_of(options), (Plans{"cpu_only 1 #1", "random 91 #1", "random 91 #2"}))
      << "and the paper's seeds";
  options.samples = 7;
  options.seeds = 1;
  EXPECT_EQ(plans_of(options), Plans{}) << "they would be those of the first block";
  options.cells = {"paper:rnnlm/random", "*/random"};
  EXPECT_EQ(plans_of(options), Plans{"random 7 #1"}) << "it is asked for by name";
  for (const BudgetSize size : {BudgetSize::kQuick, BudgetSize::kPaper}) {
    PlanOptions other;
    other.size = size;
    EXPECT_EQ(plans_of(other), Plans{});
    other.cells = {"*/random"};
    EXPECT_EQ(plans_of(other), Plans{});
    other.cells = {"paper:rnnlm/random"};
    EXPECT_EQ(plans_of(other).front(), size == BudgetSize::kQuick ? "random 10 #1" : "random 91 #1");
  }
  PlanOptions quick;
  quick.size = BudgetSize::kQuick;
  table.blocks[0].rules = "published";
  EXPECT_EQ(plans_of(quick).size(), 4u) << "under other rules it repeats nothing";
  table.blocks.erase(table.blocks.begin());
  EXPECT_EQ(plans_of(quick).size(), 4u) << "nor alone";
}

TEST(Plan, PatternsTakeTimeByTheirLengthAlone) {
  EXPECT_TRUE(MatchesGlob("nmt_*/*x*", "nmt_2/a_x"));
  EXPECT_TRUE(MatchesGlob("*ab*ab", "aabxabab"));
  EXPECT_TRUE(MatchesGlob("**", ""));
  EXPECT_FALSE(MatchesGlob("a*b", "a"));
  EXPECT_FALSE(MatchesGlob("", "a"));
  EXPECT_FALSE(MatchesGlob("a?c", "abc")) << "only * is special";
  EXPECT_FALSE(MatchesGlob("[ab]", "a"));
  EXPECT_TRUE(MatchesGlob("a[?]", "a[?]"));
  std::string stars;
  for (int i = 0; i < 60; ++i) stars += "*a";
  EXPECT_TRUE(MatchesGlob(stars, std::string(150, 'a')));
  EXPECT_FALSE(MatchesGlob(stars + "b", std::string(150, 'a'))) << "by trying all would never end";
}

TEST(Plan, RefusesPatternsThatMatchNothing) {
  const TableDefinition table = TinyTable();
  for (const char* pattern : {"rnnlm", "mars/random", "rnnlm/scotch", "other:rnnlm/random"}) {
    PlanOptions options;
    options.cells = {pattern};
    EXPECT_THROW(PlanCells(table, options), InputError) << pattern;
  }
}

TEST(Runner, FillsRecordsWithResultAndProvenance) {
  const TableDefinition table = TinyTable();
  const Testbed testbed("");
  const auto plans = PlanCells(table, {});
  const auto records = RunCells(table, testbed, plans, {});
  ASSERT_EQ(records.size(), plans.size());
  for (const CellRecord& record : records) {
    EXPECT_EQ(record.status, "ok");
    EXPECT_GE(*record.runtime_us, *record.lower_bound_us);
    EXPECT_EQ(record.scenario.size(), 16u);
    EXPECT_FALSE(record.revision.empty());
    EXPECT_FALSE(record.machine.empty());
    EXPECT_EQ(
        record.command.rfind("stowplan table run tiny --cells native:" + record.row + "/" + record.column, 0),
        0u)
        << record.command;
    // Without a testbed nothing was fitted, so nothing may be called fitted.
    EXPECT_NE(record.kind, "fitted");
    EXPECT_EQ(record.curve.empty(), record.budget == 1);
  }
}

const CellRecord& Of(const std::vector<CellRecord>& records, const std::string& column) {
  return *std::find_if(records.begin(), records.end(),
                       [&](const CellRecord& record) { return record.column == column; });
}

TEST(Runner, FullestIsADeviceThatHoldsSomething) {
  const TableDefinition table = TinyTable();
  const auto records = RunCells(table, Testbed(""), PlanCells(table, {}), {});
  EXPECT_EQ(Of(records, "cpu_only").fullest_device, "cpu0");
  EXPECT_GT(Of(records, "cpu_only").fullest_peak_bytes, 0);
  EXPECT_EQ(Of(records, "single_gpu").fullest_device, "gpu0");
}

// The bound of a column that may use one GPU of two is the larger: nothing can be shared.
TEST(Runner, BoundsAreOnTheDevicesOfTheColumn) {
  TableDefinition table = TinyTable();
  table.blocks[0].columns[1].devices = "gpu0";
  const Testbed testbed("");
  const auto records = RunCells(table, testbed, PlanCells(table, {}), {});
  const auto loaded = testbed.Load(table.blocks[0], table.blocks[0].lines[0]);
  const auto bound = [&](const std::vector<sim::DeviceIndex>& devices) {
    return sim::ToMicros(agents::ComputeLowerBound(loaded->problem(), devices).best());
  };
  const sim::DeviceIndex gpu0 = loaded->cluster().Find("gpu0");
  EXPECT_EQ(Of(records, "single_gpu").lower_bound_us, bound({gpu0}));
  EXPECT_EQ(Of(records, "random").lower_bound_us, bound({}));
  EXPECT_GT(bound({gpu0}), bound({}));
}

TEST(Runner, ResultsDoNotDependOnThreads) {
  const TableDefinition table = TinyTable();
  const Testbed testbed("");
  const auto plans = PlanCells(table, {});
  RunOptions one;
  one.threads = 1;
  RunOptions three;
  three.threads = 3;
  EXPECT_EQ(Comparable(RunCells(table, testbed, plans, one)),
            Comparable(RunCells(table, testbed, plans, three)));
}

TEST(Runner, StoppedAndResumedEqualsUninterrupted) {
  const TableDefinition table = TinyTable();
  const Testbed testbed("");
  const auto plans = PlanCells(table, {});
  const auto whole = RunCells(table, testbed, plans, {});
  for (const int stop_after : {0, 1, 4, 7}) {
    std::atomic<bool> stop{false};
    std::vector<CellRecord> kept;
    RunOptions first;
    first.threads = 1;
    first.stop = &stop;
    first.on_cell = [&](const CellRecord& record, bool) {
      kept.push_back(record);
      if (static_cast<int>(kept.size()) >= stop_after) stop = true;
    };
    if (stop_after == 0) stop = true;
    const std::size_t finished = RunCells(table, testbed, plans, first).size();
    EXPECT_EQ(finished, kept.size());
    EXPECT_EQ(static_cast<int>(kept.size()), stop_after);
    int skipped = 0;
    RunOptions second;
    second.resume = true;
    second.done = kept;
    second.on_cell = [&](const CellRecord&, bool was_kept) { skipped += was_kept ? 1 : 0; };
    EXPECT_EQ(Comparable(RunCells(table, testbed, plans, second)), Comparable(whole));
    EXPECT_EQ(skipped, stop_after);
  }
}

// A changed scenario starts new rows: what is stored of the old one is not taken.
TEST(Runner, AChangedScenarioIsRunAnew) {
  TableDefinition table = TinyTable();
  const Testbed testbed("");
  RunOptions options;
  options.resume = true;
  options.done = RunCells(table, testbed, PlanCells(table, {}), {});
  for (TableLine& line : table.blocks[0].lines) line.workload = "diamond(width=4)";
  int skipped = 0;
  options.on_cell = [&](const CellRecord&, bool was_kept) { skipped += was_kept ? 1 : 0; };
  RunCells(table, testbed, PlanCells(table, {}), options);
  EXPECT_EQ(skipped, 0);
}

// A build without the learning agents goes on with a table whose learners another build has run: they stay.
TEST(Runner, KeepsLearnersThatItCannotRun) {
  TableDefinition table = TinyTable();
  const Testbed testbed("");
  RunOptions options;
  options.resume = true;
  options.done = RunCells(table, testbed, PlanCells(table, {}), {});
  for (TableColumn& column : table.blocks[0].columns) {
    if (column.learner) column.agent = "placeto(lr=0.01)";
  }
  for (CellRecord& record : options.done) {
    if (record.column == "learner") record.agent = "placeto(rounds=8,lr=0.01)";
  }
  try {
    agents::MakeAgent("placeto");
    GTEST_SKIP() << "this build has the learning agents";
  } catch (const RunError&) {
  }
  int kept = 0;
  for (const CellRecord& record : RunCells(table, testbed, PlanCells(table, {}), options)) {
    if (record.column != "learner") continue;
    EXPECT_EQ(record.status, "ok") << record.note;
    EXPECT_EQ(record.agent, "placeto(rounds=8,lr=0.01)") << "as it was run";
    ++kept;
  }
  EXPECT_EQ(kept, 6);
  // Other settings are another agent.
  for (TableColumn& column : table.blocks[0].columns) {
    if (column.learner) column.agent = "placeto(lr=0)";
  }
  for (const CellRecord& record : RunCells(table, testbed, PlanCells(table, {}), options)) {
    if (record.column != "learner") continue;
    EXPECT_EQ(record.status, "not_run");
  }
}

TEST(Runner, WorkloadsThatAreNotBuiltAreSaidSo) {
  TableDefinition table = TinyTable();
  table.blocks[0].lines[1].workload = "no_such_workload(batch=1)";
  const Testbed testbed("");
  int not_run = 0;
  for (const CellRecord& record : RunCells(table, testbed, PlanCells(table, {}), {})) {
    if (record.row != "nmt_2") continue;
    EXPECT_EQ(record.status, "not_run");
    EXPECT_EQ(record.note, "workload no_such_workload is not built");
    ++not_run;
  }
  EXPECT_EQ(not_run, 8);
}

// kill -9 at some moments of a real table: no finished cell is lost, --resume ends with the same rows.
TEST(TableProgram, KilledAndResumedEqualsUninterrupted) {
  const TempFolder folder;
  const std::string cells = "inception_v3/cpu_only,inception_v3/single_gpu,inception_v3/random_block";
  const auto call = [&](const std::string& out, bool resume) {
    std::vector<std::string> arguments = {"table",
                                          "run",
                                          "hierarchical",
                                          "--cells",
                                          cells,
                                          "--samples",
                                          "300",
                                          "--seeds",
                                          "2",
                                          "--out",
                                          folder / out,
                                          "--store",
                                          folder / (out + ".db"),
                                          "--threads",
                                          "1"};
    if (resume) arguments.emplace_back("--resume");
    return arguments;
  };
  const auto whole = RunStowplan(call("whole", false), folder.path());
  ASSERT_EQ(whole.status, 0) << whole.err;
  const auto kept = [&] { return TableStore(folder / "part.db").All("hierarchical").size(); };
  std::size_t before = 0;
  // At once, in the middle of something, and after a cell.
  for (const int milliseconds : {1, 37, 83, -1}) {
    testing::RunningProgram running(call("part", true), folder.path());
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::this_thread::sleep_for(std::chrono::milliseconds(std::max(milliseconds, 0)));
    while (milliseconds < 0 && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (std::filesystem::exists(folder / "part.db") && kept() > 0) break;
    }
    running.StopAndWait(SIGKILL);
    const std::size_t now = std::filesystem::exists(folder / "part.db") ? kept() : 0;
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_GT(before, 0u);
  const auto resumed = RunStowplan(call("part", true), folder.path());
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const auto rows = [&](const char* out) {
    const std::string path = folder / (std::string(out) + "/rows.csv");
    return Comparable(ParseRows(formats::ReadFile(path), path));
  };
  EXPECT_EQ(rows("part"), rows("whole"));
}

bool HasLearners() {
  try {
    agents::MakeAgent("mars");
    return true;
  } catch (const RunError&) {
    return false;
  }
}

class AdoptTest : public ::testing::Test {
 protected:
  testing::ProgramResult Call(const char* table, const char* cells, const std::string& name,
                              const std::vector<std::string>& others) {
    std::vector<std::string> arguments = {"table",
                                          "run",
                                          table,
                                          "--cells",
                                          cells,
                                          "--out",
                                          folder_ / name,
                                          "--store",
                                          folder_ / name + ".db",
                                          "--threads",
                                          "1",
                                          "--seeds",
                                          "1"};
    arguments.insert(arguments.end(), others.begin(), others.end());
    return RunStowplan(arguments, folder_.path());
  }

  std::vector<CellRecord> Rows(const std::string& name) const {
    const std::string path = folder_ / name + "/rows.csv";
    return ParseRows(formats::ReadFile(path), path);
  }

  // The rows as another machine would have run them.
  std::string Elsewhere(const std::string& name, double slower = 1) const {
    std::vector<CellRecord> records = Rows(name);
    for (CellRecord& record : records) {
      record.machine = "elsewhere";
      record.runtime_us = *record.runtime_us * slower;
    }
    formats::WriteFile(folder_ / "elsewhere.csv", PrintRows(records));
    return folder_ / "elsewhere.csv";
  }

  std::map<std::string, bool> RunElsewhere(const std::string& name) const {
    std::map<std::string, bool> columns;
    for (const CellRecord& record : Rows(name)) columns[record.column] = record.machine == "elsewhere";
    return columns;
  }

  TempFolder folder_;
};

TEST_F(AdoptTest, GoesOnWithTheRowsAndRunsTheOthers) {
  const auto first = Call("hierarchical", "native:inception_v3/single_gpu,native:inception_v3/random_block",
                          "first", {"--samples", "20"});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second =
      Call("hierarchical",
           "native:inception_v3/single_gpu,native:inception_v3/cpu_only,native:inception_v3/random_block",
           "second", {"--samples", "20", "--adopt", Elsewhere("first")});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.err, ::testing::HasSubstr("2 of 2 rows taken into the store"));
  EXPECT_EQ(RunElsewhere("second"),
            (std::map<std::string, bool>{{"cpu_only", false}, {"single_gpu", true}, {"random_block", true}}));
}

TEST_F(AdoptTest, RunsWhatHasAnotherBudget) {
  const auto first = Call("hierarchical", "native:inception_v3/random_block", "first", {"--samples", "20"});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second = Call("hierarchical", "native:inception_v3/random_block", "second",
                           {"--samples", "30", "--adopt", Elsewhere("first")});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(RunElsewhere("second"), (std::map<std::string, bool>{{"random_block", false}}));
}

// A bound is of the scenario, not of the run: where an earlier revision proved less, it is proven anew.
TEST_F(AdoptTest, ProvesTheBoundOfAKeptRowAnew) {
  ASSERT_EQ(Call("hierarchical", "native:inception_v3/single_gpu", "first", {}).status, 0);
  std::vector<CellRecord> records = Rows("first");
  const double bound = *records.front().lower_bound_us;
  records.front().lower_bound_us = bound / 2;
  formats::WriteFile(folder_ / "less.csv", PrintRows(records));
  const auto second =
      Call("hierarchical", "native:inception_v3/single_gpu", "second", {"--adopt", folder_ / "less.csv"});
  EXPECT_THAT(second.err, ::testing::HasSubstr("1 of 1 rows taken into the store"));
  EXPECT_EQ(Rows("second").front().lower_bound_us, bound);
}

TEST_F(AdoptTest, KeepsItsOwnResultAndSaysThatThereIsAnother) {
  const auto first = Call("hierarchical", "native:inception_v3/single_gpu", "first", {});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second =
      Call("hierarchical", "native:inception_v3/single_gpu", "first", {"--adopt", Elsewhere("first", 2)});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.err, ::testing::HasSubstr("0 of 1 rows taken into the store"));
  EXPECT_THAT(second.err, ::testing::HasSubstr("native:inception_v3/single_gpu of seed 1 has another"));
  EXPECT_EQ(RunElsewhere("first"), (std::map<std::string, bool>{{"single_gpu", false}}));
}

// The same workload on the same machine with the same columns, under two names.
TEST_F(AdoptTest, TakesTheCellsThatTwoTablesShare) {
  if (!HasLearners()) GTEST_SKIP() << "built without the learning agents";
  const std::string testbed = std::string(STOWPLAN_SOURCE_DIR) + "/results/mars/testbed.json";
  const auto first =
      Call("mars", "native:inception_v3/mars", "first", {"--samples", "10", "--testbed", testbed});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second = Call("mars-pretraining", "inception_v3/mars", "second",
                           {"--samples", "10", "--adopt", Elsewhere("first"), "--testbed", testbed});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.err, ::testing::HasSubstr("1 of 1 rows taken into the store"));
  EXPECT_EQ(RunElsewhere("second"), (std::map<std::string, bool>{{"mars", true}}));
}

// What the policy was trained on is part of their scenario.
TEST_F(AdoptTest, TakesZeroShotCells) {
  if (!HasLearners()) GTEST_SKIP() << "built without the learning agents";
  const std::string testbed = std::string(STOWPLAN_SOURCE_DIR) + "/results/placeto/testbed.json";
  const auto first =
      Call("placeto-generalization", "cifar10_0/zero_shot", "first", {"--quick", "--testbed", testbed});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second = Call("placeto-generalization", "cifar10_0/zero_shot", "second",
                           {"--quick", "--adopt", Elsewhere("first"), "--testbed", testbed});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.err, ::testing::HasSubstr("1 of 1 rows taken into the store"));
  EXPECT_EQ(RunElsewhere("second"), (std::map<std::string, bool>{{"zero_shot", true}}));
}

TEST_F(AdoptTest, RefusesAFileWithNoCellOfTheTable) {
  const std::string rows = std::string(STOWPLAN_SOURCE_DIR) + "/results/placeto-generalization/rows.csv";
  const auto result = Call("hierarchical", "*/cpu_only", "out", {"--adopt", rows});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, ::testing::HasSubstr("--adopt " + rows + ": has no cell of table hierarchical."));
}

TEST_F(AdoptTest, GoesOnWithASalvagedStore) {
  const char* const cells = "native:inception_v3/single_gpu";
  ASSERT_EQ(Call("hierarchical", cells, "out", {}).status, 0);
  const std::vector<CellRecord> rows = Rows("out");
  const std::string store = folder_ / "out.db";
  std::string bytes = formats::ReadFile(store);
  bytes[0] ^= 1;
  formats::WriteFile(store, bytes);
  const auto refused = Call("hierarchical", cells, "out", {"--resume"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("`stowplan table salvage --store " + store + "`"));
  const auto salvaged = RunStowplan({"table", "salvage", "--store", store}, folder_.path());
  EXPECT_EQ(salvaged.status, 0) << salvaged.err;
  EXPECT_THAT(salvaged.err, ::testing::HasSubstr("1 sound cells kept, 0 broken ones dropped"));
  EXPECT_EQ(formats::ReadFile(store + ".damaged"), bytes);
  ASSERT_EQ(Call("hierarchical", cells, "out", {"--resume"}).status, 0);
  EXPECT_EQ(Rows("out").front().date, rows.front().date) << "run again";
}

}  // namespace
}  // namespace stowplan::tables
