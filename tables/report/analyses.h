// What some tables compute beside their cells; their files name it (registry.cpp).
#pragma once

#include "tables/table.h"

namespace stowplan::tables {

extern const TableAnalysis kPretraining;     // what pre-training without rewards saves, on three clocks
extern const TableAnalysis kGeneralisation;  // policies on graphs that they have not seen, over families
extern const TableAnalysis kUnits;           // what the unit of placement gives, and what the agent

}  // namespace stowplan::tables
