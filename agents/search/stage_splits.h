// The best splits of a chain of pieces into the stages of a pipeline, by an estimate: an exact search, no simulation.
//
// A split is estimated as the time in which its slowest stage or link lets micro-batches through and the others fill and drain:
//   (m - 1) max(stage, link) + sum(stages) + sum(links) + update of the first stage,
// as for one micro-batch after another in PipeDream (Narayanan et al., SOSP 2019, whose dynamic programme minimises the maximum
// alone) and in DAPPLE (Fan et al., PPoPP 2021). A dynamic programme over what is left of the chain and of the devices gives the
// least sum of all splits whose maximum is within a limit, memory included. The limit falls from what could still be best to
// below the maximum of the split found, as long as there is one: so every split that no other beats in both is seen (the
// epsilon-constraint method; Haimes et al. 1971). At each limit a best-first search takes others of small sums.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::agents {

struct PieceCost {
  std::vector<sim::Picos> forward, backward, update;  // by kind of device; the first two of one micro-batch
  sim::Bytes held = 0;                                // weights, their state and their gradients
  sim::Bytes saved = 0;      // of one micro-batch, from its forward to its backward pass
  sim::Bytes transient = 0;  // of its largest op
};

struct DeviceKind {
  sim::Bytes capacity = 0;
  std::vector<std::int32_t> devices;  // in the order in which stages take them
};

struct ChainCosts {
  std::vector<PieceCost> pieces;
  std::vector<DeviceKind> kinds;
  std::int64_t micro_batches = 1;
  bool gpipe = false;  // all micro-batches forward, then all backward; else 1F1B
  int fewest = 1;      // stages
  // Of one micro-batch, forth and back, across the beginning of a piece (not 0) from one device to another. `quickest`: both
  // together, and no pair is faster.
  std::function<sim::Picos(std::size_t piece, std::int32_t from, std::int32_t to)> forth, back;
  std::function<sim::Picos(std::size_t piece)> quickest;
};

struct StageSplit {
  std::vector<std::int32_t> begins;   // by stage its first piece; the first is 0
  std::vector<std::int32_t> devices;  // by stage
  std::vector<std::int32_t> kinds;    // of those devices
  sim::Picos most = 0;                // of a stage or link
  sim::Picos estimate = 0;
};

// By estimate: no split has a smaller one than the first. The others are near it, so many as there are or at least `count`. Empty
// where none fits into `room` of each capacity. Throws InputError where there are too many orders of devices.
std::vector<StageSplit> BestSplits(const ChainCosts& costs, std::size_t count, double room);

// By stage, what the search takes its memory to be.
std::vector<sim::Bytes> PeaksOf(const ChainCosts& costs, const StageSplit& split);

// What the schedule takes on the split's stages, each busy with one thing at a time, each link with one transfer each way.
sim::Picos ScheduleTime(const ChainCosts& costs, const StageSplit& split);

}  // namespace stowplan::agents
