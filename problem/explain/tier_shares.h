// Which tier the prices of a problem's ops come from (docs/calibration.md): measured, interpolated, of the
// structural model alone.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/cost_model.h"
#include "sim/simulator.h"

namespace stowplan::problem {

// How much of the time of all ops, were they on a device of this kind, rests on which tier.
struct TierShare {
  std::string device;  // kind
  double total_us = 0;
  std::array<double, 3> by_tier{};  // [us], A, B, C
};

// By kind of the cluster's devices, in the order in which they appear.
std::vector<TierShare> SharesByTier(const sim::Problem& problem);

// What the prices rest on where the model can say (cost_models::PriceOrigin), with its share of the time of all ops on
// the devices they run on; the largest first.
struct OriginShare {
  std::string origin;
  double share = 0;
};
std::vector<OriginShare> SharesByOrigin(const sim::Problem& problem, const sim::Placement& placement,
                                        const sim::CostModel& model);

}  // namespace stowplan::problem
