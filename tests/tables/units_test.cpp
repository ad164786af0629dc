// What table units says, on made-up rows: two units, two agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/report/analyses.h"
#include "tables/report/rendered_table.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using ::testing::HasSubstr;
using testing::MakeRecord;
using ::testing::Not;
using ::testing::SizeIs;

// Two agents that search; `first` in place of the first.
TableDefinition TwoUnits(const std::string& first = "annealing") {
  TableDefinition table = testing::TinyTable();
  for (TableColumn& column : table.blocks[0].columns) {
    if (column.key == "random") column.agent = first;
    if (column.key == "learner") column.agent = "local_search";
  }
  table.analysis = &kUnits;
  for (TableLine& line : table.blocks[0].lines) line.published.clear();
  table.blocks.push_back(table.blocks.front());
  table.blocks[0].key = "ops", table.blocks[1].key = "groups";
  table.blocks[0].title = "ops", table.blocks[1].title = "groups";
  return table;
}

// Seconds of (random, learner) with ops, then with groups.
std::vector<CellRecord> Rows(const char* row, double a, double b, double c, double d) {
  std::vector<CellRecord> records = {
      MakeRecord(row, "random", "searched", 1, a), MakeRecord(row, "learner", "searched", 1, b),
      MakeRecord(row, "random", "searched", 1, c), MakeRecord(row, "learner", "searched", 1, d)};
  for (std::size_t i = 0; i < records.size(); ++i) records[i].block = i < 2 ? "ops" : "groups";
  return records;
}

TEST(Units, SpreadsOverUnitsAndOverAgents) {
  const TableDefinition table = TwoUnits();
  // The best is 1 s: random 8 and 2 times it, the learner 4 and 1. Units differ by 4 for each agent, agents by 2 for each unit.
  std::vector<CellRecord> records = Rows("rnnlm", 8, 4, 2, 1);
  for (CellRecord& record : Rows("nmt_2", 16, 8, 4, 2)) records.push_back(std::move(record));
  const RenderedTable rendered = BuildRenderedTable(TableResults(table, records));
  EXPECT_THAT(
      rendered.outcome.front(),
      HasSubstr(
          "worst unit takes 4.00 times as long as with its best, a unit with its worst agent 2.00 times "
          "(geometric means over 2 rows): the unit explains more than the agent (ratio 2.00, 90 % interval "
          "[2.00, 2.00])."));
  ASSERT_TRUE(rendered.summary.has_value());
  ASSERT_THAT(rendered.summary->lines, SizeIs(2));
  EXPECT_EQ(rendered.summary->lines[0].cells[0].ours, "8.00");
  EXPECT_EQ(rendered.summary->lines[1].cells[1].ours, "1.000");
}

TEST(Units, WhoExplainsMoreIsToldWithAndWithoutBlindDraws) {
  const auto outcome = [](const std::string& first, std::vector<CellRecord> records) {
    const TableDefinition table = TwoUnits(first);
    return BuildRenderedTable(TableResults(table, records)).outcome.front();
  };
  EXPECT_THAT(outcome("annealing", Rows("rnnlm", 8, 1, 16, 2)),
              HasSubstr(": the agent explains more than the unit (ratio "));
  std::vector<CellRecord> mixed = Rows("rnnlm", 8, 1, 16, 2);
  for (CellRecord& record : Rows("nmt_2", 2, 1, 16, 8)) mixed.push_back(std::move(record));
  EXPECT_THAT(outcome("annealing", mixed), HasSubstr(": which of them explains more is open (ratio "));
  // One agent is left where random draws are: none to compare it with.
  const TableDefinition blind = TwoUnits("random");
  EXPECT_THAT(BuildRenderedTable(TableResults(blind, Rows("rnnlm", 8, 1, 16, 2))).outcome,
              ::testing::Each(Not(HasSubstr("Without random draws"))));
}

TEST(Units, WhatBlindDrawsHideIsTold) {
  TableDefinition table = TwoUnits("random");
  for (TableBlock& block : table.blocks) {
    block.columns.push_back(block.columns[3]);
    block.columns.back().key = block.columns.back().title = block.columns.back().agent = "annealing";
  }
  // Random draws make agents differ by 8 and 16; the two that look differ by 2, their units by 4.
  std::vector<CellRecord> records = Rows("rnnlm", 32, 8, 16, 2);
  for (const auto& [block, seconds] : {std::pair{"ops", 4.0}, {"groups", 1.0}}) {
    records.push_back(MakeRecord("rnnlm", "annealing", "searched", 1, seconds));
    records.back().block = block;
  }
  const std::vector<std::string> outcome = BuildRenderedTable(TableResults(table, records)).outcome;
  EXPECT_THAT(outcome[0], HasSubstr(": the agent explains more than the unit (ratio "));
  EXPECT_THAT(
      outcome[1],
      HasSubstr("which see nothing, 4.00 and 2.00: the unit explains more than the agent (ratio 2.00, "));
}

// A row that a unit cannot place, or where a column was not run, is left out of that column, which says so.
TEST(Units, ColumnsAreComparedOnTheRowsThatAllUnitsHave) {
  const TableDefinition table = TwoUnits();
  std::vector<CellRecord> records = Rows("rnnlm", 8, 4, 2, 1);
  records.push_back(MakeRecord("nmt_2", "random", "searched", 1, 5.0));
  records.back().block = "ops";
  const RenderedTable rendered = BuildRenderedTable(TableResults(table, records));
  EXPECT_EQ(rendered.summary->columns[0].title, "random, 1 row");
  EXPECT_EQ(rendered.summary->lines[0].cells[0].ours, "8.00");
}

}  // namespace
}  // namespace stowplan::tables
