#include "tables/results.h"

#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;
using testing::TinyRecords;
using testing::TinyTable;

TEST(Results, PutsSeedsTogether) {
  const TableDefinition table = TinyTable();
  const TableResults results(table, TinyRecords());
  const CellSummary& cell = results.At("native", "rnnlm", "random");
  EXPECT_EQ(cell.seeds, 3);
  EXPECT_EQ(cell.median, 1.2);
  EXPECT_EQ(cell.low, 1.0);
  EXPECT_EQ(cell.high, 1.4);
  EXPECT_EQ(cell.bound, 0.5);
  std::vector<CellRecord> four = TinyRecords();
  four.push_back(MakeRecord("rnnlm", "random", "searched", 4, 9.0));
  EXPECT_DOUBLE_EQ(*TableResults(table, four).At("native", "rnnlm", "random").median, (1.2 + 1.4) / 2);
}

TEST(Results, MedianIsOverSeedsThatFitAndSaysHowMany) {
  const TableDefinition table = TinyTable();
  const TableResults results(table, TinyRecords());
  const CellSummary& cell = results.At("native", "nmt_2", "random");
  EXPECT_EQ(cell.state, CellSummary::State::kFits);
  EXPECT_EQ(cell.seeds, 2);
  EXPECT_EQ(cell.feasible, 1);
  EXPECT_EQ(cell.median, 1.9);
}

TEST(Results, ComparesNumbersWithNumbersAndVerdictsWithVerdicts) {
  const TableDefinition table = TinyTable();
  const TableResults results(table, TinyRecords());
  EXPECT_DOUBLE_EQ(*results.At("native", "rnnlm", "cpu_only").ratio(), 6.2 / 6.89);
  const CellSummary& gpu = results.At("native", "nmt_2", "single_gpu");
  EXPECT_FALSE(gpu.ratio().has_value()) << "ours is a number, theirs OOM";
  EXPECT_EQ(gpu.same_verdict(), false);
  EXPECT_EQ(results.At("native", "rnnlm", "single_gpu").same_verdict(), true);
  EXPECT_FALSE(results.At("native", "rnnlm", "random").same_verdict().has_value())
      << "the paper has no such column";
  EXPECT_EQ(results.At("native", "rnnlm", "learner").state, CellSummary::State::kAbsent);
  EXPECT_FALSE(results.At("native", "rnnlm", "learner").same_verdict().has_value());
}

TEST(Results, OfSeveralBudgetsTheLargestCounts) {
  const TableDefinition table = TinyTable();
  CellRecord quick = MakeRecord("rnnlm", "random", "searched", 1, 9.0);
  quick.budget = 10;
  std::vector<CellRecord> records = TinyRecords();
  records.push_back(quick);
  EXPECT_EQ(TableResults(table, records).At("native", "rnnlm", "random").median, 1.2);
}

TEST(Results, RefusesACellTheTableDoesNotHave) {
  const TableDefinition table = TinyTable();
  EXPECT_THROW(TableResults(table, {MakeRecord("rnnlm", "no_such_column", "searched", 1, 1.0)}), InputError);
}

TEST(Results, RulesWithoutMemoryLimitsHasNoVerdicts) {
  TableDefinition table = TinyTable();
  table.blocks[0].memory_limits = false;
  const TableResults results(table, TinyRecords());
  EXPECT_FALSE(results.At("native", "nmt_2", "single_gpu").same_verdict().has_value());
}

}  // namespace
}  // namespace stowplan::tables
