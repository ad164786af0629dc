// The task as partitioning libraries want it: an undirected graph with 32-bit integer weights
// (docs/protocol_rules.md#partitioners).
#pragma once

#include <cstdint>
#include <vector>

#include "agents/task.h"

namespace stowplan::agents {

// Compressed rows; every edge is in the rows of both its ends. Cost in 0.1 us, bytes in KiB, each at least 1.
// A kind of weight whose sum would not fit into 32 bits is divided by one number.
struct PartitionGraph {
  std::vector<std::int32_t> offsets;  // units + 1
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> edge_bytes;   // by entry of targets, both directions added
  std::vector<std::int32_t> unit_cost;    // by unit, on `priced`
  std::vector<std::int32_t> unit_memory;  // by unit: persistent bytes and outputs
};

PartitionGraph MakePartitionGraph(const Task& task, sim::DeviceIndex priced);

}  // namespace stowplan::agents
