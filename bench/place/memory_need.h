// What memory a graph needs that does not fit: found by searching with more of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "agents/task.h"

namespace berth::bench {

struct MemoryNeed {
  std::vector<sim::DeviceIndex>
      devices;                // whose memory was raised: the GPUs that may be used, else all devices that may
  sim::Bytes enough = 0;      // with so much on each of them a placement fits; 0 = none was found
  sim::Bytes too_little = 0;  // proven: with so much nothing fits; 0 = nothing is proven
  bool never = false;         // proven: with any memory nothing fits
  bool stopped = false;       // before it was narrowed down
  struct Short {
    sim::DeviceIndex device;
    sim::Bytes bytes;
  };
  sim::Placement placement;     // that one; empty = none was found
  std::vector<Short> shortage;  // where it needs more than there is
};

// Raises the memory of those devices to one size, as little as lets the portfolio place the task's graph (to 5 %), with
// `samples` for each size tried. `stop`: ends early with what is known by then.
MemoryNeed FindMemoryNeed(const agents::Task& task, std::int64_t samples, int threads,
                          const std::atomic<bool>* stop);

// Sentences: how many bytes are missing where, and what would be enough.
std::string MemoryNeedText(const MemoryNeed& need, const sim::Cluster& cluster);

}  // namespace berth::bench
