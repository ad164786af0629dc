// The executor on plain CPU threads, ops through oneDNN.
#pragma once

#include <memory>

#include "profiler/executor.h"

namespace stowplan::profiler {

// Each device of the cluster (all CPUs) on its own cores. Sizes, rounding and memory limits are the cluster's.
// Throws as MakeExecutor() does.
std::unique_ptr<Executor> MakeCpuExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                          const CoresByDevice& cores);

}  // namespace stowplan::profiler
