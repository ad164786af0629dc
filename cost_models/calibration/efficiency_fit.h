// The share of its peak that each op class reaches, from ops measured alone.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "cost_models/ops/roofline.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

struct ProbedWork {
  std::shared_ptr<const sim::OpGraph> graph;  // that `work` points into
  OpWork work;
  double measured_us = 0;
};

// For each op the efficiency at which the roofline takes the measured time; of a class the median of its ops,
// weighted with how much their time depends on it, so that small ops, which a launch dominates, say little and
// one bad measurement nothing. Element-wise first: its memory side holds for contractions too. A class whose ops
// hardly depend on it is left out. fit_error is that of all its ops.
std::map<OpClass, FittedNumber> FitEfficiency(const std::vector<ProbedWork>& ops, const DeviceSheet& sheet,
                                              ClassEfficiency start, const std::vector<Tile>& tiles,
                                              const RooflineOptions& options);

}  // namespace stowplan::cost_models
