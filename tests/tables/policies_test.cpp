// Zero-shot cells: their policy is trained once, on other graphs, and changes no more; stopped and resumed
// they are the same.
#include "tables/run/policies.h"

#include "agents/agent.h"
#include "tables/run/runner.h"
#include "tests/cli/needs_learners.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using tests::TempFolder;

TableDefinition ZeroShotTable() {
  TableDefinition table = testing::TinyTable();
  TableBlock& block = table.blocks.front();
  block.columns.clear();
  for (const bool last : {true, false}) {
    TableColumn column;
    column.key = last ? "last" : "best";
    column.title = column.key;
    column.agent = "placeto(preset=walk)";
    column.sampled = column.learner = column.trained = column.zero_shot = true;
    column.last = last;
    column.samples = 40;
    block.columns.push_back(column);
  }
  block.training = {{"chain(ops=5)", "diamond(width=4)"}, 60, 30};
  for (TableLine& line : block.lines) line.fitted.clear();
  return table;
}

// One rank of several, which only says which it is.
class NamedRank final : public agents::Ranks {
 public:
  NamedRank(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<std::string> Exchange(const std::string& own) override { return {own}; }
  void Sum(std::span<float>) override {}
  void Sum(std::span<double>) override {}
  void Abort(int) override {}

 private:
  int rank_, size_;
};

// Each policy is trained once, whatever the number of processes, and none of them idles while there are enough.
TEST(ShareOfRank, DealsEachCellOnceAndPoliciesWhole) {
  const TableDefinition table = ZeroShotTable();
  PlanOptions wanted;
  wanted.seeds = 3;
  const std::vector<CellPlan> plans = PlanCells(table, wanted);
  for (const int size : {1, 2, 3}) {
    std::set<std::tuple<std::string, std::string, std::int64_t>> dealt;
    std::map<std::int64_t, std::set<int>> ranks_of_policy;  // one a seed
    std::size_t cells = 0;
    for (int rank = 0; rank < size; ++rank) {
      NamedRank one(rank, size);
      const std::vector<CellPlan> share = ShareOfRank(plans, one);
      EXPECT_FALSE(share.empty());
      cells += share.size();
      for (const CellPlan& plan : share) {
        dealt.emplace(plan.line->key, plan.column->key, plan.seed);
        ranks_of_policy[plan.seed].insert(rank);
      }
    }
    EXPECT_EQ(cells, plans.size());
    EXPECT_EQ(dealt.size(), plans.size());
    EXPECT_EQ(ranks_of_policy.size(), 3U);
    for (const auto& [seed, ranks] : ranks_of_policy) EXPECT_EQ(ranks.size(), 1U) << "seed " << seed;
  }
}

class ZeroShot : public testing::NeedsLearners {
 protected:
  static PlanOptions Wanted() {
    PlanOptions wanted;
    wanted.cells = {"*/last", "*/best"};
    wanted.seeds = 2;
    return wanted;
  }

  RunOptions Options() const {
    RunOptions options;
    options.threads = 2;
    options.checkpoints = folder_.path();
    return options;
  }

  // One column that learns, from the policy of the training or from fresh weights.
  static TableDefinition LearningTable(bool trained) {
    TableDefinition table = ZeroShotTable();
    std::vector<TableColumn>& columns = table.blocks.front().columns;
    columns.resize(1);
    columns.front().last = columns.front().zero_shot = false;
    columns.front().trained = trained;
    return table;
  }

  static std::vector<CellPlan> OneSeed(const TableDefinition& table) {
    PlanOptions wanted;
    wanted.seeds = 1;
    wanted.cells = {"*/last"};
    return PlanCells(table, wanted);
  }

  static void StopInACell(const TableDefinition& table, RunOptions options) {
    std::atomic<bool> stop = false;
    options.threads = 1;
    options.stop = &stop;
    options.on_samples = [&](const CellPlan&, std::int64_t samples) { stop = samples >= 20; };
    EXPECT_TRUE(RunCells(table, Testbed(""), OneSeed(table), options).empty());
  }

  const TempFolder folder_;
};

TEST_F(ZeroShot, OnePassOfAPolicyThatIsTrainedOnceForEachSeed) {
  const TableDefinition table = ZeroShotTable();
  const auto records = RunCells(table, Testbed(""), PlanCells(table, Wanted()), Options());
  ASSERT_EQ(records.size(), 8u);               // 2 rows, 2 columns, 2 seeds
  EXPECT_EQ(folder_.Files().size(), 2u + 2u);  // a policy and its log for each seed
  for (const CellRecord& record : records) {
    EXPECT_EQ(record.samples, 6) << record.row;  // diamond(width=3) has 5 units
    EXPECT_THAT(record.agent, HasSubstr(" after 60 samples on 2 other graphs"));
  }
  for (const CellRecord& last : records) {
    for (const CellRecord& best : records) {
      if (last.column != "last" || best.column != "best" || last.row != best.row || last.seed != best.seed)
        continue;
      EXPECT_GE(*last.unlimited_runtime_us, *best.runtime_us);
    }
  }
}

// A trained column starts from the same policy as a zero-shot one, but learns, and spends its budget.
TEST_F(ZeroShot, TrainedColumnsStartFromThePolicyAndGoOn) {
  TableDefinition table = ZeroShotTable();
  TableBlock& block = table.blocks.front();
  block.columns.erase(block.columns.begin());
  TableColumn fresh = block.columns.front();
  fresh.key = "fresh";
  fresh.trained = fresh.zero_shot = false;
  TableColumn trained = fresh;
  trained.key = "tuned";
  trained.trained = true;
  block.columns.insert(block.columns.end(), {fresh, trained});
  PlanOptions wanted;
  wanted.seeds = 1;
  wanted.cells = {"*/best", "*/fresh", "*/tuned"};
  std::map<std::pair<std::string, std::string>, CellRecord> cells;
  for (const CellRecord& record : RunCells(table, Testbed(""), PlanCells(table, wanted), Options()))
    cells[{record.row, record.column}] = record;
  EXPECT_EQ(folder_.Files().size(), 2u + 4u);  // one policy, its log, the logs of four cells that learned
  for (const TableLine& line : block.lines) {
    const CellRecord& tuned = cells.at({line.key, "tuned"});
    EXPECT_EQ(tuned.samples, 40);
    EXPECT_THAT(tuned.agent, HasSubstr(" after 60 samples on 2 other graphs"));
    EXPECT_EQ(cells.at({line.key, "best"}).samples, 6);
    EXPECT_EQ(cells.at({line.key, "fresh"}).samples, 40);
    EXPECT_NE(tuned.curve, cells.at({line.key, "fresh"}).curve);
    EXPECT_NE(tuned.scenario, cells.at({line.key, "fresh"}).scenario);
  }
}

TEST_F(ZeroShot, StoppedTrainedCellsGoOnToTheSame) {
  const TableDefinition table = LearningTable(true);
  const auto whole = RunCells(table, Testbed(""), OneSeed(table), Options());
  ASSERT_EQ(whole.size(), 2u);
  const TempFolder folder;
  RunOptions options = Options();
  options.checkpoints = folder.path();
  StopInACell(table, options);
  options.resume = true;
  const auto resumed = RunCells(table, Testbed(""), OneSeed(table), options);
  ASSERT_EQ(resumed.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(resumed[i].placement, whole[i].placement);
    EXPECT_EQ(resumed[i].samples_to_best, whole[i].samples_to_best);
  }
}

// What was stopped with other settings is left where it is; the cell begins anew.
TEST_F(ZeroShot, SettingsThatChangedSinceACellWasStopped) {
  TableDefinition table = LearningTable(false);
  RunOptions options = Options();
  options.resume = true;
  StopInACell(table, options);
  const auto stopped = folder_.Files();
  EXPECT_FALSE(stopped.empty());
  table.blocks.front().columns.front().agent = "placeto(preset=walk,lr=0.001)";
  EXPECT_EQ(RunCells(table, Testbed(""), OneSeed(table), options).size(), 2u);
  EXPECT_THAT(folder_.Files(), IsSupersetOf(stopped));
}

TEST_F(ZeroShot, TheTrainingIsPartOfTheScenario) {
  TableDefinition table = ZeroShotTable();
  const auto scenario = [&] {
    const Testbed testbed("");
    const TableCells cells(table, testbed);
    const RunOptions options = Options();
    const CellPlan plan = PlanCells(table, Wanted()).front();
    return Policies(cells, options).Scenario(plan, agents::MakeAgent(plan.column->agent)->name());
  };
  const std::string first = scenario();
  EXPECT_EQ(scenario(), first);
  table.blocks.front().training.samples = 61;
  const std::string longer = scenario();
  table.blocks.front().training.workloads.emplace_back("chain(ops=6)");
  const std::string more = scenario();
  table.blocks.front().columns.front().agent = "placeto(preset=walk,rounds=2)";
  EXPECT_EQ((std::set<std::string>{first, longer, more, scenario()}).size(), 4u);
}

TEST_F(ZeroShot, StoppedTrainingGoesOnToTheSameCells) {
  const TableDefinition table = ZeroShotTable();
  const auto plans = PlanCells(table, Wanted());
  const auto runtimes = [&](const std::vector<CellRecord>& records) {
    std::vector<double> values;
    for (const CellRecord& record : records) values.push_back(*record.unlimited_runtime_us);
    return values;
  };
  const auto whole = runtimes(RunCells(table, Testbed(""), plans, Options()));
  const TempFolder folder;
  std::atomic<bool> stop = false;
  RunOptions options = Options();
  options.checkpoints = folder.path();
  options.threads = 1;
  options.stop = &stop;
  options.on_training = [&](const std::string&, std::int64_t samples, std::int64_t) { stop = samples >= 20; };
  EXPECT_TRUE(RunCells(table, Testbed(""), plans, options).empty());
  stop = false;
  options.on_training = nullptr;
  options.resume = true;
  EXPECT_EQ(runtimes(RunCells(table, Testbed(""), plans, options)), whole);
}

TEST_F(ZeroShot, CellsThatAreDoneNeedNoPolicy) {
  const TableDefinition table = ZeroShotTable();
  const auto plans = PlanCells(table, Wanted());
  RunOptions options = Options();
  options.done = RunCells(table, Testbed(""), plans, options);
  const TempFolder empty;
  options.checkpoints = empty.path();
  options.resume = true;
  int skipped = 0;
  options.on_cell = [&](const CellRecord&, bool kept) { skipped += kept ? 1 : 0; };
  EXPECT_EQ(RunCells(table, Testbed(""), plans, options).size(), plans.size());
  EXPECT_EQ(skipped, static_cast<int>(plans.size()));
  EXPECT_TRUE(empty.Files().empty());
}

}  // namespace
}  // namespace stowplan::tables
