// The ops of a graph, each alone: what a plug-in measures of them, so that steps of the graph can be predicted from ops that
// were measured.
#pragma once

#include <functional>

#include "profiler/backend.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// The op behind sources for what it reads: variables as they are in `graph`, with their persistent bytes, placeholders
// for the rest. The op is the last. Without costs, colocation and control.
sim::OpGraph LoneOp(const sim::OpGraph& graph, sim::OpIndex op);

// {"rows": […]}: one for each kernel that ops of `graph` need (KernelKey()), in the order of their first ops; none for
// sources and views. Each has `op` (the type), `count` (how many ops it stands for), `workload` (the graph's name),
// `graph` (LoneOp() as a stowplan.graph), and what `measure` adds. Where that throws Unavailable or NoMemory the reason
// stands as `unavailable`. Throws InputError where the rows that there are already are another graph's.
using MeasureLoneOp = std::function<void(const sim::OpGraph& lone, sim::Attributes* row)>;
sim::Attribute MeasureOpsOf(const sim::OpGraph& graph, const MeasureOptions& options,
                            const MeasureLoneOp& measure);

}  // namespace stowplan::profiler
