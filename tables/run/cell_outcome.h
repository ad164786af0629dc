// What a finished search has found, as fields of its record.
#pragma once

#include "agents/evaluator.h"
#include "agents/task.h"
#include "tables/record.h"

namespace stowplan::tables {

// Counts, clocks and, of a cell that samples, the curve.
void FillCounts(const agents::Evaluator& evaluator, bool sampled, CellRecord& record);

// Simulates the placement once more (docs/protocol_rules.md#best-found): the value that is printed, what holds its
// memory, its timeline.
void FillRuntime(const agents::Task& task, const agents::UnitPlacement& units, CellRecord& record);

}  // namespace stowplan::tables
