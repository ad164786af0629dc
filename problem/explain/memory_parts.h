// What fills a device's memory at its peak, in the words of training: weights, their gradients, the optimizer's state,
// activations, copies.
#pragma once

#include <vector>

#include "sim/analysis/explain.h"

namespace stowplan::problem {

struct MemoryParts {
  sim::Bytes weights = 0;      // of variables: as many bytes as they give out
  sim::Bytes gradients = 0;    // outputs of the backward pass that an update reads
  sim::Bytes optimizer = 0;    // what else variables keep
  sim::Bytes activations = 0;  // all other outputs, with the workspace of what runs
  sim::Bytes copies = 0;       // received from other devices

  sim::Bytes persistent() const { return weights + optimizer; }   // what stays from step to step
  sim::Bytes outputs() const { return gradients + activations; }  // with the workspace of what runs
};

// By device.
std::vector<MemoryParts> MemoryAtPeak(const sim::OpGraph& graph, const sim::Explanation& why);

}  // namespace stowplan::problem
