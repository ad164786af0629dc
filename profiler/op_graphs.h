// The cases of op probes as graphs of the ops that executors run and cost models price: the one place that knows which
// op of a graph does the work of a probe.
#pragma once

#include <optional>

#include "profiler/probes.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// The ops that compute a case, in order, behind sources for what they read: a cell of an LSTM and attention are
// several. Images NHWC and filters HWIO, as in our workloads. Empty for an op that is none of the table. Throws
// InputError for a shape that lacks a dimension.
std::optional<sim::OpGraph> GraphOf(const OpCase& one);

}  // namespace stowplan::profiler
