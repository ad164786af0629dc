// Orders of methods on made-up rows whose tau is counted by hand.
#include "tables/report/method_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/tiny_table.h"

namespace stowplan::tables {
namespace {

using ::testing::HasSubstr;
using testing::MakeRecord;
using testing::TinyTable;

// The paper orders three methods a < b < c in both rows: 1, 2 and 3 s, then 1, 2 s and OOM.
TableDefinition ThreeMethods() {
  TableDefinition table = TinyTable();
  TableBlock& block = table.blocks.front();
  const TableColumn rule = block.columns.front();
  block.columns.clear();
  for (const char* key : {"a", "b", "c"}) {
    block.columns.push_back(rule);
    block.columns.back().key = block.columns.back().title = key;
  }
  const auto seconds = [](double value) { return PublishedCell{false, value}; };
  for (TableLine& line : block.lines) {
    line.published = {{"a", seconds(1)}, {"b", seconds(2)}, {"c", seconds(3)}};
    line.fitted.clear();
  }
  block.lines[1].published["c"] = {true, std::nullopt};
  return table;
}

using Ours = std::vector<std::optional<double>>;

std::vector<MethodOrder> OrdersOf(const TableDefinition& table, const Ours& first, const Ours& second) {
  std::vector<CellRecord> records;
  for (const auto& [row, ours] : {std::pair{"rnnlm", first}, {"nmt_2", second}}) {
    const char* const columns[] = {"a", "b", "c"};
    for (std::size_t i = 0; i < ours.size(); ++i)
      records.push_back(MakeRecord(row, columns[i], "predicted", 1, ours[i]));
  }
  return OrdersOfMethods(TableResults(table, records));
}

TEST(MethodOrder, TheSameOrderIsOneAndTheOppositeMinusOne) {
  const TableDefinition table = ThreeMethods();
  const auto same = OrdersOf(table, {10, 20, 30}, {5, 6, std::nullopt});
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].tau, 1);
  EXPECT_EQ(same[0].rows, 2);
  EXPECT_EQ(same[0].pairs, 6);
  EXPECT_EQ(OrderText(same[0]), "1.00 over 2 rows, goal 0.6; all pairs stand as in the paper");
  EXPECT_EQ(OrdersOf(table, {30, 20, 10}, {std::nullopt, 6, 5})[0].tau, -1);
}

// Two of three pairs stand as published in the first row, 1/3; in the second all but those with a: (1 - 2) / 3.
TEST(MethodOrder, RowsAreAveragedAndThePairsCounted) {
  const MethodOrder order = OrdersOf(ThreeMethods(), {20, 10, 30}, {9, 7, 8})[0];
  EXPECT_NEAR(order.tau, (1.0 / 3 - 1.0 / 3) / 2, 1e-12);
  EXPECT_EQ(order.otherwise, 3);
  EXPECT_EQ(order.column, "a");
  EXPECT_EQ(order.with_column, 3);
  EXPECT_FALSE(order.without.has_value()) << "two methods are left";
  EXPECT_THAT(OrderText(order),
              HasSubstr("0.00 over 2 rows, goal 0.6: missed; 3 of the 3 pairs that stand otherwise (of "
                        "6) are with a"));
}

TEST(MethodOrder, OfFourMethodsOneMayBeLeftOut) {
  TableDefinition table = ThreeMethods();
  TableBlock& block = table.blocks.front();
  block.columns.push_back(block.columns.front());
  block.columns.back().key = block.columns.back().title = "d";
  block.lines[0].published["d"] = {false, 4};
  std::vector<CellRecord> records;
  // d is last in the paper and first here: 3 of 6 pairs, tau 0; without it 1.
  for (const auto& [column, seconds] : {std::pair{"a", 2.0}, {"b", 3.0}, {"c", 4.0}, {"d", 1.0}})
    records.push_back(MakeRecord("rnnlm", column, "predicted", 1, seconds));
  const MethodOrder order = OrdersOfMethods(TableResults(table, records))[0];
  EXPECT_NEAR(order.tau, 0, 1e-12);
  EXPECT_EQ(order.column, "d");
  EXPECT_EQ(order.without, 1);
  EXPECT_THAT(OrderText(order), HasSubstr("are with d, without it 1.00"));
}

TEST(MethodOrder, FewerThanThreeMethodsAndRowsThatThePaperDoesNotOrderSayNothing) {
  TableDefinition table = ThreeMethods();
  EXPECT_TRUE(OrdersOf(table, {10, 20}, {}).empty());
  for (auto& [key, cell] : table.blocks.front().lines[0].published) cell.value = 1;
  EXPECT_EQ(OrdersOf(table, {10, 20, 30}, {5, 6, 7})[0].rows, 1);
}

}  // namespace
}  // namespace stowplan::tables
