// What a table says to a screen and to those that read it.
#include "tables/cells.h"

#include "output/csv.h"
#include "tables/terminal.h"
#include "tests/tables/golden_file.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

TEST(Cells, AreAsInTheGoldenFile) {
  const TableDefinition table = testing::TinyTable();
  testing::ExpectGolden("cells.csv", PrintCells(TableResults(table, testing::TinyRecords())));
}

TEST(Cells, EveryCellOfTheTableHasALine) {
  const TableDefinition table = testing::TinyTable();
  const auto lines = output::ParseCsv(PrintCells(TableResults(table, {})), "cells.csv");
  EXPECT_EQ(lines.size(), 1 + table.blocks.front().lines.size() * table.blocks.front().columns.size());
  for (const output::CsvLine& line : lines) EXPECT_EQ(line.size(), lines.front().size());
}

TEST(Terminal, IsAsInTheGoldenFileAndLeavesOutWhatDidNotRun) {
  const TableDefinition table = testing::TinyTable();
  testing::ExpectGolden("tiny.txt", RenderTerminal(TableResults(table, testing::TinyRecords())));
  EXPECT_EQ(RenderTerminal(TableResults(table, {})).find("rnnlm"), std::string::npos);
}

}  // namespace
}  // namespace stowplan::tables
