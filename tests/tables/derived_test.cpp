// Tables made of other tables' rows.
#include "tables/report/derived.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tables/report/robustness.h"
#include "tables/run/runner.h"
#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using testing::TinyRecords;
using testing::TinyTable;

std::string CellOf(const RenderedTable& table, std::size_t line, const std::string& column) {
  const RenderedBlock& block = table.blocks.front();
  const auto at = std::find_if(block.columns.begin(), block.columns.end(),
                               [&](const RenderedColumn& c) { return c.title == column; });
  return block.lines[line].cells[static_cast<std::size_t>(at - block.columns.begin())].ours;
}

TEST(Bounds, CellsAreRuntimesOverTheBound) {
  const TableDefinition table = TinyTable();
  const RenderedTable bounds = RenderBounds({TableResults(table, TinyRecords())}, "");
  EXPECT_EQ(CellOf(bounds, 0, "GPU only"), "3.20");  // 1.6 s over 0.5 s
  EXPECT_EQ(CellOf(bounds, 0, "random"), "2.40");
  // What nobody ran has no column.
  EXPECT_EQ(bounds.blocks.front().columns.size(), 3u);
  EXPECT_EQ(bounds.discussion.front().rows.front()[0], "CPU only");
}

int RowsOf(const RenderedTable& bounds, const std::string& agent) {
  for (const auto& row : bounds.discussion.front().rows) {
    if (row[0] == agent) return std::stoi(row[5]);
  }
  return 0;
}

// Two tables that have the same row say it once; another cluster is another row.
TEST(Bounds, SharedRowsCountOnceInTheMeans) {
  const TableDefinition table = TinyTable();
  TableDefinition other = TinyTable();
  other.name = "other";
  for (TableLine& line : other.blocks[0].lines) line.cluster = "k40(gpus=4)";
  const std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "random", "searched", 1, 1.0)};
  const TableResults results(table, records);
  EXPECT_EQ(RowsOf(RenderBounds({results}, ""), "random"), 1);
  EXPECT_EQ(RowsOf(RenderBounds({results, results}, ""), "random"), 1);
  EXPECT_EQ(RowsOf(RenderBounds({results, TableResults(other, records)}, ""), "random"), 2);
}

// Rules that only compete with rules say nothing of an agent.
TEST(Bounds, BlocksOfRulesAloneAreShownAndNotCounted) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks[0]);
  table.blocks[1].key = "rules";
  std::erase_if(table.blocks[1].columns, [](const TableColumn& column) { return column.sampled; });
  for (TableLine& line : table.blocks[1].lines) line.cluster = "k40(gpus=4)";
  std::vector<CellRecord> records = {testing::MakeRecord("rnnlm", "cpu_only", "fitted", 1, 6.0),
                                     testing::MakeRecord("rnnlm", "cpu_only", "predicted", 1, 7.0)};
  records[1].block = "rules";
  const RenderedTable bounds = RenderBounds({TableResults(table, records)}, "");
  EXPECT_EQ(bounds.blocks.size(), 2u);
  EXPECT_EQ(RowsOf(bounds, "CPU only"), 1);
}

TEST(Budget, CellsAreReadWhereTheSmallestBudgetEnds) {
  const TableDefinition table = TinyTable();
  std::vector<CellRecord> records;
  for (int seed = 1; seed <= 3; ++seed) {
    records.push_back(
        testing::MakeRecord("rnnlm", "random", "searched", seed, 1.0));  // 2 s first, 1 s at sample 7
    records.push_back(testing::MakeRecord("rnnlm", "learner", "searched", seed, 1.2));
    records.back().curve = "1:1500000 60:1200000";
    records.back().budget = *(records.back().samples = 100);  // the last improvement is beyond the others' 50
  }
  const RenderedTable budget = RenderBudget({TableResults(table, records)}, "");
  EXPECT_EQ(CellOf(budget, 0, "random"), "1.00");
  EXPECT_EQ(CellOf(budget, 0, "learner"), "1.50");
  EXPECT_EQ(budget.discussion.front().rows.front()[0], "random");
}

// Over rows that spent different numbers of samples each row counts at its own.
TEST(Budget, RowsOfUnequalBudgetsEndAtTheirOwn) {
  const TableDefinition table = TinyTable();
  std::vector<CellRecord> records;
  const auto add = [&](const char* row, const char* column, std::int64_t samples, const char* curve) {
    records.push_back(testing::MakeRecord(row, column, "searched", 1, 1.0));
    records.back().curve = curve;
    records.back().budget = *(records.back().samples = samples);
  };
  add("rnnlm", "random", 1'000, "1:4000000 800:1000000");
  add("rnnlm", "learner", 1'000, "1:2000000");
  add("nmt_2", "random", 20'000, "1:4000000 15000:1000000");
  add("nmt_2", "learner", 20'000, "1:2000000");
  const RenderedTable budget = RenderBudget({TableResults(table, records)}, "");
  EXPECT_THAT(budget.blocks.front().note, ::testing::StartsWith("After 1,000 to 20,000 samples each."));
  const output::ReportSection& ranking = budget.discussion.front();
  EXPECT_THAT(ranking.header,
              ::testing::ElementsAre("agent", "100 samples", "1,000 samples", "10,000 samples",
                                     "all samples of the row", "interval at the last", "best in"));
  EXPECT_THAT(ranking.rows,
              ::testing::ElementsAre(
                  ::testing::ElementsAre("random", "4.00", "2.00", "2.00", "1.00", ::testing::_, "2 of 2"),
                  ::testing::ElementsAre("learner", "2.00", "2.00", "2.00", "2.00", ::testing::_, "0 of 2")));
}

TEST(Budget, PilotIsHeldAgainstLocalSearchAtEqualSamples) {
  TableDefinition table = TinyTable();
  TableBlock& block = table.blocks.front();
  const TableColumn searched = block.columns[2];
  std::vector<CellRecord> records;
  for (const auto& [key, curve] : {std::pair{"local_search", "1:2000000 500:1000000"},
                                   {"local_search_trivial", "1:1000000"},
                                   {"pilot", "1:1500000 200:900000"}}) {
    block.columns.push_back(searched);
    block.columns.back().key = block.columns.back().title = key;
    records.push_back(testing::MakeRecord("rnnlm", key, "searched", 1, 1.0));
    records.back().curve = curve;
    records.back().budget = *(records.back().samples = 2'000);
  }
  const RenderedTable budget = RenderBudget({TableResults(table, records)}, "");
  const output::ReportSection& section = budget.discussion.front();
  ASSERT_EQ(section.title, "pilot against local search");
  const std::vector<std::vector<std::string>> rows = {
      {"1 against 1,000", "1", "1.500", "[1.500, 1.500]", "1.500", "1.500", "1.500"},
      {"300", "1", "0.450", "[0.450, 0.450]", "0.450", "0.450", "0.900"},
      {"1,000", "1", "0.900", "[0.900, 0.900]", "0.900", "0.900", "0.900"},
      {"2,000", "1", "0.900", "[0.900, 0.900]", "0.900", "0.900", "0.900"}};
  EXPECT_EQ(section.rows, rows);
}

// Of a kind: "random", "learner"; empty if none is shown.
std::string BestOf(const RenderedTable& table, const std::string& kind) {
  const RenderedBlock& block = *table.summary;
  const auto at = std::ranges::find(block.columns, kind, &RenderedColumn::title);
  return block.lines.front().cells[static_cast<std::size_t>(at - block.columns.begin())].by;
}

// What is kept from learning is a control, however fast.
TEST(Derived, TheBestLearnerIsOneThatLearns) {
  TableDefinition table = TinyTable();
  std::vector<CellRecord> records;
  for (const char* row : {"rnnlm", "nmt_2"}) {
    records.push_back(testing::MakeRecord(row, "random", "searched", 1, 1.0));
    records.push_back(testing::MakeRecord(row, "learner", "searched", 1, 0.9));
  }
  for (const auto& [agent, best] : {std::pair{"factored", "learner"}, {"factored(lr=0)", ""}}) {
    table.blocks[0].columns[3].agent = agent;
    const std::vector<TableResults> tables = {TableResults(table, records)};
    EXPECT_EQ(BestOf(RenderBudget(tables, ""), "best learner"), best);
    EXPECT_EQ(BestOf(RenderBounds(tables, ""), "learners"), best);
  }
}

// Its rows are those of the first block with other samples: shown, and in no count.
TEST(Derived, ABlockOfThePapersSamplesIsInNoHeadline) {
  TableDefinition table = TinyTable();
  table.blocks.push_back(table.blocks.front());
  table.blocks[1].key = "paper";
  table.blocks[1].paper_budget = true;
  std::vector<CellRecord> records;
  for (const char* block : {"native", "paper"}) {
    for (const char* column : {"random", "learner"}) {
      records.push_back(testing::MakeRecord("rnnlm", column, "searched", 1, 1.0));
      records.back().block = block;
    }
  }
  const std::vector<TableResults> tables = {TableResults(table, records)};
  for (const RenderedTable& page : {RenderBudget(tables, ""), RenderBounds(tables, "")}) {
    EXPECT_EQ(page.blocks.size(), 2u) << page.name;
    EXPECT_EQ(page.summary->lines.size(), 1u) << page.name;
  }
}

class Robustness : public ::testing::Test {
 protected:
  const TableDefinition table_ = TinyTable();
  const std::vector<TableResults> tables_ = {
      TableResults(table_, RunCells(table_, Testbed(""), PlanCells(table_, {}), {}))};
};

TEST_F(Robustness, EveryFinalPlacementIsEvaluatedUnderOtherRules) {
  const std::string rows = EvaluateRobustness(tables_, {});
  const std::vector<RobustRecord> records = ParseRobustRows(rows);
  EXPECT_EQ(PrintRobustRows(records), rows);
  EXPECT_EQ(records.size(), tables_.front().records().size());
  for (const RobustRecord& record : records) {
    ASSERT_EQ(record.costs_us.size(), static_cast<std::size_t>(kCostDraws));
    for (const auto& runtime : record.costs_us) {
      ASSERT_TRUE(runtime.has_value());
      // Dispatch and transfers are not drawn, so a step changes by less than its costs.
      EXPECT_GT(*runtime, (1 - kCostSpread) * record.runtime_us);
      EXPECT_LT(*runtime, (1 + kCostSpread) * record.runtime_us);
    }
    for (std::size_t v = 0; v < RobustVariants().size(); ++v) {
      const std::string key = RobustVariants()[v].key;
      // The rules of the table's cluster itself.
      EXPECT_EQ(record.variant_us[v] == "same",
                key == "fair" || key == "program" || key == "device" || key == "native")
          << key << " " << record.variant_us[v];
    }
  }
  // With any threads the same.
  DerivedOptions three;
  three.threads = 3;
  EXPECT_EQ(EvaluateRobustness(tables_, three), rows);
}

TEST_F(Robustness, BlocksOfRulesAloneHaveNoRows) {
  TableDefinition rules = table_;
  std::erase_if(rules.blocks[0].columns, [](const TableColumn& column) { return column.sampled; });
  const std::vector<TableResults> tables = {
      TableResults(rules, RunCells(rules, Testbed(""), PlanCells(rules, {}), {}))};
  ASSERT_FALSE(tables.front().records().empty());
  EXPECT_TRUE(ParseRobustRows(EvaluateRobustness(tables, {})).empty());
}

TEST_F(Robustness, TheWinnerOfTwoIsTheOthersMeasure) {
  std::vector<RobustRecord> records;
  for (const char* column : {"single_gpu", "random"}) {
    RobustRecord& record = records.emplace_back();
    record = {"tiny", "native", "rnnlm", column, column, 1, "0", 1e6, {}, {}};
    record.variant_us.assign(RobustVariants().size(), "same");
    record.costs_us.assign(kCostDraws, 1e6);
  }
  records[0].variant_us.front() = "3000000";
  records[1].variant_us.front() = "2000000";
  const RenderedTable table = RenderRobustness(tables_, PrintRobustRows(records));
  EXPECT_EQ(CellOf(table, 0, "GPU only"), "1.50");
  EXPECT_EQ(CellOf(table, 0, "random"), "1.00");
  records[1].variant_us.front() = "oom";
  EXPECT_EQ(CellOf(RenderRobustness(tables_, PrintRobustRows(records)), 0, "random"), "OOM");
}

TEST_F(Robustness, ABlockOfThePapersSamplesIsInNoHeadline) {
  const auto outcome = [](bool paper) {
    TableDefinition table = TinyTable();
    table.blocks.push_back(table.blocks.front());
    table.blocks[1].key = "other";
    table.blocks[1].paper_budget = paper;
    const std::vector<TableResults> tables = {TableResults(table, RunCells(table, Testbed(""),
                                                                           [&] {
                                                                             PlanOptions all;
                                                                             all.cells = {"*:*/*"};
                                                                             all.samples = 5;
                                                                             return PlanCells(table, all);
                                                                           }(),
                                                                           {}))};
    return RenderRobustness(tables, EvaluateRobustness(tables, {})).outcome.front();
  };
  EXPECT_THAT(outcome(false), ::testing::EndsWith(" of 16 cases."));
  EXPECT_THAT(outcome(true), ::testing::EndsWith(" of 8 cases."));
}

// docs/protocol.md#rewarding-rules: 2 s by the rules that rewarded it are 6 s by ours, where the learner
// finds 3 s itself.
TEST_F(Robustness, PlacementsOfAnotherSimulatorAreJudgedByOurs) {
  TableDefinition table = TinyTable();
  TableBlock rules = table.blocks.front();
  rules.key = "rules";
  rules.rules = "published";
  table.blocks.push_back(rules);
  const std::vector<TableResults> tables = {TableResults(table, {})};
  std::vector<RobustRecord> records;
  for (const char* block : {"native", "rules"}) {
    RobustRecord& record = records.emplace_back();
    record = {"tiny", block, "rnnlm", "learner", "learner", 1, "0", block == rules.key ? 2e6 : 3e6, {}, {}};
    record.variant_us.assign(RobustVariants().size(), "same");
    record.costs_us.assign(kCostDraws, 1e6);
  }
  records[1].variant_us.back() = "6000000";
  const auto cost = [&] {
    const RenderedTable rendered = RenderRobustness(tables, PrintRobustRows(records));
    const output::ReportSection& section = rendered.discussion.back();
    EXPECT_EQ(section.title, "What a wrong simulator costs");
    return section.rows.at(0);
  };
  EXPECT_EQ(cost(), (std::vector<std::string>{"rnnlm, 2 GPUs, learner", "2.00", "6.00", "3.00", "2.00"}));
  records[1].variant_us.back() = "oom";
  EXPECT_EQ(cost(), (std::vector<std::string>{"rnnlm, 2 GPUs, learner", "2.00", "OOM", "3.00", "OOM"}));
}

TEST_F(Robustness, RowsOfAnotherTestbedAreRefused) {
  std::vector<CellRecord> records;
  for (const CellRecord* record : tables_.front().records()) records.push_back(*record);
  *records.front().runtime_us *= 1.01;
  EXPECT_THROW(EvaluateRobustness({TableResults(table_, records)}, {}), InputError);
}

TEST_F(Robustness, RefusesRowsThatAreNone) {
  const std::string rows = EvaluateRobustness(tables_, {});
  EXPECT_THROW(ParseRobustRows("table,block\n"), InputError);
  EXPECT_THROW(ParseRobustRows(rows.substr(0, rows.size() / 2)), InputError);
  std::string broken = rows;
  broken.replace(broken.rfind(' ') + 1, 1, "x");
  EXPECT_THROW(ParseRobustRows(broken), InputError);
}

}  // namespace
}  // namespace stowplan::tables
