// What one simulated run returns (stowplan.outcome), and the timeline that explains it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

// The first allocation that did not fit.
struct OutOfMemory {
  enum class What : std::uint8_t { kPersistent, kOutput, kCopy };
  DeviceIndex device = -1;
  OpIndex op = -1;  // the op that asked; for a copy, the producer of the tensor
  What what = What::kOutput;
  Picos time = 0;
  Bytes needed = 0;  // live + request
  Bytes capacity = 0;
};
const char* ToString(OutOfMemory::What what);

struct DeviceUse {
  Picos busy = 0;  // time with at least one op running
  Bytes peak = 0;  // largest number of live bytes
};

struct LinkUse {
  Picos busy = 0;   // time with at least one transfer, directions added
  Bytes bytes = 0;  // carried, directions added
};

struct OpTimes {
  Picos issue = 0;  // when the host thread had issued it
  Picos start = 0;
  Picos end = 0;
};

struct TransferTimes {
  TensorRef tensor;  // output = -1 for a control dependency
  DeviceIndex from = 0;
  DeviceIndex to = 0;
  Bytes bytes = 0;
  Picos queued = 0;
  Picos start = 0;
  Picos end = 0;
};

// Live bytes of one device over time: one point for each change, in processing order.
struct MemoryPoint {
  Picos time = 0;
  DeviceIndex device = 0;
  Bytes live = 0;   // after the change
  OpIndex op = -1;  // who allocated or freed; for copies, the producer
  OutOfMemory::What what = OutOfMemory::What::kOutput;
  Bytes change = 0;  // negative = freed
};

// The run as if memory were unlimited, plus the verdict.
struct Outcome {
  Picos runtime = 0;               // unlimited_runtime_us of the format
  std::optional<OutOfMemory> oom;  // empty = feasible
  bool stopped = false;            // given up at RunOptions::cutoff; runtime is then a lower bound
  std::vector<DeviceUse> devices;
  std::vector<LinkUse> links;            // empty under the rules `published`
  std::vector<OpTimes> ops;              // only with RunOptions::record >= kOps
  std::vector<TransferTimes> transfers;  // only with kTimeline, in the order of queueing
  std::vector<MemoryPoint> memory;       // only with kTimeline

  bool feasible() const { return !oom.has_value(); }
};

// What a run that is given up at a cutoff says, whatever the rules: that it takes longer than the cutoff, however soon
// that was known. The runtime is the cutoff and a picosecond, everything else is empty or 0. For the engine.
void SetStopped(Picos cutoff, std::size_t devices, std::size_t links, Outcome& outcome);

}  // namespace stowplan::sim
