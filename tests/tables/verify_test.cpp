// Rows run again: which are drawn, what is compared, what is said.
#include "tables/run/verify.h"

#include "sim/formats/formats.h"
#include "tests/cli/needs_learners.h"
#include "tests/cli/program.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::RunStowplan;

std::vector<CellRecord> TinyRows(int seeds) {
  std::vector<CellRecord> rows;
  for (const char* row : {"rnnlm", "nmt_2"}) {
    for (const char* column : {"cpu_only", "single_gpu"})
      rows.push_back(testing::MakeRecord(row, column, "predicted", 1, 1.0));
    for (const char* column : {"random", "learner"}) {
      for (int seed = 1; seed <= seeds; ++seed)
        rows.push_back(testing::MakeRecord(row, column, "searched", seed, 1.0));
    }
  }
  return rows;
}

std::vector<std::string> Named(const std::vector<CellRecord>& rows) {
  std::vector<std::string> names;
  for (const CellRecord& row : rows)
    names.push_back(row.row + "/" + row.column + "#" + std::to_string(row.seed));
  return names;
}

TEST(Verify, OneOfEachColumnIsDrawnFirst) {
  static const TableDefinition table = testing::TinyTable();
  std::vector<CellRecord> rows = TinyRows(3);
  const auto drawn = [&](std::size_t count) {
    return DrawRows(TableResults(table, rows), rows, {}, count).rows;
  };
  std::set<std::string> columns;
  for (const CellRecord& row : drawn(4)) columns.insert(row.column);
  EXPECT_EQ(columns.size(), 4U);
  // A smaller draw is the beginning of a larger one, which has every row once.
  const std::vector<std::string> all = Named(drawn(1000));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), rows.size());
  const std::vector<std::string> four = Named(drawn(4));
  EXPECT_TRUE(std::equal(four.begin(), four.end(), all.begin()));
  std::ranges::reverse(rows);
  EXPECT_EQ(Named(drawn(4)), four);
  const DrawnRows some = DrawRows(TableResults(table, rows), rows, {"nmt_2/*"}, 1000);
  EXPECT_EQ(some.rows.size(), 8U);
}

TEST(Verify, RowsOfSettingsBeforeAreCountedAndNotDrawn) {
  static const TableDefinition table = testing::TinyTable();
  std::vector<CellRecord> rows = TinyRows(1);
  for (CellRecord& row : rows) {
    if (row.row == "nmt_2" && row.column == "random") row.agent = "random(unit=none)";
  }
  const DrawnRows drawn = DrawRows(TableResults(table, rows), rows, {}, 1000);
  EXPECT_EQ(drawn.rows.size(), 7U);
  EXPECT_EQ(drawn.before, 1U);
}

TEST(Verify, ARowIsRunAgainWithItsOwnBudgetAndSeed) {
  TableDefinition table = testing::TinyTable();
  table.blocks.front().columns[2].grouper.clear();  // so that the paper's budget has its own
  CellRecord row = testing::MakeRecord("rnnlm", "random", "searched", 300'000'000, 1.0);
  row.budget = 70;
  row.units = "stage";
  const CellPlan plan = PlanOfRow(table, row);
  EXPECT_EQ(plan.seed, 300'000'000);
  EXPECT_EQ(plan.budget, 70);
  EXPECT_EQ(plan.size, BudgetSize::kPaper);
  row.units = "colocation";
  EXPECT_EQ(PlanOfRow(table, row).size, BudgetSize::kQuick) << "any size's, with as many samples";
  EXPECT_EQ(PlanOfRow(table, row).budget, 70);
}

TEST(Verify, TimesMachinesAndBoundsAreNoResults) {
  const CellRecord was = testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0);
  CellRecord is = was;
  is.machine = "elsewhere";
  is.revision = "another";
  is.date = "today";
  is.wall_seconds = 3;
  is.lower_bound_us = 7;
  is.cost_model = "of another folder";
  EXPECT_EQ(DifferenceOf(was, is), "");
  is.screens = 5;
  EXPECT_EQ(DifferenceOf(was, is), "screens was nothing, is 5");
  is.runtime_us = 1.5e6;
  EXPECT_EQ(DifferenceOf(was, is), "runtime_us was 1000000, is 1500000; so 1 more");
  is.scenario = "fedcba9876543210";
  EXPECT_THAT(DifferenceOf(was, is), StartsWith("scenario was 0123456789abcdef, is fedcba9876543210; so 2"));
}

TEST(Verify, LongFieldsAreToldFromWhereTheyDiffer) {
  CellRecord was = testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0);
  CellRecord is = was;
  was.curve = "1:2249483.403855 2:2113503.893808 3:1984000";
  is.curve = "1:2249483.403855 2:2113503.893808 3:1984001";
  EXPECT_EQ(DifferenceOf(was, is), "curve was … 3:1984000, is … 3:1984001");
  is.curve = "1:2249483.403855 2:2113503.893808 ";
  EXPECT_EQ(DifferenceOf(was, is), "curve was … 3:1984000, is … the end");
}

TEST(Verify, WhatABuildCannotRunIsNoDifference) {
  const CellRecord equal = testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0);
  CellRecord other = testing::MakeRecord("nmt_2", "random", "searched", 1, 1.0);
  const std::vector<CellRecord> rows = {equal, other};
  other.runtime_us.reset();
  other.status = "not_run";
  other.note = "no learners in this build";
  const Comparison compared = CompareRows(rows, {equal, other});
  EXPECT_EQ(CompareRows(rows, {other}).not_run, 1) << "where one was stopped";
  EXPECT_EQ(compared.equal, 1);
  EXPECT_EQ(compared.different, 0);
  EXPECT_EQ(compared.not_run, 1);
  EXPECT_THAT(compared.text, HasSubstr("native:rnnlm/random  1     1.00 s       1.00 s     equal\n"));
  EXPECT_THAT(compared.text, HasSubstr("no learners in this build"));
}

class VerifyProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    formats::WriteFile(folder_ / "mine.yaml",
                       "format: stowplan.experiment\nversion: 1\nname: mine\nsamples: 20\nseeds: 2\ncolumns: "
                       "[single_gpu, random]\nrows: [{workload: chain(ops=4), cluster: k80(gpus=2)}]\n");
    const auto ran = Call("run", {"--threads", "1"});
    ASSERT_EQ(ran.status, 0) << ran.err;
  }
  testing::ProgramResult Call(const char* verb, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"table", verb, folder_ / "mine.yaml", "--out", folder_ / "out"};
    words.insert(words.end(), more.begin(), more.end());
    return RunStowplan(words, folder_.path());
  }
  std::string Rows() const { return formats::ReadFile(folder_ / "out/rows.csv"); }

  tests::TempFolder folder_;
};

TEST_F(VerifyProgram, SaysThatRowsAreEqualAndWritesNothing) {
  const std::string rows = Rows();
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      names.insert(entry.path().string());
    return names;
  };
  const std::set<std::string> before = files();
  const auto verified = Call("verify", {"--rows", "10"});
  EXPECT_EQ(files(), before);
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("3 of 3 rows run again: 3 equal, 0 different\n"));
  EXPECT_EQ(Rows(), rows);
  EXPECT_THAT(Call("verify", {"--rows", "10", "--cells", "*/random"}).out, HasSubstr("2 of 3 rows run"));
}

TEST_F(VerifyProgram, FailsWhereARowIsAnother) {
  std::vector<CellRecord> records = ParseRows(Rows(), "rows.csv");
  auto random = std::ranges::find(records, "random", &CellRecord::column);
  random->samples_to_best = 19;
  formats::WriteFile(folder_ / "out/rows.csv", PrintRows(records));
  const auto verified = Call("verify", {"--rows", "10"});
  EXPECT_EQ(verified.status, 1);
  EXPECT_THAT(verified.out, HasSubstr("samples_to_best was 19, is "));
  EXPECT_THAT(verified.err, HasSubstr("3 of 3 rows run again: 2 equal, 1 different"));
}

// Prices, graphs or machines that are no longer those of the rows.
TEST_F(VerifyProgram, FailsWhereTheScenarioIsAnother) {
  const std::string file = formats::ReadFile(folder_ / "mine.yaml");
  formats::WriteFile(folder_ / "mine.yaml", std::string(file).replace(file.find("ops=4"), 5, "ops=4,us=7"));
  const auto verified = Call("verify", {"--rows", "10", "--cells", "*/single_gpu"});
  EXPECT_EQ(verified.status, 2) << "another row, whose key was made of the graph";
  formats::WriteFile(folder_ / "mine.yaml", std::string(file).replace(file.find("k80"), 3, "k40"));
  const auto other = Call("verify", {"--rows", "10"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.out, HasSubstr("scenario was "));
  EXPECT_THAT(other.err, HasSubstr("3 of 3 rows run again: 0 equal, 3 different"));
}

// Twins of one cell are two rows; one that lies does not hide behind the other.
TEST_F(VerifyProgram, EveryRowIsComparedWithItsOwn) {
  std::vector<CellRecord> records = ParseRows(Rows(), "rows.csv");
  CellRecord twin = *std::ranges::find(records, "single_gpu", &CellRecord::column);
  twin.runtime_us = 5;
  records.push_back(twin);
  formats::WriteFile(folder_ / "out/rows.csv", PrintRows(records));
  const auto verified = Call("verify", {"--rows", "10"});
  EXPECT_EQ(verified.status, 1) << verified.out;
  EXPECT_THAT(verified.err, HasSubstr("4 of 4 rows run again: 3 equal, 1 different"));
}

// Drift of machines, prices, partitioners, schedulers and of a search is seen here: rows of the papers' tables that cost little.
TEST(Verify, CommittedRowsAreWhatThisBuildComputes) {
  for (const auto& [table, cells] : {std::pair{"hierarchical", "*/expert,*/scotch,*/mincut,*/heft,*/m_etf"},
                                     {"placeto", "*/expert,*/scotch,*/metis,*/heft,*/m_etf"},
                                     {"sgdp", "*/human,*/metis,*/heft,*/m_etf,rnnlm_2/local_search"},
                                     {"mars", "*/expert,*/heft,*/m_etf"},
                                     {"baechi", "*/m_sct,*/m_etf,*/m_topo"}}) {
    const auto verified =
        RunStowplan({"table", "verify", table, "--rows", "5", "--cells", cells}, STOWPLAN_SOURCE_DIR);
    EXPECT_EQ(verified.status, 0) << verified.err << verified.out;
    EXPECT_THAT(verified.out, Not(HasSubstr("settings before"))) << table;
  }
}

using VerifyWithLearners = testing::NeedsLearners;

// A control that is asked for other samples or follows other rules than its column's is seen. On `ptb` no tie is left to a
// draw, which libtorch's rounding moves: all its seeds are alike.
TEST_F(VerifyWithLearners, CommittedWalksGreedyOnOffersAreWhatThisBuildComputes) {
  const auto verified = RunStowplan(
      {"table", "verify", "placeto-generalization", "--rows", "6", "--cells", "ptb:*/greedy_offers"},
      STOWPLAN_SOURCE_DIR);
  EXPECT_EQ(verified.status, 0) << verified.err << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("6 equal, 0 different"));
}

}  // namespace
}  // namespace stowplan::tables
