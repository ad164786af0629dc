// Samples, agent seconds and modelled machine seconds that a search needs to be this good.
#include "tables/report/clocks.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;

// 2 s per step at the first sample, 1 s at the `found`-th.
CellRecord Found(const char* column, int seed, int found) {
  CellRecord record = MakeRecord("rnnlm", column, "searched", seed, 1);
  record.curve = "1:2000000 " + std::to_string(found) + ":1000000";
  record.curve_machine_seconds = "20 " + std::to_string(10 * (found + 1));
  record.curve_agent_seconds = "0.5 " + std::to_string(found);
  record.samples_to_best = record.samples_to_1pct = found;
  return record;
}

CellSummary Cell(const std::vector<CellRecord>& records) {
  const TableDefinition table = testing::TinyTable();
  return TableResults(table, records).At("native", "rnnlm", records.front().column);
}

TEST(Clocks, CostIsThatOfTheFirstPointAsGood) {
  const CellRecord record = Found("random", 1, 7);
  EXPECT_EQ(CostToReach(record, 2).samples, 1);
  EXPECT_EQ(CostToReach(record, 1.5).samples, 7);
  EXPECT_EQ(CostToReach(record, 1.5).machine_seconds, 80);
  EXPECT_EQ(CostToReach(record, 1.5).Total(10), 7 + 80 + 70);
  EXPECT_TRUE(std::isinf(CostToReach(record, 0.9).samples));
  for (const double setup : kSetups) EXPECT_TRUE(std::isinf(CostToReach(record, 0.9).Total(setup))) << setup;
}

TEST(Clocks, RowsWithoutClocksKnowSamplesAlone) {
  CellRecord record = Found("random", 1, 7);
  record.curve_machine_seconds.clear();
  EXPECT_EQ(CostToReach(record, 1.5).samples, 7);
  EXPECT_TRUE(std::isinf(CostToReach(record, 1.5).Total(0)));
}

TEST(Clocks, SpeedupIsSamplesOfTheOtherOverOurs) {
  const CellSummary slow = Cell({Found("random", 1, 40), Found("random", 2, 40), Found("random", 3, 40)});
  const CellSummary fast = Cell({Found("learner", 1, 10), Found("learner", 2, 10), Found("learner", 3, 10)});
  const auto speedup = SampleSpeedup(fast, slow);
  ASSERT_TRUE(speedup.has_value());
  EXPECT_EQ(speedup->value, 4);
  EXPECT_EQ(speedup->low, 4);
  EXPECT_EQ(SampleSpeedup(slow, fast)->value, 0.25);
  const auto published = PublishedSpeedup(fast, slow);
  EXPECT_EQ(published->value, 4);
  EXPECT_EQ(published->high, 4);
}

// By the papers' count a seed that found nothing feasible never gets there; rows without the count say
// nothing.
TEST(Clocks, TheOwnBestIsCountedWhereThereIsOne) {
  std::vector<CellRecord> records;
  for (int seed = 1; seed <= 3; ++seed) records.push_back(Found("learner", seed, 10));
  const CellSummary other = Cell({Found("random", 1, 40), Found("random", 2, 40), Found("random", 3, 40)});
  for (CellRecord& record : records) {
    record.status = "oom";
    record.runtime_us.reset();
    record.samples_to_best.reset();
  }
  EXPECT_EQ(PublishedSpeedup(Cell(records), other)->value, 0);
  records.front() = Found("learner", 1, 10);
  records.front().samples_to_best.reset();
  EXPECT_FALSE(PublishedSpeedup(Cell(records), other).has_value());
}

TEST(Clocks, WhoNeverGetsThereHasNoSpeedup) {
  const CellSummary good = Cell({Found("random", 1, 40), Found("random", 2, 40), Found("random", 3, 40)});
  std::vector<CellRecord> bad;
  for (int seed = 1; seed <= 3; ++seed) {
    bad.push_back(Found("learner", seed, 10));
    bad.back().curve = "1:3000000";
    bad.back().runtime_us = 3e6;
  }
  EXPECT_EQ(SampleSpeedup(Cell(bad), good)->value, 0);
}

// More than half of the seeds reach it, and of two it is not the best.
TEST(Clocks, AMedianOfAnEvenNumberIsTheLargerOne) {
  const auto samples = [](const CellRecord& record) { return CostToReach(record, 1).samples; };
  const CellSummary cell =
      Cell({Found("random", 1, 40), Found("random", 2, 10), Found("random", 3, 20), Found("random", 4, 30)});
  EXPECT_EQ(MedianOver(cell, {1, 2}, samples), 40);
  EXPECT_EQ(MedianOver(cell, {1, 2, 3, 4}, samples), 30);
  EXPECT_EQ(MedianOver(cell, {2, 3, 4}, samples), 20);
}

TEST(Clocks, SecondsOfSeveralMachinesAreSaidToBe) {
  const TableDefinition table = testing::TinyTable();
  std::vector<CellRecord> records = testing::TinyRecords();
  records.back().machine = "another, 4 cores";
  EXPECT_EQ(SeveralMachines(TableResults(table, records)), "") << "none has seconds";
  for (CellRecord& record : records) record.simulator_seconds = record.machine_seconds = 1;
  const TableResults results(table, records);
  EXPECT_THAT(SeveralMachines(results),
              ::testing::HasSubstr("2 machines (a machine, 2 cores and another, 4 cores)"));
}

TEST(Clocks, OneSeedDecidesNothing) {
  const auto speedup = SampleSpeedup(Cell({Found("learner", 1, 10)}), Cell({Found("random", 1, 40)}));
  EXPECT_EQ(speedup->value, 4);
  EXPECT_EQ(Judge(*speedup, [](double r) { return r > 1 ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; }),
            ClaimWord::kUndecided);
}

}  // namespace
}  // namespace stowplan::tables
