#include "bench/tables/settings_before.h"

#include <gtest/gtest.h>

#include "agents/agent.h"
#include "tests/bench/tiny_table.h"

namespace berth::bench {
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

TEST(SettingsBefore, MostlyIsMoreThanHalf) {
  const TableDefinition table = TinyTable();
  const std::string random = agents::MakeAgent("random")->name();
  const TableResults results(table,
                             {Row("rnnlm", "random", random), Row("nmt_2", "random", "random(unit=op)")});
  const std::string block = table.blocks.front().key;
  EXPECT_FALSE(MostlyBefore(results, block, {}, "random"));
  EXPECT_FALSE(MostlyBefore(results, block, {"rnnlm"}, "random"));
  EXPECT_TRUE(MostlyBefore(results, block, {"nmt_2"}, "random"));
  EXPECT_FALSE(MostlyBefore(results, block, {}, "no such column"));
}

TEST(SettingsBefore, WhatAPolicyWasTrainedOnIsNoSetting) {
  TableDefinition table = TinyTable();
  table.blocks[0].columns[2].zero_shot = true;
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

}  // namespace
}  // namespace berth::bench
