// The columns of a table's file: agents, what stands for them in short, and the sets that every table may show.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/formats/document/document.h"
#include "tables/table.h"

namespace stowplan::tables {

// Throws InputError.
std::vector<TableColumn> ReadColumns(const formats::Value& list);

}  // namespace stowplan::tables
