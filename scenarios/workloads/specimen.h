// What the unglamorous workloads share: ops of a given cost, without a model behind them.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/settings.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

enum class SpecimenCost : std::uint8_t {
  kMicros,  // cost_us: as if measured
  kFlops,   // a product of as many FLOPs as take that time at 1 TFLOP/s, for cost models to price
};
SpecimenCost ReadSpecimenCost(const Settings& read);

// One output of `bytes`.
sim::Op SpecimenOp(const std::string& name, SpecimenCost cost, double us, sim::Bytes bytes);

}  // namespace stowplan::scenarios
