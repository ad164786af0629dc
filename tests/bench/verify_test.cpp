// Rows run again: which are drawn, what is compared, what is said.
#include "bench/tables/verify.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/formats/formats.h"
#include "tests/bench/program.h"
#include "tests/bench/tiny_table.h"
#include "tests/temp_folder.h"

namespace berth::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunBerth;

TEST(Verify, OneOfEachColumnIsDrawnFirst) {
  const TableDefinition table = testing::TinyTable();
  const std::vector<CellPlan> plans = PlanCells(table, {});
  const std::size_t columns = table.blocks.front().columns.size();
  const std::vector<CellPlan> drawn = DrawPlans(plans, columns);
  std::set<std::string> keys;
  for (const CellPlan& plan : drawn) keys.insert(plan.column->key);
  EXPECT_EQ(keys.size(), columns);
  // A smaller draw is the beginning of a larger one, which has no cell twice.
  const std::vector<CellPlan> all = DrawPlans(plans, 1000);
  ASSERT_EQ(all.size(), plans.size());
  std::set<std::tuple<std::string, std::string, std::int64_t>> cells;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < drawn.size()) {
      EXPECT_EQ(all[i].column, drawn[i].column);
      EXPECT_EQ(all[i].line, drawn[i].line);
    }
    cells.insert({all[i].line->key, all[i].column->key, all[i].seed});
  }
  EXPECT_EQ(cells.size(), plans.size());
  // However the plans are sorted.
  std::vector<CellPlan> reversed(plans.rbegin(), plans.rend());
  EXPECT_EQ(DrawPlans(reversed, 1).front().line, drawn.front().line);
}

TEST(Verify, TimesMachinesAndBoundsAreNoResults) {
  const CellRecord was = testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0);
  CellRecord is = was;
  is.machine = "elsewhere";
  is.revision = "another";
  is.date = "today";
  is.wall_seconds = 3;
  is.lower_bound_us = 7;
  EXPECT_EQ(DifferenceOf(was, is), "");
  is.screens = 5;
  EXPECT_EQ(DifferenceOf(was, is), "screens was , is 5");
  is.runtime_us = 1.5e6;
  EXPECT_EQ(DifferenceOf(was, is), "runtime_us was 1000000, is 1500000");
}

TEST(Verify, WhatABuildCannotRunIsNoDifference) {
  const CellRecord equal = testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0);
  CellRecord other = testing::MakeRecord("nmt_2", "random", "searched", 1, 1.0);
  const std::vector<CellRecord> rows = {equal, other};
  other.runtime_us.reset();
  other.status = "not_run";
  other.note = "no learners in this build";
  const Comparison compared = CompareRows(rows, {equal, other});
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
                       "format: berth.experiment\nversion: 1\nname: mine\nsamples: 20\nseeds: 2\ncolumns: "
                       "[single_gpu, random]\nrows: [{workload: chain(ops=4), cluster: k80(gpus=2)}]\n");
    const auto ran = Call({"--threads", "1"});
    ASSERT_EQ(ran.status, 0) << ran.err;
  }
  testing::ProgramResult Call(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"table", folder_ / "mine.yaml", "--out", folder_ / "out"};
    words.insert(words.end(), more.begin(), more.end());
    return RunBerth(words, folder_.path());
  }
  std::string Rows() const { return formats::ReadFile(folder_ / "out/rows.csv"); }

  tests::TempFolder folder_;
};

TEST_F(VerifyProgram, SaysThatRowsAreEqualAndWritesNothing) {
  const std::string rows = Rows();
  const auto verified = Call({"--verify", "10"});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("3 of 3 rows run again: 3 equal, 0 different\n"));
  EXPECT_EQ(Rows(), rows);
  EXPECT_THAT(Call({"--verify", "10", "--cells", "*/random"}).out,
              HasSubstr("2 of 3 rows run again: 2 equal"));
}

TEST_F(VerifyProgram, FailsWhereARowIsAnother) {
  std::vector<CellRecord> records = ParseRows(Rows(), "rows.csv");
  auto random = std::ranges::find(records, "random", &CellRecord::column);
  random->samples_to_best = 19;
  formats::WriteFile(folder_ / "out/rows.csv", PrintRows(records));
  const auto verified = Call({"--verify", "10"});
  EXPECT_EQ(verified.status, 1);
  EXPECT_THAT(verified.out, HasSubstr("samples_to_best was 19, is "));
  EXPECT_THAT(verified.err, HasSubstr("3 of 3 rows run again: 2 equal, 1 different"));
}

// Of another scenario a row is no result of today's, so that nothing is compared.
TEST_F(VerifyProgram, RowsOfOtherSettingsAreCountedAndNotDrawn) {
  std::vector<CellRecord> records = ParseRows(Rows(), "rows.csv");
  records.back().scenario = "0123456789abcdef";
  formats::WriteFile(folder_ / "out/rows.csv", PrintRows(records));
  const auto verified = Call({"--verify", "10"});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out,
              HasSubstr("2 of 3 rows run again: 2 equal, 0 different; 1 row is of settings before today's"));
}

TEST_F(VerifyProgram, RefusesWhatItDoesNotDo) {
  for (const char* option : {"--resume", "--render", "--export", "--quick"}) {
    const auto refused = Call({"--verify", "1", option});
    EXPECT_EQ(refused.status, 2) << option;
    EXPECT_THAT(refused.err, HasSubstr(option == std::string("--quick") ? "--budget" : option));
  }
  EXPECT_EQ(Call({"--verify", "0"}).status, 2);
  const auto derived = RunBerth({"table", "bounds", "--verify", "1"}, folder_.path());
  EXPECT_EQ(derived.status, 2);
  EXPECT_THAT(derived.err, HasSubstr("is made of what others ran and has no cells"));
  std::filesystem::remove(folder_ / "out/rows.csv");
  EXPECT_EQ(Call({"--verify", "1"}).status, 2);
}

// Drift of machines, prices, partitioners and schedulers is seen here: rows of the papers' tables that cost little.
TEST(Verify, CommittedRowsAreWhatThisBuildComputes) {
  for (const auto& [table, cells] : {std::pair{"hierarchical", "*/expert,*/scotch,*/mincut,*/heft,*/m_etf"},
                                     {"placeto", "*/expert,*/scotch,*/metis,*/heft,*/m_etf"},
                                     {"sgdp", "*/human,*/metis,*/heft,*/m_etf"},
                                     {"mars", "*/expert,*/heft,*/m_etf"},
                                     {"baechi", "*/m_sct,*/m_etf,*/m_topo"}}) {
    const auto verified = RunBerth({"table", table, "--verify", "5", "--cells", cells}, BERTH_SOURCE_DIR);
    EXPECT_EQ(verified.status, 0) << verified.err << verified.out;
    EXPECT_THAT(verified.out, Not(HasSubstr("settings before"))) << table;
  }
}

}  // namespace
}  // namespace berth::bench
