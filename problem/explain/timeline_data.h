// A run in as many points as a drawing can show: how busy a lane is in slices of time, and memory over time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/analysis/lanes.h"
#include "sim/outcome.h"

namespace stowplan::problem {

// A lane in equally long slices of the run.
struct BinnedLane {
  std::vector<double> busy;           // 0 to 1: the part of each with anything under way
  std::vector<std::int32_t> longest;  // LaneSlice::index of what takes most of it; -1 = nothing
};
BinnedLane BinLane(const sim::Lane& lane, sim::Picos runtime, std::size_t bins);

struct MemorySample {
  sim::Picos time = 0;
  sim::Bytes live = 0;  // until the next sample
};

// Live bytes of each device: the largest and the last number of each instant, or of each slice of time where there would
// be more than `most_samples` of them. The largest sample of a device is its peak.
std::vector<std::vector<MemorySample>> MemoryCurves(const sim::Outcome& outcome, std::size_t most_samples);

}  // namespace stowplan::problem
