// An observed op as a graph of one op in stowplan's own types, so that it is priced, signed and classed by the same
// code as the ops of workloads.
#pragma once

#include <memory>
#include <optional>

#include "cost_models/calibration/observations.h"
#include "sim/op_graph.h"

namespace stowplan::cost_models {

struct ProbeGraph {
  std::shared_ptr<const sim::OpGraph> graph;  // its producers first, the op last
  sim::OpIndex op = 0;
  bool recurrent_too = false;  // the same kernels serve recurrent cells
};

// As profiler::GraphOf() makes it. Empty where no single op of a workload does the same: what graphs hold as several
// (lstm_cell, attention), the gradient of an embedding added into its table, and unknown words. Throws InputError for
// a shape that lacks a dimension.
std::optional<ProbeGraph> GraphOf(const ObservedOp& op);

}  // namespace stowplan::cost_models
