#include "tables/settings_before.h"

#include "agents/agent.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;
using testing::TinyTable;

CellRecord Row(const char* row, const char* column, const std::string& agent) {
  CellRecord record = MakeRecord(row, column, "searched", 1, 1.0);
  record.agent = agent;
  return record;
}

// "native:nmt_2/random", of each cell.
std::set<std::string> Before(const TableDefinition& table, const std::vector<CellRecord>& records) {
  const TableResults results(table, records);
  const std::set<const CellSummary*> cells = CellsBefore(results);
  std::set<std::string> names;
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        if (cells.contains(&results.At(block.key, line.key, column.key)))
          names.insert(block.key + ":" + line.key + "/" + column.key);
      }
    }
  }
  return names;
}

using Names = std::set<std::string>;

TEST(SettingsBefore, AreThoseOfAnotherAgentThanTodays) {
  TableDefinition table = TinyTable();
  const std::string random = agents::MakeAgent("random")->name();
  const std::string block = agents::MakeAgent("random(unit=block)")->name();
  EXPECT_EQ(Before(table, {Row("rnnlm", "random", random), Row("nmt_2", "learner", block)}), Names());
  EXPECT_EQ(Before(table, {Row("rnnlm", "random", random), Row("nmt_2", "random", "random(unit=op)"),
                           Row("nmt_2", "learner", "random(unit=block)")}),
            (Names{"native:nmt_2/random", "native:nmt_2/learner"}));
  table.blocks.push_back(table.blocks.front());
  table.blocks.back().key = "rules";
  std::vector<CellRecord> records = {Row("rnnlm", "random", random),
                                     Row("rnnlm", "random", "random(unit=op)")};
  records.back().block = "rules";
  EXPECT_EQ(Before(table, records), Names{"rules:rnnlm/random"});
}

TEST(SettingsBefore, UnitsAreSettings) {
  TableDefinition table = TinyTable();
  table.blocks[0].lines[0].grouper = "neighbour(groups=8)";
  table.blocks[0].columns[2].grouper = "";
  CellRecord row = Row("rnnlm", "random", agents::MakeAgent("random")->name());
  const auto before = [&](const char* units) {
    row.units = units;
    return !Before(table, {row}).empty();
  };
  EXPECT_FALSE(before("neighbour(groups=8)"));
  EXPECT_TRUE(before("neighbour(groups=9)"));
  EXPECT_TRUE(before("tied(groups=8)"));
  EXPECT_TRUE(before("colocation("));
  table.quick = {60, 1, "colocation"};
  EXPECT_TRUE(before("colocation"));
  row.budget = 60;
  EXPECT_FALSE(before("colocation"));
}

TEST(SettingsBefore, WhatAPolicyWasTrainedOnIsNoSetting) {
  TableDefinition table = TinyTable();
  table.blocks[0].columns[2].trained = true;
  const std::string random = agents::MakeAgent("random")->name();
  EXPECT_EQ(Before(table, {Row("rnnlm", "random", random + " trained on x")}), Names());
  EXPECT_EQ(Before(table, {Row("rnnlm", "random", "random(unit=op) trained on x")}),
            Names{"native:rnnlm/random"});
}

// Of cells that were not run, and of agents that this build cannot make, nothing is said.
TEST(SettingsBefore, SaysNothingOfWhatItCannotKnow) {
  TableDefinition table = TinyTable();
  CellRecord absent = Row("rnnlm", "random", "random(unit=op)");
  absent.note = "no plug-in";
  EXPECT_EQ(Before(table, {absent}), Names());
}

}  // namespace
}  // namespace stowplan::tables
