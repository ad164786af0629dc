// The plug-in as a whole on a machine that need not have a GPU: its tables are complete, it opens, and without a
// device it says so.
#include <dlfcn.h>

#include "profiler/backend.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/cuda/probe_table.h"
#include "profiler/op_graphs.h"
#include "tests/testing.h"

namespace stowplan::profiler::cuda {
namespace {

// 32-bit cases by ops of a graph that all have kernels, 16-bit ones by a way of their own.
void ExpectPrepared(const OpCase& one) {
  if (profiler::BytesOf(one.format) == 2) {
    EXPECT_NE(FindPreparation(one.op), nullptr) << one.op;
    return;
  }
  const auto graph = GraphOf(one);
  ASSERT_TRUE(graph) << one.op;
  const std::vector<std::string_view> types = GpuKernelTypes();
  for (const sim::Op& op : graph->ops)
    EXPECT_TRUE(op.IsSource() || std::binary_search(types.begin(), types.end(), op.type)) << op.type;
}

TEST(CudaPlugin, MeasuresEveryProbeOfTheCatalogue) {
  for (const Probe& probe : Probes()) {
    const bool mine = probe.device == nullptr || std::string_view(probe.device) == "cuda";
    EXPECT_EQ(FindMeasurement(probe.name) != nullptr, mine) << probe.name;
    if (probe.cases == nullptr) continue;
    for (const OpCase& one : probe.cases()) ExpectPrepared(one);
  }
  EXPECT_EQ(FindMeasurement("nothing"), nullptr);
}

// A graph must not run for real on one device and by a stand-in on the other.
TEST(CudaPlugin, RunsTheOpTypesThatTheCpuRuns) {
  EXPECT_EQ(GpuKernelTypes(), KernelTypes());
}

TEST(CudaPlugin, RunsTheSmallestCasesOfEveryProbe) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "there is no GPU";
  const Stream stream;
  const Libraries libraries(stream);
  for (const Probe& probe : Probes()) {
    if (probe.cases == nullptr) continue;
    for (const OpCase& one : CasesToMeasure(probe.cases(), true)) {
      const auto op = Prepare(one, libraries);
      op->run();
      EXPECT_NO_THROW(stream.Wait()) << one.op << " " << one.phase << " " << one.format;
    }
  }
}

TEST(CudaPlugin, OpensWithAllItsSymbolsAndReportsAMissingDevice) {
  void* const plugin =
      dlopen(STOWPLAN_BINARY_DIR "/profiler/cuda/libstowplan_cuda.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const auto make = reinterpret_cast<MakeBackend>(dlsym(plugin, kMakeBackendSymbol));
  ASSERT_NE(make, nullptr);
  try {
    EXPECT_FALSE(make()->Machine().empty());  // there is a device here
  } catch (const Unavailable& reason) {
    EXPECT_EQ(std::string(reason.what()).find("CUDA finds no device ("), 0u) << reason.what();
  }
}

TEST(CudaInjection, OpensForTheDriverAndForNvtx) {
  void* const library =
      dlopen(STOWPLAN_BINARY_DIR "/profiler/cuda/libstowplan_injection.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* function : {"InitializeInjection", "InitializeInjectionNvtx", "InitializeInjectionNvtx2"})
    EXPECT_NE(dlsym(library, function), nullptr) << function;
}

}  // namespace
}  // namespace stowplan::profiler::cuda
