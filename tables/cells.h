// cells.csv: every cell of a table, its seeds put together, the published number beside it. What python/stowplan/report reads
// beside rows.csv.
#pragma once

#include <string>

#include "tables/results.h"

namespace stowplan::tables {

std::string PrintCells(const TableResults& results);

}  // namespace stowplan::tables
