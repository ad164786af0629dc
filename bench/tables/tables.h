// The definitions behind the table in registry.cpp, one file each.
#pragma once

#include "bench/tables/table.h"

namespace berth::bench {

const TableDefinition& HierarchicalTable();
const TableDefinition& PlacetoTable();
const TableDefinition& PlacetoGeneralizationTable();
const TableDefinition& SgdpTable();
const TableDefinition& MarsTable();
const TableDefinition& MarsPretrainingTable();

std::vector<TableLine> MarsLines();  // the rows of both tables of Mars

}  // namespace berth::bench
