// The columns of a table's file: agents, what stands for them in short, and the sets that every table may show.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/tables/table.h"
#include "sim/formats/document.h"

namespace stowplan::bench {

// Throws InputError.
std::vector<TableColumn> ReadColumns(const formats::Value& list);

}  // namespace stowplan::bench
