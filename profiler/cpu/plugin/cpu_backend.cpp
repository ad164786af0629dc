// What the CPU plug-in gives to stowplan-profile (profiler/backend.h).
#include <memory>
#include <utility>

#include "profiler/backend.h"
#include "profiler/cpu/cpu_executor.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/pace.h"
#include "profiler/cpu/probe_table.h"
#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"

namespace stowplan::profiler {
namespace {

class CpuBackend : public Backend {
 public:
  sim::Attributes Machine() const override { return {}; }  // the host says it all

  sim::Attributes Software() const override { return {{"onednn", {DnnlVersion()}}}; }

  sim::Attribute Clocks() const override { return {}; }
  Pace FindPace(const CoresByDevice& cores) const override {
    constexpr int kMilliseconds = 500;
    return profiler::FindPace(cores, kMilliseconds);
  }

  sim::Attribute Run(const Probe& probe, const MeasureOptions& options) override {
    const MeasureProbe measure = FindMeasurement(probe.name);
    if (measure == nullptr) throw Unavailable("it is a probe of accelerators");
    return measure(probe, options);
  }
  sim::Attribute RunOps(const sim::OpGraph& graph, const MeasureOptions& options) override {
    return MeasureGraphOpsOnCpu(graph, options);
  }

  std::unique_ptr<Executor> MakeGraphExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                              const CoresByDevice& cores, Backend*,
                                              const GraphRunOptions& options) override {
    if (!options.stand_in_types.empty() || !options.sm_shares.empty())
      throw InputError("--stand-in and --sm-share are for accelerators; this cluster has CPUs alone.");
    return MakeCpuExecutor(graph, cluster, cores);
  }

  MadeKernel MakeKernelOnCpu(const sim::OpGraph& graph, sim::OpIndex op) override {
    return MakeCpuKernel(graph, op);
  }
};

}  // namespace
}  // namespace stowplan::profiler

STOWPLAN_EXPORT_INTERFACE(STOWPLAN_INTERFACE);

extern "C" __attribute__((visibility("default"))) std::unique_ptr<stowplan::profiler::Backend>
stowplan_profiler_backend();

std::unique_ptr<stowplan::profiler::Backend> stowplan_profiler_backend() {
  return std::make_unique<stowplan::profiler::CpuBackend>();
}
