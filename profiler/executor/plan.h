// A graph under a placement, as the executor's devices run it: where each tensor is stored, who waits for whom,
// what is sent where. Made once for a placement, read by all devices.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::profiler {

// Bytes on one device that tensors share: an output of an op there, a copy that was received, with their views.
struct Storage {
  enum class Kind : std::uint8_t { kOutput, kCopy, kPersistent, kSource };
  Kind kind = Kind::kOutput;
  sim::DeviceIndex device = 0;
  sim::Bytes bytes = 0;      // of the tensor; 0: nothing is allocated
  sim::OpIndex op = -1;      // the producer
  std::int32_t output = 0;   // of a source: which of its outputs
  std::int32_t holders = 0;  // ends that are waited for before it is freed (docs/model.md section 5)
};

struct PlannedTransfer {
  sim::TensorRef tensor;  // output = -1 for a control dependency
  sim::DeviceIndex from = 0;
  sim::DeviceIndex to = 0;
  sim::Bytes bytes = 0;                 // 0: light
  std::int32_t source = -1;             // storage it reads and, of what is not light, holds
  std::int32_t copy = -1;               // storage it fills; -1 if light
  std::vector<sim::OpIndex> consumers;  // that wait for it, ascending
};

struct PlannedOp {
  sim::DeviceIndex device = 0;
  std::int32_t waits_for = 0;           // producers on the device, sources left out, and transfers
  std::vector<std::int32_t> inputs;     // storage, by input as written
  std::vector<std::int32_t> outputs;    // storage, by output
  std::vector<std::int32_t> allocates;  // storages it owns
  std::vector<std::int32_t> releases;   // storages of which its end releases one holder; may repeat
  std::vector<sim::OpIndex> consumers;  // on the device, ascending
  std::vector<std::int32_t> transfers;  // in the order (output, destination), -1 first
};

struct Plan {
  std::vector<PlannedOp> ops;
  std::vector<Storage> storages;
  std::vector<PlannedTransfer> transfers;
  std::vector<std::vector<sim::OpIndex>> sources;  // by device, in op order
  std::vector<std::int32_t> ops_of;                // by device: how many, sources left out
  std::vector<std::int32_t> transfers_to;          // by device
};

Plan MakePlan(const sim::OpGraph& graph, const sim::Cluster& cluster, const sim::Placement& placement);

}  // namespace stowplan::profiler
