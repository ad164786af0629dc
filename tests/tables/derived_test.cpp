// Tables made of other tables' rows.
#include "tables/derive/derived.h"

#include "tables/derive/robustness.h"
#include "tables/run/runner.h"
#include "tests/tables/tiny_table.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

using testing::TinyTable;

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
