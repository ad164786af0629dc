#include "tables/settings_before.h"

#include <gtest/gtest.h>

#include "agents/agent.h"
#include "tables/report/claims.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;
using testing::TinyTable;

CellRecord Row(const char* row, const char* column, const std::string& agent) {
  CellRecord record = MakeRecord(row, column, "searched", 1, 1.0);
  record.agent = agent;
  return record;
}

TEST(SettingsBefore, NamesColumnsWhoseAgentHasOtherSettingsNow) {
  const TableDefinition table = TinyTable();
  const std::string random = agents::MakeAgent("random")->name();
  const std::string block = agents::MakeAgent("random(unit=block)")->name();
  EXPECT_EQ(
      SettingsBefore(TableResults(table, {Row("rnnlm", "random", random), Row("nmt_2", "learner", block)})),
      "");
  EXPECT_EQ(SettingsBefore(TableResults(
                table, {Row("rnnlm", "random", random), Row("nmt_2", "random", "random(unit=op)"),
                        Row("nmt_2", "learner", "random(unit=block)")})),
            "random (1 of 2 rows); learner");
}

TEST(SettingsBefore, OneRowIsEnough) {
  const TableDefinition table = TinyTable();
  const std::string random = agents::MakeAgent("random")->name();
  const TableResults results(table,
                             {Row("rnnlm", "random", random), Row("nmt_2", "random", "random(unit=op)")});
  const std::string block = table.blocks.front().key;
  EXPECT_TRUE(AnyBefore(results, block, {}, "random"));
  EXPECT_TRUE(AnyBefore(results, "", {}, "random")) << "in any block";
  EXPECT_FALSE(AnyBefore(results, block, {"rnnlm"}, "random"));
  EXPECT_TRUE(AnyBefore(results, block, {"nmt_2"}, "random"));
  EXPECT_FALSE(AnyBefore(results, block, {}, "no such column"));
}

TEST(SettingsBefore, UnitsAreSettings) {
  TableDefinition table = TinyTable();
  table.blocks[0].lines[0].grouper = "neighbour(groups=8)";
  table.blocks[0].columns[2].grouper = "";
  CellRecord row = Row("rnnlm", "random", agents::MakeAgent("random")->name());
  const auto before = [&](const char* units) {
    row.units = units;
    return SettingsBefore(TableResults(table, {row}));
  };
  EXPECT_EQ(before("neighbour(groups=8)"), "");
  EXPECT_EQ(before("neighbour(groups=9)"), "random");
  EXPECT_EQ(before("tied(groups=8)"), "random");
  EXPECT_EQ(before("colocation("), "random");
  table.quick = {60, 1, "colocation"};
  EXPECT_EQ(before("colocation"), "random");
  row.budget = 60;
  EXPECT_EQ(before("colocation"), "");
}

TEST(SettingsBefore, WhatAPolicyWasTrainedOnIsNoSetting) {
  TableDefinition table = TinyTable();
  table.blocks[0].columns[2].trained = true;
  const std::string random = agents::MakeAgent("random")->name();
  EXPECT_EQ(SettingsBefore(TableResults(table, {Row("rnnlm", "random", random + " trained on x")})), "");
  EXPECT_EQ(SettingsBefore(TableResults(table, {Row("rnnlm", "random", "random(unit=op) trained on x")})),
            "random");
}

TEST(SettingsBefore, NamesTheBlocksWhereOthersAreOfToday) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks.front());
  table.blocks.back().key = "rules";
  std::vector<CellRecord> records = {Row("rnnlm", "random", agents::MakeAgent("random")->name()),
                                     Row("rnnlm", "random", "random(unit=op)")};
  records.back().block = "rules";
  EXPECT_EQ(SettingsBefore(TableResults(table, records)), "random (rules)");
}

// Of cells that were not run, and of agents that this build cannot make, nothing is said.
TEST(SettingsBefore, SaysNothingOfWhatItCannotKnow) {
  TableDefinition table = TinyTable();
  CellRecord absent = Row("rnnlm", "random", "random(unit=op)");
  absent.note = "no plug-in";
  EXPECT_EQ(SettingsBefore(TableResults(table, {absent})), "");
}

// Whoever was mended is not to win by that an opponent was not yet run again.
TEST(SettingsBefore, ClaimsAreNeitherLostByThemNorWonAgainstThem) {
  TableDefinition table = TinyTable();
  Claim claim;
  claim.kind = "mean_ratio";
  claim.text = "a learner is faster";
  claim.block = table.blocks.front().key;
  claim.columns = {"learner"};
  claim.than = {"random"};
  claim.limit = 0.9;
  table.claims = {claim};
  const auto word = [&](double runtime, bool learner_before, bool random_before) {
    std::vector<CellRecord> records;
    for (const char* row : {"rnnlm", "nmt_2"}) {
      for (int seed = 1; seed <= 10; ++seed) {
        records.push_back(MakeRecord(row, "learner", "searched", seed, runtime));
        records.back().agent =
            learner_before ? "random(unit=block)" : agents::MakeAgent("random(unit=block)")->name();
        records.push_back(MakeRecord(row, "random", "searched", seed, 1.0));
        records.back().agent = random_before ? "random(unit=op)" : agents::MakeAgent("random")->name();
      }
    }
    return JudgeClaims(TableResults(table, records)).front().word;
  };
  EXPECT_EQ(word(0.5, false, false), ClaimWord::kHolds);
  EXPECT_EQ(word(0.5, true, false), ClaimWord::kHolds);
  EXPECT_EQ(word(0.5, false, true), ClaimWord::kUndecided);
  EXPECT_EQ(word(1.5, false, false), ClaimWord::kDoesNotHold);
  EXPECT_EQ(word(1.5, true, false), ClaimWord::kUndecided);
  EXPECT_EQ(word(1.5, false, true), ClaimWord::kUndecided);
}

}  // namespace
}  // namespace stowplan::tables
