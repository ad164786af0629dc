// The definitions behind the table in registry.cpp, one file each.
#pragma once

#include "bench/tables/table.h"

namespace berth::bench {

const TableDefinition& HierarchicalTable();
const TableDefinition& PlacetoTable();
const TableDefinition& PlacetoGeneralizationTable();
const TableDefinition& SgdpTable();
const TableDefinition& MarsTable();

}  // namespace berth::bench
