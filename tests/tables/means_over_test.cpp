// The first screen of a table whose file says `over`, on made-up rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/report/rendered_table.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using ::testing::HasSubstr;
using testing::MakeRecord;
using ::testing::Not;
using ::testing::SizeIs;

TableDefinition OverRandom() {
  TableDefinition table = testing::TinyTable();
  table.over = {"random", "single_gpu"};
  for (TableLine& line : table.blocks[0].lines) line.published.clear();
  return table;
}

std::vector<CellRecord> Records(std::optional<double> gpu_on_nmt) {
  std::vector<CellRecord> records = {MakeRecord("rnnlm", "single_gpu", "predicted", 1, 4.0),
                                     MakeRecord("nmt_2", "single_gpu", "predicted", 1, gpu_on_nmt)};
  for (int seed = 1; seed <= 3; ++seed) {
    records.push_back(MakeRecord("rnnlm", "random", "searched", seed, 2.0));
    records.push_back(MakeRecord("nmt_2", "random", "searched", seed, 8.0));
    records.push_back(MakeRecord("rnnlm", "learner", "searched", seed, 1.0));
    records.push_back(MakeRecord("nmt_2", "learner", "searched", seed, seed == 2 ? 4.0 : 2.0));
  }
  return records;
}

RenderedBlock SummaryOf(const TableDefinition& table, const std::vector<CellRecord>& records) {
  return *BuildRenderedTable(TableResults(table, records)).summary;
}

TEST(MeansOver, AreGeometricSortedAndHaveIntervals) {
  const TableDefinition table = OverRandom();
  const RenderedBlock summary = SummaryOf(table, Records(8.0));
  ASSERT_THAT(summary.columns, SizeIs(2));
  EXPECT_EQ(summary.columns[0].title, "over random");
  ASSERT_THAT(summary.lines, SizeIs(3)) << "CPU only was not run";
  EXPECT_EQ(summary.lines[0].title, "learner");
  EXPECT_EQ(summary.lines[0].cells[0].ours, "0.354") << "the root of 1/2 and 1/4, medians over seeds";
  // Seeds say 0.354, 0.5, 0.354: Student's interval is wider than what lies between them.
  EXPECT_EQ(summary.lines[0].cells[0].spread, "[0.283, 0.556]");
  EXPECT_EQ(summary.lines[1].title, "random");
  EXPECT_EQ(summary.lines[1].cells[0].ours, "1.000");
  EXPECT_EQ(summary.lines[1].cells[0].spread, "") << "over itself";
  EXPECT_EQ(summary.lines[2].title, "GPU only");
  EXPECT_EQ(summary.lines[2].cells[0].ours, "1.41");
  EXPECT_EQ(summary.lines[2].cells[0].spread, "[1.41, 1.41]");
}

TEST(MeansOver, ARowThatDoesNotFitLeavesNoMean) {
  const TableDefinition table = OverRandom();
  const RenderedBlock summary = SummaryOf(table, Records(std::nullopt));
  ASSERT_THAT(summary.lines, SizeIs(2));
  EXPECT_THAT(summary.shows, HasSubstr("; OOM in 1 of 2 rows: GPU only"));
  EXPECT_EQ(summary.lines[0].cells[1].ours, "–") << "it fits itself";
  EXPECT_THAT(summary.lines[0].cells[1].tip, HasSubstr("GPU only does not fit in nmt_2"));
}

TEST(MeansOver, WhoDoesNotFitAndWasNotRunEverywhereIsNotRun) {
  const TableDefinition table = OverRandom();
  std::vector<CellRecord> records = Records(std::nullopt);
  records.erase(records.begin());
  const RenderedBlock summary = SummaryOf(table, records);
  ASSERT_THAT(summary.lines, SizeIs(3));
  EXPECT_THAT(summary.shows, Not(HasSubstr("OOM")));
  EXPECT_EQ(summary.lines[2].cells[0].tip, "not run in all rows");
}

TEST(MeansOver, AColumnThatLacksARowHasNone) {
  const TableDefinition table = OverRandom();
  std::vector<CellRecord> records = Records(4.0);
  records.erase(records.begin());
  const RenderedBlock summary = SummaryOf(table, records);
  ASSERT_THAT(summary.lines, SizeIs(3));
  EXPECT_EQ(summary.lines[0].cells[1].ours, "–");
  EXPECT_EQ(summary.lines[2].title, "GPU only");
  EXPECT_EQ(summary.lines[2].cells[0].tip, "not run in all rows");
}

TEST(MeansOver, ThePageShowsIntervals) {
  const TableDefinition table = OverRandom();
  const RenderedTable rendered = BuildRenderedTable(TableResults(table, Records(4.0)));
  EXPECT_THAT(RenderMarkdown(rendered), HasSubstr("rows, 90 % intervals"));
  EXPECT_THAT(RenderMarkdown(rendered), HasSubstr("| learner | 0.354 [0.283, 0.556] |"));
  EXPECT_THAT(RenderHtml(rendered), HasSubstr("0.354 <span class=\"soft\">[0.283, 0.556]</span>"));
}

TEST(MeansOver, OfTwoSeedsThereIsNoInterval) {
  const TableDefinition table = OverRandom();
  std::vector<CellRecord> records = Records(4.0);
  std::erase_if(records, [](const CellRecord& record) { return record.seed == 3; });
  const RenderedBlock summary = SummaryOf(table, records);
  EXPECT_EQ(summary.lines[0].cells[0].spread, "");
  EXPECT_THAT(summary.shows, Not(HasSubstr("interval")));
}

TEST(MeansOver, UnequalSamplesAreNotCompared) {
  const TableDefinition table = OverRandom();
  std::vector<CellRecord> records = Records(4.0);
  for (CellRecord& record : records) {
    if (record.column == "learner") record.budget = 70;
  }
  const RenderedBlock summary = SummaryOf(table, records);
  EXPECT_EQ(summary.lines.back().title, "learner");
  EXPECT_EQ(summary.lines.back().cells[0].ours, "–");
  EXPECT_EQ(summary.lines.back().cells[0].tip, "not the same number of samples");
}

}  // namespace
}  // namespace stowplan::tables
