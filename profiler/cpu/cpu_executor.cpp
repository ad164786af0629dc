#include "profiler/cpu/cpu_executor.h"

#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/pace.h"
#include "profiler/executor/device_group.h"

namespace stowplan::profiler {

std::unique_ptr<Executor> MakeCpuExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                          const CoresByDevice& cores) {
  ExecutorParts parts;
  parts.cpu_kernel = MakeCpuKernel;
  parts.measure_pace = MeasurePace;
  return MakeExecutor(graph, cluster, cores, std::move(parts));
}

}  // namespace stowplan::profiler
