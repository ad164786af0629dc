#pragma once

#include <cstddef>
#include <vector>

#include "sim/formats/document/document.h"
#include "tables/table.h"

namespace stowplan::tables {

// A claim of a table's file whose blocks are read; several where it is one for each row, at most `room` of them. Throws
// InputError with its line.
std::vector<Claim> ReadClaim(const formats::Value& value, const TableDefinition& table, std::size_t room);

}  // namespace stowplan::tables
