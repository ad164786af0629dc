// The plug-in as a whole on a machine that need not have a GPU: its tables are complete, it opens, and without a
// device it says so.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "profiler/backend.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/cuda/probe_table.h"

namespace berth::profiler::cuda {
namespace {

TEST(CudaPlugin, MeasuresEveryProbeOfTheCatalogue) {
  for (const Probe& probe : Probes()) {
    const bool mine = probe.device == nullptr || std::string_view(probe.device) == "cuda";
    EXPECT_EQ(FindMeasurement(probe.name) != nullptr, mine) << probe.name;
    if (probe.cases == nullptr) continue;
    for (const OpCase& one : probe.cases()) EXPECT_NE(FindPreparation(one.op), nullptr) << one.op;
  }
  EXPECT_EQ(FindMeasurement("nothing"), nullptr);
}

// A graph must not run for real on one device and by a stand-in on the other.
TEST(CudaPlugin, RunsTheOpTypesThatTheCpuRuns) {
  EXPECT_EQ(GpuKernelTypes(), KernelTypes());
}

TEST(CudaPlugin, OpensWithAllItsSymbolsAndReportsAMissingDevice) {
  void* const plugin = dlopen(BERTH_BINARY_DIR "/profiler/cuda/libberth_cuda.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  EXPECT_NE(dlsym(plugin, "InitializeInjection"), nullptr);
  const auto make = reinterpret_cast<MakeBackend>(dlsym(plugin, kMakeBackendSymbol));
  ASSERT_NE(make, nullptr);
  try {
    EXPECT_FALSE(make()->Machine().empty());  // there is a device here
  } catch (const Unavailable& reason) {
    EXPECT_EQ(std::string(reason.what()).find("CUDA finds no device ("), 0u) << reason.what();
  }
}

}  // namespace
}  // namespace berth::profiler::cuda
