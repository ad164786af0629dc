#include "bench/tables/published.h"

#include <gtest/gtest.h>

#include "bench/tables/table.h"

namespace berth::bench {
namespace {

TEST(Published, NumbersAreThoseOfTheFiles) {
  const PublishedTable table("hierarchical.csv");
  EXPECT_EQ(table.Find("nmt_2", 2, "hierarchical")->value, 0.84);
  EXPECT_TRUE(table.Find("nmt_2", 2, "gpu_only")->out_of_memory);
  EXPECT_FALSE(table.Find("resnet_152", 2, "cpu_only").has_value()) << "the slides leave this cell empty";
}

TEST(Published, RowsAreToldApartByTheirGpus) {
  const PublishedTable table("placeto.csv");
  EXPECT_EQ(table.Find("inception_v3", 2, "expert")->value, 1.28);
  EXPECT_EQ(table.Find("inception_v3", 4, "expert")->value, 1.15);
  EXPECT_FALSE(table.Find("inception_v3", 8, "expert").has_value());
}

// Every row and column of every table is one that its paper's file has; an unknown column aborts.
TEST(Published, TablesNameCellsThatExist) {
  for (const TableRow& row : Tables()) {
    const TableDefinition& table = row.definition();
    EXPECT_EQ(table.name, row.name);
    if (table.papers_csv.empty()) continue;
    const PublishedTable published(table.papers_csv);
    for (const TableBlock& block : table.blocks) {
      for (const TableLine& line : block.lines) {
        int found = 0;
        for (const TableColumn& column : block.columns) {
          if (!column.published.empty() && published.Find(line.paper_workload, line.gpus, column.published))
            ++found;
        }
        EXPECT_GT(found, 1) << table.name << " " << line.key;
      }
    }
  }
}

// docs/protocol.md#fitted: what is fitted are cells whose placement a rule fixes, CPU only, one GPU and
// SGDP's human, and never one that the paper says is OOM.
TEST(Published, OnlyCellsOfRulesAreFitted) {
  for (const TableRow& row : Tables()) {
    const PublishedTable published(row.definition().papers_csv);
    for (const TableBlock& block : row.definition().blocks) {
      for (const TableLine& line : block.lines) {
        for (const std::string& key : line.fitted) {
          EXPECT_TRUE(key == "cpu_only" || key == "single_gpu" ||
                      (row.name == std::string("sgdp") && key == "human"))
              << key;
          const auto column = std::find_if(block.columns.begin(), block.columns.end(),
                                           [&](const auto& c) { return c.key == key; });
          ASSERT_NE(column, block.columns.end());
          EXPECT_TRUE(published.Find(line.paper_workload, line.gpus, column->published)->value.has_value())
              << line.key << " " << key;
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth::bench
