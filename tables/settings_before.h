// Which rows were run with settings that their agents no longer have, or with other units of placement: a row names its agent
// and its grouper with all parameters in force.
#pragma once

#include <set>

#include "tables/results.h"

namespace stowplan::tables {

// All cells of which some row is; of what this build lacks none, since today's settings are not known.
std::set<const CellSummary*> CellsBefore(const TableResults& results);

}  // namespace stowplan::tables
