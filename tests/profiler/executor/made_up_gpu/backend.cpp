// A CUDA plug-in without CUDA: what stowplan-profile does with a GPU is tested where there is none. Environment:
// MADE_UP_ROWS (of each probe; 3), MADE_UP_FAILURE (the row that fails), MADE_UP_NAME (of the GPU),
// MADE_UP_DISTURBANCE (a sentence).
#include "profiler/backend.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/executor/graph_ops.h"
#include "profiler/probe_rows.h"
#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"

namespace stowplan::profiler {
namespace {

std::string Setting(const char* name, const char* otherwise) {
  const char* const found = std::getenv(name);
  return found == nullptr ? otherwise : found;
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

  sim::Attribute Run(const Probe&, const MeasureOptions& options) override {
    const auto count = static_cast<std::size_t>(std::stoul(Setting("MADE_UP_ROWS", "3")));
    const std::string failing = Setting("MADE_UP_FAILURE", "");
    return Rows(MeasureRows(count, options, [&](std::size_t row) {
      if (std::to_string(row) == failing) throw RunError("the GPU fell off the bus");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return sim::Attributes{{"row", {static_cast<std::int64_t>(row)}}};
    }));
  }

  sim::Attribute RunOps(const sim::OpGraph& graph, const MeasureOptions& options) override {
    return MeasureOpsOf(graph, options, [&](const sim::OpGraph& lone, sim::Attributes* row) {
      if (lone.ops.back().type == "Whatever") throw Unavailable("nobody knows it");
      row->emplace_back("hot", Summary({10, 11, 12}));
      row->emplace_back("cold", Summary({20, 21, 22}));
    });
  }

  std::unique_ptr<Executor> MakeGraphExecutor(const sim::OpGraph&, const sim::Cluster&, const CoresByDevice&,
                                              Backend*, const GraphRunOptions&) override {
    throw Unavailable("it executes no graphs");
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
