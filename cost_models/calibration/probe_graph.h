// An observed op as a graph of one op in berth's own types, so that it is priced, signed and classed by the same
// code as the ops of workloads.
#pragma once

#include <memory>

#include "cost_models/calibration/observations.h"
#include "sim/op_graph.h"

namespace berth::cost_models {

struct ProbeGraph {
  std::shared_ptr<const sim::OpGraph> graph;  // its producers first, the op last
  sim::OpIndex op = 0;
  bool recurrent_too = false;  // the same kernels serve recurrent cells
};

// Images NHWC and filters HWIO, as in our workloads. Empty for what graphs hold as several ops (lstm_cell,
// attention) and for unknown words. Throws InputError naming `source` for a shape that lacks a dimension.
std::optional<ProbeGraph> GraphOf(const ObservedOp& op);

}  // namespace berth::cost_models
