// A testbed and the table that it serves are one: what the fit simulates is what the table runs.
#include "tables/run/calibration.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "output/console.h"
#include "sim/formats/formats.h"
#include "tables/results.h"
#include "tables/run/runner.h"
#include "tests/cli/program.h"
#include "tests/temp_folder.h"

namespace stowplan::tables {
namespace {

using tests::TempFolder;

std::string Committed(const std::string& table, const char* file) {
  return fmt::format("{}/results/{}/{}", STOWPLAN_SOURCE_DIR, table, file);
}

// One row of sgdp whose experts cut the graph into parts of equal cost, which other prices move.
TableDefinition CutByCosts() {
  TableDefinition table = FindTable("sgdp");
  table.blocks.resize(1);
  TableBlock& block = table.blocks.front();
  std::erase_if(block.lines, [](const TableLine& line) { return line.key != "amoebanet"; });
  std::erase_if(block.columns, [](const TableColumn& column) { return column.key != "human"; });
  std::erase_if(table.parameters, [](const TableParameter& p) { return p.name() != "p100.convolution"; });
  return table;
}

TEST(Calibration, SimulatesTheCellsAsTheTableRunsThem) {
  const TableDefinition table = CutByCosts();
  const Calibration calibration = CalibrateTable(table, {.threads = 1});
  const TempFolder folder;
  cost_models::WriteParameters(folder / "testbed.json", calibration.parameters);
  const auto records = RunCells(table, Testbed(folder / "testbed.json"), PlanCells(table, {}), {});
  ASSERT_EQ(records.size(), 1u);
  ASSERT_EQ(calibration.fit.cells.size(), 1u);
  EXPECT_EQ(records[0].kind, "fitted");
  EXPECT_NEAR(*records[0].runtime_us / 1e6, calibration.fit.cells[0].simulated_seconds, 1e-9);
}

// "name | published | simulated | distance" of a committed fit.md: simulated seconds by name of the cell.
std::map<std::string, std::string> FittedCells(const std::string& fit) {
  std::map<std::string, std::string> cells;
  const std::string header = "|---|---|---|---|\n";
  std::size_t at = fit.find(header, fit.find("| fitted cell |"));
  for (at += header.size(); fit.compare(at, 2, "| ") == 0; at = fit.find('\n', at) + 1) {
    const std::size_t name = fit.find(" | ", at);
    const std::size_t published = fit.find(" | ", name + 3);
    cells[fit.substr(at + 2, name - at - 2)] =
        fit.substr(published + 3, fit.find(" | ", published + 3) - published - 3);
  }
  return cells;
}

TEST(Freshness, CommittedFittedCellsAreThoseOfTheFit) {
  for (const TableRow& row : Tables()) {
    SCOPED_TRACE(row.name);
    const std::string rows = Committed(row.name, "rows.csv");
    if (!std::filesystem::exists(rows) || !std::filesystem::exists(Committed(row.name, "fit.md"))) continue;
    const auto fitted = FittedCells(formats::ReadFile(Committed(row.name, "fit.md")));
    const TableDefinition& table = FindTable(row.name);
    const TableResults results(table, ParseRows(formats::ReadFile(rows), rows));
    std::size_t found = 0;
    for (const TableBlock& block : table.blocks) {
      for (const TableLine& line : block.lines) {
        for (const TableColumn& column : block.columns) {
          const auto cell = fitted.find(fmt::format("{}, {}", line.title, column.title));
          const CellSummary& ours = results.At(block.key, line.key, column.key);
          if (!line.IsFitted(column) || cell == fitted.end() || !ours.median) continue;
          ++found;
          EXPECT_EQ(output::SecondsDigits(*ours.median), cell->second)
              << cell->first << ": the rows were run with another testbed; stowplan table run " << row.name;
        }
      }
    }
    EXPECT_GE(found, fitted.size());
  }
}

TEST(Freshness, BorrowedRatesAreThoseOfTheTableThatFittedThem) {
  const auto read = [](const std::string& table) {
    return cost_models::ReadParameters(Committed(table, "testbed.json"), cost_models::BuiltinCatalogue());
  };
  for (const TableRow& row : Tables()) {
    for (const BorrowedRates& rates : FindTable(row.name).borrowed) {
      SCOPED_TRACE(std::string(row.name) + " from " + rates.table);
      const cost_models::Parameters here = read(row.name);
      const cost_models::Parameters there = read(rates.table);
      ASSERT_NE(here.Find(rates.as_kind), nullptr);
      ASSERT_NE(there.Find(rates.kind), nullptr);
      const auto& ours = here.Find(rates.as_kind)->efficiency;
      const auto& theirs = there.Find(rates.kind)->efficiency;
      EXPECT_EQ(ours.size(), theirs.size());
      for (const auto& [op_class, number] : theirs) {
        ASSERT_TRUE(ours.contains(op_class));
        EXPECT_EQ(ours.at(op_class).value, number.value) << cost_models::ToString(op_class);
      }
      EXPECT_NE(here.provenance.library.find("fitted for table " + rates.table), std::string::npos)
          << here.provenance.library;
    }
  }
}

}  // namespace
}  // namespace stowplan::tables
