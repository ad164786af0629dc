// A CUDA plug-in without CUDA: what stowplan-profile does with a GPU is tested where there is none. Environment:
// MADE_UP_ROWS (of each probe: so many that hold their number alone), MADE_UP_FAILURE (the row that fails), MADE_UP_NAME (of
// the GPU), MADE_UP_HANG (the probe that never ends), MADE_UP_NO_CUPTI (the device's records are not permitted).
// Without MADE_UP_ROWS the rows are those of profiler/cuda, with the times of a roofline; graphs run on the CPU.
// MADE_UP_DISTURBANCE (a sentence) is what disturbs the measuring.
#include "profiler/backend.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/executor/device_group.h"
#include "profiler/executor/graph_ops.h"
#include "profiler/probe_rows.h"
#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"
#include "tests/profiler/cuda/made_up_gpu/eager_accelerator.h"

namespace stowplan::profiler {
namespace {

std::string Setting(const char* name, const char* otherwise) {
  const char* const found = std::getenv(name);
  return found == nullptr ? otherwise : found;
}

sim::Attribute Times(double us) {
  return Summary({us * 0.98, us, us * 1.02});
}

double OpMicros(const OpCase& one) {
  const double peak = one.format == "f32" ? 40e6 : one.format == "tf32" ? 250e6 : 500e6;  // [FLOP/us]
  return 3.3 + std::max(one.flops / peak, static_cast<double>(one.bytes) / 2.5e6);
}

sim::Attributes OpRow(const OpCase& one) {
  sim::Attributes row = KeyOf(one);
  row.emplace_back("hot", Times(OpMicros(one)));
  row.emplace_back("cold", Times(OpMicros(one) * 1.1));
  return row;
}

sim::Attributes CopyRow(sim::Bytes bytes, bool pinned) {
  const double us = 3 + static_cast<double>(bytes) / (pinned ? 5e4 : 1e4);
  sim::Attributes row = {{"bytes", {bytes}}, {"host", Times(us + 8)}};
  if (!pinned) return row;
  row.emplace_back("call", Times(3));
  row.emplace_back("device", Times(us + 1.4));
  row.emplace_back("queued_copies", sim::Attribute{std::int64_t{8}});
  row.emplace_back("queued", Times(us - 2));
  return row;
}

sim::Attributes BusyRow(sim::Bytes bytes, bool to_host) {
  return {{"direction", {std::string(to_host ? "d2h" : "h2d")}},
          {"bytes", {bytes}},
          {"busy", Times((1 + static_cast<double>(bytes) / 5e4) * 1.3)},
          {"covered", {true}}};
}

sim::Attributes StreamsRow(const char* pair, double first, double second, double both) {
  return {{"pair", {std::string(pair)}},
          {"calls", {std::int64_t{20}}},
          {"first", Times(first)},
          {"second", Times(second)},
          {"both", Times(both)}};
}

// The result of a probe, as profiler/cuda gives it.
sim::Attribute Plausible(const Probe& probe, const MeasureOptions& options) {
  const std::string name = probe.name;
  if (probe.cases != nullptr) {
    const std::vector<OpCase> cases = CasesToMeasure(probe.cases(), options.quick);
    return Rows(MeasureRows(cases.size(), options, [&](std::size_t row) { return OpRow(cases[row]); }));
  }
  if (name == "launch")
    return {sim::Attributes{
        {"call", Times(3)}, {"roundtrip", Times(9)}, {"queued", Times(2)}, {"event_pair", Times(1.4)}}};
  if (name == "empty_kernel") return {sim::Attributes{{"device", Times(3.3)}, {"event_pair", Times(1.4)}}};
  if (name == "kernel_gap") {
    if (!Setting("MADE_UP_NO_CUPTI", "").empty())
      throw Unavailable("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: this user may not read the device's records");
    return {sim::Attributes{{"kernel", Times(1.1)},
                            {"gap_queued", Times(0.9)},
                            {"launch_call", Times(3)},
                            {"launch_to_start", Times(5)}}};
  }
  if (name == "streams")
    return Rows({{StreamsRow("gemm bf16 4096 | gemm bf16 4096", 4000, 4000, 6000)},
                 {StreamsRow("gemm bf16 4096 | copy h2d 16 MiB", 4000, 650, 4200)}});
  const bool copies = name.starts_with("copy_") && name.find("peer") == std::string::npos;
  if (!copies) throw Unavailable("the made-up GPU has no " + name);
  const std::vector<sim::Bytes> sizes = CopySizes(options.quick);
  if (name == "copy_both_pinned")
    return Rows(MeasureRows(2 * sizes.size(), options,
                            [&](std::size_t row) { return BusyRow(sizes[row / 2], row % 2 == 1); }));
  const bool pinned = !name.ends_with("pageable");
  return Rows(
      MeasureRows(sizes.size(), options, [&](std::size_t row) { return CopyRow(sizes[row], pinned); }));
}

class MadeUpGpu : public Backend {
 public:
  sim::Attributes Machine() const override { return {{"gpu", {Setting("MADE_UP_NAME", "NVIDIA H200")}}}; }
  sim::Attributes Software() const override { return {{"cuda_driver", {std::string("13.0")}}}; }
  sim::Attribute Clocks() const override { return {}; }
  std::vector<std::string> Disturbances() const override {
    const std::string told = Setting("MADE_UP_DISTURBANCE", "");
    return told.empty() ? std::vector<std::string>() : std::vector{told};
  }

  sim::Attribute Run(const Probe& probe, const MeasureOptions& options) override {
    while (Setting("MADE_UP_HANG", "") == probe.name) std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::string rows = Setting("MADE_UP_ROWS", "");
    return rows.empty() ? Plausible(probe, options) : Counted(std::stoul(rows), options);
  }

  sim::Attribute RunOps(const sim::OpGraph& graph, const MeasureOptions& options) override {
    return MeasureOpsOf(graph, options, [&](const sim::OpGraph& lone, sim::Attributes* row) {
      if (lone.ops.back().type == "Whatever") throw Unavailable("nobody knows it");
      row->emplace_back("hot", Summary({10, 11, 12}));
      row->emplace_back("cold", Summary({20, 21, 22}));
    });
  }

  std::unique_ptr<Executor> MakeGraphExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                              const CoresByDevice& cores, Backend* cpu,
                                              const GraphRunOptions&) override {
    ExecutorParts parts;
    if (cpu != nullptr) {
      parts.cpu_kernel = [cpu](const sim::OpGraph& of, sim::OpIndex op) {
        return cpu->MakeKernelOnCpu(of, op);
      };
    }
    parts.accelerator = [&graph](sim::DeviceIndex) { return std::make_unique<EagerAccelerator>(graph); };
    return MakeExecutor(graph, cluster, cores, std::move(parts));
  }

 private:
  static sim::Attribute Counted(std::size_t count, const MeasureOptions& options) {
    const std::string failing = Setting("MADE_UP_FAILURE", "");
    return Rows(MeasureRows(count, options, [&](std::size_t row) {
      if (std::to_string(row) == failing) throw RunError("the GPU fell off the bus");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return sim::Attributes{{"row", {static_cast<std::int64_t>(row)}}};
    }));
  }
};

}  // namespace
}  // namespace stowplan::profiler

STOWPLAN_EXPORT_INTERFACE(STOWPLAN_INTERFACE);

extern "C" __attribute__((visibility("default"))) std::unique_ptr<stowplan::profiler::Backend>
stowplan_profiler_backend();

std::unique_ptr<stowplan::profiler::Backend> stowplan_profiler_backend() {
  return std::make_unique<stowplan::profiler::MadeUpGpu>();
}
