// What the claims of the tables say of made-up rows.
#include <fmt/format.h>
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

// The claim of a table that begins like this.
ClaimReading ClaimOf(const TableDefinition& table, const std::vector<CellRecord>& records,
                     const std::string& begin) {
  for (const ClaimReading& reading : table.claims(TableResults(table, records))) {
    if (reading.claim.rfind(begin, 0) == 0) return reading;
  }
  ADD_FAILURE() << "no claim begins with " << begin;
  return {};
}

ClaimReading MeanOf(const std::vector<CellRecord>& records) {
  return ClaimOf(FindTable("sgdp"), records, "SGDP is 20.5 % below the human");
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
  const ClaimReading reading = ClaimOf(FindTable("sgdp"), {}, "METIS");
  EXPECT_EQ(reading.claim, "METIS runs out of memory in 8 of 14 rows");
  EXPECT_EQ(reading.ours, "not run");
}

TEST(Claims, PartsThatDoNotFitWereRun) {
  const auto level = [&](const std::vector<CellRecord>& records) {
    return ClaimOf(FindTable("mars"), records, "BERT: the best placements found");
  };
  EXPECT_EQ(level({}).ours, "not run");
  const ClaimReading oom = level({MakeRecord("bert", "halves", "predicted", 1, std::nullopt)});
  EXPECT_EQ(oom.ours, "four contiguous parts do not fit");
  EXPECT_EQ(oom.word, ClaimWord::kCannotBeTested);
  EXPECT_EQ(level({MakeRecord("bert", "halves", "predicted", 1, 1)}).word, ClaimWord::kDoesNotHold);
}

// Rows of one table: `seconds` of each column under seeds 1 to 3.
std::vector<CellRecord> ThreeSeeds(
    const char* row, const std::vector<std::pair<const char*, std::optional<double>>>& columns) {
  std::vector<CellRecord> records;
  for (const auto& [column, seconds] : columns) {
    for (int seed = 1; seed <= 3; ++seed)
      records.push_back(MakeRecord(row, column, "searched", seed, seconds));
  }
  return records;
}

constexpr char kBeatsRandom[] = "Placeto beats the best of three kinds of random search";

// PROTOCOL 1.11: one opponent of three that is better is enough to lose, one that does not fit is no excuse.
TEST(Claims, ALearnerIsComparedWithTheBestOfThreeKindsOfRandomSearch) {
  const auto word = [&](double a, double b, std::optional<double> c) {
    return ClaimOf(FindTable("placeto"),
                   ThreeSeeds("nmt_2",
                              {{"placeto", 1.0}, {"random_op", a}, {"random_group", b}, {"random_block", c}}),
                   kBeatsRandom)
        .word;
  };
  EXPECT_EQ(word(2, 2, 2), ClaimWord::kHolds);
  EXPECT_EQ(word(2, 2, std::nullopt), ClaimWord::kHolds);
  EXPECT_EQ(word(2, 0.9, 2), ClaimWord::kDoesNotHold);
  EXPECT_EQ(word(1, 2, 2), ClaimWord::kDoesNotHold);  // equal is not better
}

TEST(Claims, ALearnerThatFindsNothingIsARowLost) {
  const auto records = ThreeSeeds(
      "nmt_2", {{"placeto", std::nullopt}, {"random_op", 2.0}, {"random_group", 2.0}, {"random_block", 2.0}});
  const ClaimReading reading = ClaimOf(FindTable("placeto"), records, kBeatsRandom);
  EXPECT_EQ(reading.word, ClaimWord::kDoesNotHold);
  EXPECT_THAT(reading.ours, HasSubstr("not won 1"));
}

TEST(Claims, AMissingKindOfRandomSearchLeavesTheRowUntested) {
  const auto records = ThreeSeeds("nmt_2", {{"placeto", 1.0}, {"random_op", 2.0}, {"random_group", 2.0}});
  EXPECT_EQ(ClaimOf(FindTable("placeto"), records, kBeatsRandom).word, ClaimWord::kCannotBeTested);
}

// Mars ends at 1 s after `with` samples with and after `without` samples without pre-training, under each of
// ten seeds.
ClaimReading PretrainingSaves(int with, int without) {
  const TableDefinition& table = FindTable("mars-pretraining");
  std::vector<CellRecord> records;
  for (const TableLine& line : table.blocks.front().lines) {
    for (const auto& [column, found] : {std::pair("mars", with), std::pair("mars_no_pretraining", without)}) {
      for (int seed = 1; seed <= 10; ++seed) {
        CellRecord& record = records.emplace_back(MakeRecord(line.key.c_str(), column, "searched", seed, 1));
        record.curve = fmt::format("1:3000000 {}:1000000", found);
        record.curve_machine_seconds = fmt::format("30 {}", 10 * found);
        record.curve_agent_seconds = fmt::format("1 {}", found);
      }
    }
  }
  return ClaimOf(table, records, "Pre-training saves 13.2 %");
}

TEST(Claims, PretrainingIsJudgedByTheTimeToACommonQuality) {
  const ClaimReading reading = PretrainingSaves(50, 100);  // 21 s for each sample in both
  EXPECT_EQ(reading.word, ClaimWord::kHolds);
  EXPECT_EQ(reading.ours, "50.0 % [50.0, 50.0], 10 seeds");
  EXPECT_EQ(PretrainingSaves(95, 100).word, ClaimWord::kDoesNotHold);
  EXPECT_EQ(PretrainingSaves(200, 100).word, ClaimWord::kDoesNotHold);
}

}  // namespace
}  // namespace berth::bench
