// The best splits of a chain of pieces into the stages of a pipeline, by an estimate: an exact search, no simulation.
//
// A split takes as long as its worst stage: what is before it fills and drains, it does its own part of all m micro-batches, and it
// waits for the first gradient as far as its forward passes ahead of it do not cover that,
//   max over stages s of  before(s) + m time(s) + max(0, behind(s) - (ahead(s) - 1) forward(s)),  + update of the first stage,
// where before(s) has the links, too, behind(s) is the least time of the pieces behind, and GPipe waits for all of it. A link that m
// transfers keep busy for longer counts like a stage. (PipeDream, Narayanan et al., SOSP 2019, minimises the slowest stage alone;
// DAPPLE, Fan et al., PPoPP 2021, has the three phases about one pivot stage.) A dynamic programme over what is left of the chain and
// of the devices gives the least that any rest takes, memory included; with it a best-first search over prefixes (A*; Hart, Nilsson,
// Raphael 1968) yields splits in the order of the estimate.
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
  sim::Picos estimate = 0;
};

// So many at most, in the order of the estimate: the best, or where more than half a million prefixes are about as good some that
// are. Empty where none fits into `room` of each capacity. Throws InputError where there are too many orders of devices.
std::vector<StageSplit> BestSplits(const ChainCosts& costs, std::size_t count, double room);

// By stage, what the search takes its memory to be.
std::vector<sim::Bytes> PeaksOf(const ChainCosts& costs, const StageSplit& split);

// What the schedule takes on the split's stages, each busy with one thing at a time, each link with one transfer each way.
sim::Picos ScheduleTime(const ChainCosts& costs, const StageSplit& split);

}  // namespace stowplan::agents
