#include "sim/formats/formats.h"
#include "tables/record.h"
#include "tables/results.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

const TableLine& LineOf(const char* table, const std::string& key) {
  const std::vector<TableLine>& lines = FindTable(table).blocks.front().lines;
  return *std::ranges::find_if(lines, [&](const TableLine& line) { return line.key == key; });
}

TEST(Published, NumbersAreThoseOfTheFiles) {
  const TableLine& line = LineOf("hierarchical", "nmt_2");
  EXPECT_EQ(line.published.at("hierarchical").value, 0.84);
  EXPECT_TRUE(line.published.at("single_gpu").out_of_memory);
  EXPECT_FALSE(LineOf("hierarchical", "resnet_152").published.contains("cpu_only"))
      << "the slides leave this cell empty";
  EXPECT_EQ(LineOf("placeto", "inception_v3_2").published.at("expert").value, 1.28);
  EXPECT_EQ(LineOf("placeto", "inception_v3_4").published.at("expert").value, 1.15);
  EXPECT_EQ(LineOf("placeto", "nmt_4").published_samples.at("rnn"), 51'700);
}

// A control that counts by the placement at the end of its walk takes one walk, to its end: of several at once the last
// sample would be a step of one of them.
TEST(Published, WalksThatCountByTheirEndAreOneWalk) {
  const TableDefinition& table = FindTable("placeto-generalization");
  const std::string path = STOWPLAN_SOURCE_DIR "/results/placeto-generalization/rows.csv";
  int walks = 0;
  for (const CellRecord& record : ParseRows(formats::ReadFile(path), path)) {
    const TableBlock& block = *std::ranges::find(table.blocks, record.block, &TableBlock::key);
    const TableColumn& column = *std::ranges::find(block.columns, record.column, &TableColumn::key);
    if (!column.last || column.pass_every == 0) continue;
    EXPECT_EQ(record.proposals, 1) << record.row << "/" << record.column << ", seed " << record.seed;
    EXPECT_EQ(record.samples, record.budget) << record.row << "/" << record.column;
    ++walks;
  }
  EXPECT_GT(walks, 0);
}

// Every row of a paper's table has numbers of it, in columns that it shows.
TEST(Published, RowsHavePublishedCells) {
  for (const TableRow& row : Tables()) {
    const TableDefinition& table = row.definition();
    EXPECT_EQ(table.name, row.name);
    if (std::ranges::none_of(table.blocks.front().lines,
                             [](const TableLine& line) { return !line.published.empty(); }))
      continue;
    const TableResults results(table, {});
    for (const TableBlock& block : table.blocks) {
      for (const TableLine& line : block.lines) {
        EXPECT_GT(
            std::ranges::count_if(block.columns,
                                  [&](const TableColumn& column) {
                                    return results.At(block.key, line.key, column.key).published.has_value();
                                  }),
            1)
            << table.name << " " << line.key;
      }
    }
  }
}

// docs/protocol_rules.md#fitted: what is fitted are cells whose placement a rule fixes, CPU only, one GPU and
// SGDP's human, and never one that the paper says is OOM.
TEST(Published, OnlyCellsOfRulesAreFitted) {
  for (const TableRow& row : Tables()) {
    for (const TableBlock& block : row.definition().blocks) {
      for (const TableLine& line : block.lines) {
        for (const std::string& key : line.fitted) {
          EXPECT_TRUE(key == "cpu_only" || key == "single_gpu" ||
                      (row.name == std::string("sgdp") && key == "human"))
              << key;
          EXPECT_TRUE(line.published.at(key).value.has_value()) << line.key << " " << key;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stowplan::tables
