#include "tables/results.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tables/report/rendered_table.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using testing::MakeRecord;
using testing::TinyRecords;
using testing::TinyTable;

TEST(Results, PutsSeedsTogether) {
  const TableDefinition table = TinyTable();
  const TableResults results(table, TinyRecords());
  const CellSummary& cell = results.At("native", "rnnlm", "random");
  EXPECT_EQ(cell.seeds, 3);
  EXPECT_EQ(cell.median, 1.2);
  EXPECT_EQ(cell.low, 1.0);
  EXPECT_EQ(cell.high, 1.4);
  EXPECT_EQ(cell.bound, 0.5);
}

TEST(Results, MedianIsOverSeedsThatFitAndSaysHowMany) {
  const TableDefinition table = TinyTable();
  const TableResults results(table, TinyRecords());
  const CellSummary& cell = results.At("native", "nmt_2", "random");
  EXPECT_EQ(cell.state, CellSummary::State::kFits);
  EXPECT_EQ(cell.seeds, 2);
  EXPECT_EQ(cell.feasible, 1);
  EXPECT_EQ(cell.median, 1.9);
}

TEST(Results, ComparesNumbersWithNumbersAndVerdictsWithVerdicts) {
  const TableDefinition table = TinyTable();
  const TableResults results(table, TinyRecords());
  EXPECT_DOUBLE_EQ(*results.At("native", "rnnlm", "cpu_only").ratio(), 6.2 / 6.89);
  const CellSummary& gpu = results.At("native", "nmt_2", "single_gpu");
  EXPECT_FALSE(gpu.ratio().has_value()) << "ours is a number, theirs OOM";
  EXPECT_EQ(gpu.same_verdict(), false);
  EXPECT_EQ(results.At("native", "rnnlm", "single_gpu").same_verdict(), true);
  EXPECT_FALSE(results.At("native", "rnnlm", "random").same_verdict().has_value())
      << "the paper has no such column";
  EXPECT_EQ(results.At("native", "rnnlm", "learner").state, CellSummary::State::kAbsent);
  EXPECT_FALSE(results.At("native", "rnnlm", "learner").same_verdict().has_value());
}

TEST(Results, OfSeveralBudgetsTheLargestCounts) {
  const TableDefinition table = TinyTable();
  CellRecord quick = MakeRecord("rnnlm", "random", "searched", 1, 9.0);
  quick.budget = 10;
  std::vector<CellRecord> records = TinyRecords();
  records.push_back(quick);
  EXPECT_EQ(TableResults(table, records).At("native", "rnnlm", "random").median, 1.2);
}

TEST(Results, RefusesACellTheTableDoesNotHave) {
  const auto refusal = [](const TableDefinition& table) {
    try {
      TableResults(table, {MakeRecord("rnnlm", "no_such_column", "searched", 1, 1.0)});
      return std::string("read");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  TableDefinition table = TinyTable();
  EXPECT_EQ(refusal(table),
            "rows.csv: has a row of native:rnnlm/no_such_column, which is no cell of table tiny; `stowplan "
            "table run tiny "
            "--export` writes the rows anew.");
  table.path = "mine.yaml";
  EXPECT_THAT(refusal(table), ::testing::HasSubstr("`stowplan table run mine.yaml` writes the rows anew"));
}

TEST(Discussion, CountsOnlyPredictedCellsAsAccuracy) {
  const TableDefinition table = TinyTable();
  const auto sections = BuildDiscussion(TableResults(table, TinyRecords()));
  // Predicted with a published number: rnnlm single GPU alone, 1.6 against 1.57: 1.9 %.
  EXPECT_NE(sections[1].sentences[0].find("over 1 cell: 2 %"), std::string::npos) << sections[1].sentences[0];
  ASSERT_EQ(sections[1].rows.size(), 1u);
  EXPECT_EQ(sections[1].rows[0][0], "rnnlm, 2 GPUs, GPU only");
  // Fitted: 6.2 / 6.89 and 7.1 / 6.46: distances of 10.0 and 9.9 %.
  EXPECT_NE(sections[0].sentences[0].find("over 2 cells: 10 %"), std::string::npos)
      << sections[0].sentences[0];
}

TableDefinition TableWithExpert() {
  TableDefinition table = TinyTable();
  table.blocks[0].columns.push_back(
      {"expert", "expert", "expert", CellKind::kPredicted, true, false, false, "", "colocation"});
  return table;
}

// An expert that does what a fitted column does, with the same published number, confirms nothing.
TEST(Discussion, APredictionThatRepeatsAFittedCellIsNoAccuracy) {
  const TableDefinition table = TableWithExpert();
  std::vector<CellRecord> records = {
      MakeRecord("rnnlm", "single_gpu", "fitted", 1, 1.6),
      MakeRecord("rnnlm", "expert", "predicted", 1, 1.6),   // published 1.57 as the single GPU
      MakeRecord("nmt_2", "expert", "predicted", 1, 1.42),  // published 2.13: 33 % below
  };
  const auto sections = BuildDiscussion(TableResults(table, records));
  EXPECT_EQ(sections[1].title, "Predicted cells");
  ASSERT_EQ(sections[1].rows.size(), 1u);
  EXPECT_EQ(sections[1].rows[0],
            (std::vector<std::string>{"nmt_2, 2 GPUs, expert", "1.42", "2.13", "0.67", "-33 %"}));
  EXPECT_NE(sections[1].sentences[0].find("Left out: 1 cell"), std::string::npos) << sections[1].sentences[0];
  EXPECT_EQ(
      BuildOutcome(TableResults(table, records)).front(),
      "1 fitted cell is within 2 % of the published numbers, 1 predicted within 34 %, without 1 whose number "
      "was fitted.")
      << "no cell is farther: 1.91 and 33.3 %";
}

TEST(Discussion, ARepetitionInTheSameRowIsOfNoOther) {
  const TableDefinition table = TableWithExpert();
  EXPECT_EQ(BuildOutcome(TableResults(table, {MakeRecord("rnnlm", "single_gpu", "fitted", 1, 3.0),
                                              MakeRecord("rnnlm", "expert", "predicted", 1, 3.0),
                                              MakeRecord("nmt_2", "expert", "predicted", 1, 2.13)}))
                .front(),
            "1 fitted cell is within 92 % of the published numbers, 1 predicted within 1 %, without 1 whose "
            "number was fitted.");
}

// In rows of one model the paper's number may be one, and ours not.
TEST(Discussion, ANumberThatWasFittedInAnotherRowSaysHowFarOursIsThere) {
  TableDefinition table = TinyTable();
  for (TableLine& line : table.blocks[0].lines) {
    line.model = "one";
    line.published["cpu_only"] = {false, 6.0};
  }
  table.blocks[0].lines[1].fitted.clear();
  EXPECT_EQ(BuildOutcome(TableResults(table, {MakeRecord("rnnlm", "cpu_only", "fitted", 1, 6.0),
                                              MakeRecord("nmt_2", "cpu_only", "predicted", 1, 9.0),
                                              MakeRecord("rnnlm", "single_gpu", "predicted", 1, 1.57)}))
                .front(),
            "1 fitted cell is within 1 % of the published numbers, 1 predicted within 1 %, without 1 whose "
            "number was fitted in another row (within 50 %).");
}

// The parameters have seen the number, so it is no prediction in a second block either, whatever its rows are
// called.
TEST(Discussion, ANumberThatWasFittedIsNoPredictionInAnotherBlock) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks[0]);
  table.blocks[1].key = "second";
  for (TableLine& line : table.blocks[1].lines) line.fitted.clear();
  std::vector<CellRecord> records = {MakeRecord("rnnlm", "single_gpu", "fitted", 1, 1.6),
                                     MakeRecord("rnnlm", "single_gpu", "predicted", 1, 1.61)};
  records[1].block = "second";
  for (const output::ReportSection& section : BuildDiscussion(TableResults(table, records))) {
    EXPECT_EQ(section.title.find("Predicted cells"), std::string::npos) << section.title;
  }
}

TEST(Discussion, RulesWithoutMemoryLimitsHasNoVerdicts) {
  TableDefinition table = TinyTable();
  table.blocks[0].memory_limits = false;
  const TableResults results(table, TinyRecords());
  EXPECT_FALSE(results.At("native", "nmt_2", "single_gpu").same_verdict().has_value());
}

TEST(Discussion, ListsEveryVerdictThatDiffers) {
  const TableDefinition table = TinyTable();
  const auto sections = BuildDiscussion(TableResults(table, TinyRecords()));
  // Rules: GPU of two rows, of which that of nmt_2 fits with us and not with them; a CPU has room for everything.
  EXPECT_NE(sections[2].sentences[0].find("1 of 2 verdicts as published"), std::string::npos)
      << sections[2].sentences[0];
  EXPECT_EQ(sections[2].sentences[1],
            "Of the published OOMs ours reproduce 0 of 1 of placements fixed by a rule (sizes were chosen so "
            "that these "
            "come out).");
  ASSERT_EQ(sections[2].rows.size(), 1u);
  EXPECT_EQ(sections[2].rows[0], (std::vector<std::string>{"nmt_2, 2 GPUs, GPU only", "2.00 s", "OOM",
                                                           "14.40 GB of 11.68 GB on gpu0"}));
}

// What other blocks ask of the same published cells is counted apart.
TEST(Discussion, VerdictsAreCountedBlockByBlock) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks[0]);
  table.blocks[1].key = "second";
  table.blocks[1].title = "Second";
  std::vector<CellRecord> records = TinyRecords();
  records.push_back(MakeRecord("nmt_2", "single_gpu", "predicted", 1, std::nullopt));
  records.back().block = "second";
  const auto sections = BuildDiscussion(TableResults(table, records));
  const auto section = std::find_if(sections.begin(), sections.end(), [](const output::ReportSection& s) {
    return s.title.starts_with("Does it fit?");
  });
  ASSERT_NE(section, sections.end());
  ASSERT_EQ(section->sentences.size(), 4u);
  EXPECT_EQ(section->sentences[0], "Native: placements fixed by a rule 1 of 2 verdicts as published.");
  EXPECT_EQ(section->sentences[1], "Second: placements fixed by a rule 1 of 1 verdicts as published.");
  EXPECT_TRUE(section->sentences[3].starts_with("Blocks after the first")) << section->sentences[3];
}

TEST(Rendered, TheCommandMakesItsRowsAgain) {
  const TableDefinition table = TinyTable();
  const auto command = [&](std::int64_t budget, int seeds) {
    std::vector<CellRecord> records;
    for (int seed = 1; seed <= seeds; ++seed) {
      records.push_back(MakeRecord("rnnlm", "random", "searched", seed, 1.0));
      records.back().budget = budget;
    }
    return BuildRenderedTable(TableResults(table, records)).provenance.front().second;
  };
  EXPECT_EQ(command(50, 3), "stowplan table run tiny --export");
  EXPECT_EQ(command(10, 1), "stowplan table run tiny --export --budget quick");
  EXPECT_EQ(command(10, 3), "stowplan table run tiny --export --samples 10");
  EXPECT_EQ(command(70, 2), "stowplan table run tiny --export --samples 70 --seeds 2");
}

TEST(Rendered, ABlockOfThePapersSamplesIsNoBudgetOfTheTable) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks.front());
  table.blocks[1].key = "paper";
  table.blocks[1].paper_budget = true;
  table.blocks[1].lines[0].paper_samples = 900;
  std::vector<CellRecord> records = {MakeRecord("rnnlm", "random", "searched", 1, 1.0)};
  records[0].block = "paper";
  records[0].budget = 900;
  const auto page = [&] { return RenderMarkdown(BuildRenderedTable(TableResults(table, records))); };
  EXPECT_THAT(page(), ::testing::HasSubstr("budget: in a block what the paper spent, up to 900; seed 1"));
  records.push_back(MakeRecord("rnnlm", "random", "searched", 1, 1.0));
  EXPECT_THAT(page(), ::testing::HasSubstr(
                          "budget: 50 samples a search, in a block what the paper spent, up to 900; seed 1"));
}

TEST(Rendered, WhoHasFewerSeedsIsNamed) {
  std::vector<CellRecord> records = {MakeRecord("rnnlm", "learner", "searched", 1, 1.0)};
  for (const char* row : {"rnnlm", "nmt_2"}) {
    for (const int seed : {1, 2}) records.push_back(MakeRecord(row, "random", "searched", seed, 1.0));
  }
  const TableDefinition table = TinyTable();
  EXPECT_THAT(RenderMarkdown(BuildRenderedTable(TableResults(table, records))),
              ::testing::HasSubstr("seeds 1 to 2; 1 of 3 cells has but 1 (learner)"));
}

TEST(Discussion, GapIsToTheProvenBound) {
  const TableDefinition table = TinyTable();
  const auto sections = BuildDiscussion(TableResults(table, TinyRecords()));
  // rnnlm: random's median 1.2 s is the least; 1.2 / 0.5.
  EXPECT_EQ(sections[3].rows[0],
            (std::vector<std::string>{"rnnlm, 2 GPUs", "1.20", "random", "0.500", "2.40"}));
}

}  // namespace
}  // namespace stowplan::tables
