// The plug-in as a whole: its tables are complete, and it opens with all its symbols.
#include <dlfcn.h>

#include "profiler/backend.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/probe_table.h"
#include "profiler/host_machine.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

TEST(CpuPlugin, MeasuresEveryProbeThatIsNotForOthersAlone) {
  for (const Probe& probe : Probes()) {
    const bool mine = probe.device == nullptr || std::string_view(probe.device) == "cpu";
    EXPECT_EQ(FindMeasurement(probe.name) != nullptr, mine) << probe.name;
  }
  EXPECT_EQ(FindMeasurement("nothing"), nullptr);
}

// No case is measured by a stand-in: what has no kernel is said to have none.
TEST(CpuPlugin, EveryCaseOfItsFormatHasKernels) {
  int cases = 0;
  for (const Probe& probe : Probes()) {
    if (probe.cases == nullptr) continue;
    bool any = false;
    for (const OpCase& one : probe.cases()) {
      if (one.format != "f32") {
        EXPECT_THROW(GraphOnCpu(one), Unavailable);
        continue;
      }
      any = true;
      const sim::OpGraph graph = GraphOnCpu(one);
      if (++cases % 7 != 0) continue;  // making kernels for all of them takes a while
      for (sim::OpIndex op = 0; op < graph.size(); ++op)
        EXPECT_FALSE(MakeCpuKernel(graph, op).stand_in)
            << one.op << " " << one.phase << ": " << graph.ops[static_cast<std::size_t>(op)].type;
    }
    EXPECT_TRUE(any) << probe.name;
  }
}

sim::Attributes Measured(const char* probe, std::vector<int> cores) {
  const MeasureOptions options{.timing = {1, 1, 3, 0}, .quick = true, .cores = std::move(cores)};
  return std::get<sim::Attributes>(FindMeasurement(probe)(*FindProbe(probe), options).value);
}

std::int64_t CountOf(const sim::Attributes& row, const char* number) {
  const auto& summary = std::get<sim::Attributes>(sim::FindAttribute(row, number)->value);
  return std::get<std::int64_t>(sim::FindAttribute(summary, "count")->value);
}

TEST(CpuPlugin, MeasuresWhatTwoDevicesDoToOneAnother) {
  const std::vector<int> cores = AvailableCores();
  EXPECT_GT(CountOf(Measured("dispatch", {cores.front()}), "gap"), 0);
  EXPECT_THROW(Measured("copy_cores", cores), Unavailable);  // none is left for the second
  EXPECT_THROW(Measured("overlap", cores), Unavailable);
  if (cores.size() < 2) GTEST_SKIP() << "this process may use one core";
  const sim::Attributes copies = Measured("copy_cores", {cores.front()});
  const auto& sizes = std::get<sim::Attribute::List>(sim::FindAttribute(copies, "rows")->value);
  EXPECT_EQ(sizes.size(), 10u);
  for (const sim::Attribute& row : sizes) EXPECT_GT(CountOf(std::get<sim::Attributes>(row.value), "host"), 0);
  const sim::Attributes overlap = Measured("overlap", {cores.front()});
  const auto& ends = std::get<sim::Attribute::List>(sim::FindAttribute(overlap, "rows")->value);
  EXPECT_EQ(ends.size(), 4u);
  for (const sim::Attribute& row : ends)
    for (const char* const number : {"first", "second", "both"})
      EXPECT_GT(CountOf(std::get<sim::Attributes>(row.value), number), 0);
}

TEST(CpuPlugin, OpensWithAllItsSymbols) {
  void* const plugin = dlopen(STOWPLAN_BINARY_DIR "/profiler/cpu/libstowplan_cpu.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const auto make = reinterpret_cast<MakeBackend>(dlsym(plugin, kMakeBackendSymbol));
  ASSERT_NE(make, nullptr);
  const std::unique_ptr<Backend> backend = make();
  EXPECT_EQ(backend->Software().at(0).first, "onednn");
  const sim::OpGraph graph = GraphOnCpu({.op = "relu", .format = "f32", .shape = {{"elements", 8}}});
  EXPECT_NE(backend->MakeKernelOnCpu(graph, 1).kernel, nullptr);
}

}  // namespace
}  // namespace stowplan::profiler
