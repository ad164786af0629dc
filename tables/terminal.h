// A table for a screen of 80 columns, without Python: what ran, beside it the published numbers, seeds and samples.
#pragma once

#include <string>

#include "tables/results.h"

namespace stowplan::tables {

// Rows of the table that nothing ran of are left out.
std::string RenderTerminal(const TableResults& results);

}  // namespace stowplan::tables
