// What is asked of blocks, rows and cells in several places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tables/report/bootstrap.h"
#include "tables/results.h"
#include "tables/table.h"

namespace stowplan::tables {

// By their keys, which are there.
const TableBlock& BlockOf(const TableDefinition& table, const std::string& key);
const TableColumn& ColumnOf(const TableBlock& block, const std::string& key);

// Whether two columns are one measurement of one agent but for a parameter of it: equal samples, units and devices.
bool DifferOnlyIn(const std::string& parameter, const TableColumn& a, const TableColumn& b);

// False of a block of rules alone: no field in which placements compete, so table robustness has none of its
// rows and the means of table bounds do not either.
bool HasSearch(const TableBlock& block);

// Equal for cells that two tables share (those of mars stand in mars-pretraining too): means over tables
// count them once.
std::string SharedRow(const TableBlock& block, const TableLine& line);
std::string SharedKey(const TableBlock& block, const TableLine& line, const TableColumn& column);

// The cells of a row that were run; `except`: a column that does not count.
std::vector<const CellSummary*> CellsThatRan(const TableResults& results, const std::string& block,
                                             const std::string& line, const std::string& except = {});

// The cells of two columns in all rows of a block, and what hinders a mean of their ratios.
struct PairedColumns {
  CellPairs pairs;
  bool not_run = false;                 // some cell
  std::vector<std::string> do_not_fit;  // titles of rows in which either does not fit
};
PairedColumns PairColumns(const TableResults& results, const TableBlock& block, const std::string& ours,
                          const std::string& base);

// Columns of docs/protocol.md#random-search and #local-search.
std::vector<std::string> RandomColumns();
std::vector<std::string> LocalSearchColumns();

// The smallest median [s] of some columns of a row at so many samples; of those that the block lacks, or that found nothing,
// nothing.
std::optional<double> BestMedian(const TableResults& results, const std::string& block,
                                 const std::string& line, const std::vector<std::string>& columns,
                                 std::int64_t samples);

// "12.3 % below": how far `to` is from `from`.
std::string ReductionText(double from, double to);

// The fastest placement that any seed of any column of the row found.
struct BestFound {
  double seconds = 0;
  std::string by;  // "local search, seed 2"
};
std::optional<BestFound> FindBest(const TableResults& results, const std::string& block,
                                  const std::string& line, const std::string& except = {});

}  // namespace stowplan::tables
