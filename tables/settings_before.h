// Which rows were run with settings that their agents no longer have, or with other units of placement: a row names its agent
// and its grouper with all parameters in force.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tables/results.h"

namespace stowplan::tables {

// "SGDP; HDP (12 of 14 rows); RNN (published)": columns whose cells all are, else of how many rows or in which blocks; empty
// where there is none. Of learners that this build lacks today's settings are not known, so they are in none.
std::string SettingsBefore(const TableResults& results);

// Whether any of the column's cells in these rows of a block is (empty: in all rows, in all blocks); of what this build lacks
// none.
bool AnyBefore(const TableResults& results, const std::string& block, const std::vector<std::string>& rows,
               const std::string& column);

// All cells that are.
std::set<const CellSummary*> CellsBefore(const TableResults& results);

}  // namespace stowplan::tables
