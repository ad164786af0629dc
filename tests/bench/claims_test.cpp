// What the claims of the tables say of made-up rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/tiny_table.h"

namespace berth::bench {
namespace {

using ::testing::HasSubstr;
using testing::MakeRecord;

// Every row of sgdp: 1 s by the human, `seconds` by SGDP under each of the seeds.
std::vector<CellRecord> SgdpRows(int seeds, double seconds) {
  std::vector<CellRecord> records;
  for (const TableLine& line : FindTable("sgdp").blocks.front().lines) {
    records.push_back(MakeRecord(line.key.c_str(), "human", "predicted", 1, 1));
    for (int seed = 1; seed <= seeds; ++seed)
      records.push_back(MakeRecord(line.key.c_str(), "sgdp", "searched", seed, seconds));
  }
  return records;
}

ClaimReading MeanOf(const std::vector<CellRecord>& records) {
  const TableDefinition& table = FindTable("sgdp");
  return table.claims(TableResults(table, records)).front();
}

TEST(Claims, AMeanOverFiniteRowsIsDecided) {
  EXPECT_EQ(MeanOf(SgdpRows(3, 0.5)).word, ClaimWord::kHolds);
  EXPECT_EQ(MeanOf(SgdpRows(3, 0.9)).word, ClaimWord::kDoesNotHold);
}

TEST(Claims, ARowWithoutMemoryLeavesAMeanUndecidedAndIsNamed) {
  for (const char* column : {"sgdp", "human"}) {
    std::vector<CellRecord> records = SgdpRows(3, 0.5);
    for (CellRecord& record : records) {
      if (record.row != "gnmt_8" || record.column != column) continue;
      record.runtime_us.reset();
      record.status = "oom";
    }
    const ClaimReading reading = MeanOf(records);
    EXPECT_EQ(reading.word, ClaimWord::kUndecided) << column;
    EXPECT_EQ(reading.ours, "no mean, out of memory in GNMT, 8 layers") << column;
  }
}

TEST(Claims, TooFewSeedsLeaveAMeanUndecided) {
  const ClaimReading reading = MeanOf(SgdpRows(1, 0.5));
  EXPECT_EQ(reading.word, ClaimWord::kUndecided);
  EXPECT_EQ(reading.ours, "0.500 times, 1 seed");
}

TEST(Claims, CountsPublishedVerdictsBeforeAnythingIsRun) {
  const TableDefinition& table = FindTable("sgdp");
  const ClaimReading reading = table.claims(TableResults(table, {})).back();
  EXPECT_EQ(reading.claim, "METIS runs out of memory in 8 of 14 rows");
  EXPECT_EQ(reading.ours, "not run");
}

TEST(Claims, PartsThatDoNotFitWereRun) {
  const TableDefinition& table = FindTable("mars");
  const auto level = [&](const std::vector<CellRecord>& records) {
    return table.claims(TableResults(table, records)).back();
  };
  EXPECT_EQ(level({}).ours, "not run");
  const ClaimReading oom = level({MakeRecord("bert", "halves", "predicted", 1, std::nullopt)});
  EXPECT_EQ(oom.ours, "four contiguous parts do not fit");
  EXPECT_EQ(oom.word, ClaimWord::kCannotBeTested);
  EXPECT_EQ(level({MakeRecord("bert", "halves", "predicted", 1, 1)}).word, ClaimWord::kDoesNotHold);
}

}  // namespace
}  // namespace berth::bench
