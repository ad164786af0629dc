// Op counts and multiply-adds in the terms in which the tests count by hand.
#pragma once

#include <cstdint>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Without placeholders and constants.
struct Counts {
  std::int64_t forward = 0;  // without variables
  std::int64_t backward = 0;
  std::int64_t variables = 0;
  std::int64_t updates = 0;
  std::int64_t fused() const { return forward + backward + variables + updates; }
};
Counts CountOps(const sim::OpGraph& graph);

// Forward, in 1e9.
double Gmac(const sim::OpGraph& graph);

}  // namespace stowplan::scenarios
