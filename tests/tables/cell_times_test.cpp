// What is left of a table is told by kind of cell: agent and row.
#include "tables/run/cell_times.h"

#include "tables/run/cell_progress.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::TinyTable;

TEST(CellTimes, AKindThatWasMeasuredIsScaledWithItsBudget) {
  CellTimes times;
  times.Add("nmt", "random", 100, 10);
  times.Add("nmt", "random", 100, 30);
  EXPECT_DOUBLE_EQ(times.Predict("nmt", "random", 1000).value(), 200);
}

TEST(CellTimes, AnotherRowIsTranslatedByOtherColumns) {
  CellTimes times;
  times.Add("small", "random", 1, 1);
  times.Add("large", "random", 1, 8);
  times.Add("small", "annealing", 1, 2);
  times.Add("large", "annealing", 1, 4);
  times.Add("small", "placeto", 1, 100);
  // Others take 8 and 2 times as long there, 4 in the geometric mean.
  EXPECT_DOUBLE_EQ(times.Predict("large", "placeto", 1).value(), 400);
}

TEST(CellTimes, WhatNothingIsKnownOfIsNotGuessed) {
  CellTimes times;
  times.Add("small", "random", 1, 1);
  times.Add("large", "annealing", 1, 1);
  EXPECT_FALSE(times.Predict("large", "random", 1)) << "no column is known in both rows";
  EXPECT_FALSE(times.Predict("small", "placeto", 1)) << "the column is not known at all";
  EXPECT_FALSE(times.Predict("absent", "random", 1));
}

CellRecord Finished(const CellPlan& plan, double seconds) {
  CellRecord record;
  record.block = plan.block->key;
  record.row = plan.line->key;
  record.column = plan.column->key;
  record.seed = plan.seed;
  record.budget = plan.budget;
  record.wall_seconds = seconds;
  return record;
}

// A table whose learners take a thousand times as long as its searches: the first quick cells say nothing of the whole,
// and nothing is said until each kind is known.
TEST(CellProgress, SaysNothingUntilEachKindIsKnownAndThenTheSum) {
  const TableDefinition table = TinyTable();
  const std::vector<CellPlan> plans = PlanCells(table, {.seeds = 2});
  CellProgress progress("cells", plans, {.threads = 1, .quiet = true});
  const auto seconds = [](const CellPlan& plan) { return plan.column->learner ? 1000.0 : 1.0; };
  double left = 0;
  for (const CellPlan& plan : plans) left += seconds(plan);
  int said = 0;
  for (const CellPlan& plan : plans) {
    progress.Cell(Finished(plan, seconds(plan)), false);
    left -= seconds(plan);
    const std::optional<double> predicted = progress.SecondsLeft();
    if (!predicted) continue;
    ++said;
    EXPECT_NEAR(*predicted, left, 1e-6 * (left + 1));
  }
  EXPECT_GE(said, 3);
}

TEST(CellProgress, KnowsKindsFromCellsThatWereFinishedBefore) {
  const TableDefinition table = TinyTable();
  const std::vector<CellPlan> plans = PlanCells(table, {.seeds = 1});
  std::vector<CellRecord> known;
  for (const CellPlan& plan : plans) known.push_back(Finished(plan, 6));
  CellProgress progress("cells", plans, {.threads = 2, .known = known, .quiet = true});
  EXPECT_DOUBLE_EQ(progress.SecondsLeft().value(), 6.0 * static_cast<double>(plans.size()) / 2);
}

TEST(CellProgress, NothingIsSaidWhilePoliciesAreTrained) {
  const TableDefinition table = TinyTable();
  const std::vector<CellPlan> plans = PlanCells(table, {.seeds = 1});
  std::vector<CellRecord> known;
  for (const CellPlan& plan : plans) known.push_back(Finished(plan, 6));
  CellProgress progress("cells", plans, {.threads = 2, .known = known, .quiet = true});
  progress.Training("placeto, seed 1", 10, 100);
  EXPECT_FALSE(progress.SecondsLeft());
}

}  // namespace
}  // namespace stowplan::tables
