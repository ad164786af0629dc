// Which tier the prices of a problem's ops come from (docs/calibration.md): measured, interpolated, of the
// structural model alone.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/simulator.h"

namespace berth::bench {

// How much of the time of all ops, were they on a device of this kind, rests on which tier.
struct TierShare {
  std::string device;  // kind
  double total_us = 0;
  std::array<double, 3> by_tier{};  // [us], A, B, C
};

// By kind of the cluster's devices, in the order in which they appear.
std::vector<TierShare> SharesByTier(const sim::Problem& problem);

}  // namespace berth::bench
