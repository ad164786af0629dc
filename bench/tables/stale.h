// What an export must not lose: finished rows that no cell of today replaces, because settings or scenario changed.
#pragma once

#include <string>
#include <vector>

#include "bench/tables/record.h"
#include "bench/tables/table.h"

namespace berth::bench {

enum class StaleRows : std::uint8_t { kRefuse, kKeep, kDrop };
// Throws InputError that lists them.
StaleRows ParseStaleRows(const std::string& text);

// Rows `now` that are exported, and of the rows `before`, where they are kept, those of cells that have no finished row
// now. Throws InputError where a row would be lost that is not to be dropped: of such a cell if `stale` is kRefuse; of a
// cell of which only some seeds are finished, whose rest cannot stand beside them. `path`: the file for the message.
std::vector<CellRecord> WithStale(const TableDefinition& table, std::vector<CellRecord> now,
                                  const std::vector<CellRecord>& before, StaleRows stale,
                                  const std::string& path);

}  // namespace berth::bench
