// The forward pass as a chain of pieces, in program order, that stages are made of: a stage is some pieces in a row.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

// Where a piece may begin.
enum class ChainCuts : std::uint8_t {
  kOps,      // at any op
  kModules,  // where a module does (docs/exporting.md#modules), as a framework that splits before a module can
  kLayers,   // where a numbered layer does, and behind the last
  kBlocks,  // the same, but what is before the first layer is one with it, and what is behind the last with that
};

// By op its piece, from 0 in the order of the chain. Backward ops are in the piece of their forward op, or one that their module
// has an op in; weights with their first reader, updates with their weight; what else there is follows its data. Ops of a
// colocation set are in one piece, so that pieces it spans are joined, as those of a layer are.
std::vector<std::int32_t> ChainPieces(const sim::OpGraph& graph, ChainCuts cuts);

// The task's units in the order of the chain; those that begin at one op are one piece.
std::vector<std::vector<UnitIndex>> ChainOfUnits(const Task& task);

}  // namespace stowplan::agents
