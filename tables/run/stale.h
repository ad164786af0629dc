// What an export must not lose: finished rows that no cell of today replaces, because settings or scenario changed.
#pragma once

#include <string>
#include <vector>

#include "tables/record.h"
#include "tables/table.h"
#include "tables/testbed.h"

namespace stowplan::tables {

enum class StaleRows : std::uint8_t { kRefuse, kKeep, kDrop };

// Rows `now` that are exported, and of the rows `before`, where they are kept, those of cells that have no finished row
// now. Throws InputError where a row would be lost that is not to be dropped: of such a cell if `stale` is kRefuse; of a
// cell of which only some seeds are finished, whose rest cannot stand beside them. `path`: the file for the message.
std::vector<CellRecord> WithStale(const TableDefinition& table, std::vector<CellRecord> now,
                                  const std::vector<CellRecord>& before, StaleRows stale,
                                  const std::string& path);

// Throws InputError where a row of the file is of a cell that the table has no more, or of another table of that name. There
// may be no file.
void RefuseOtherCells(const TableDefinition& table, const std::string& path);

// "native:nmt/random, seed 2": a row that was run and is of another graph, machine, agent or budget than its cell has now;
// empty if there is none. `rows`: of several calls, perhaps, each with its budget. Simulates nothing.
std::string AnyOfOtherScenarios(const TableDefinition& table, const Testbed& testbed,
                                const std::vector<CellRecord>& rows, int threads);

}  // namespace stowplan::tables
