// A device that is measured, and executes graphs: each in a plug-in that is opened at run time, because
// stowplan-profile must start on machines without drivers and libraries.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiler/executor.h"
#include "profiler/kernel.h"
#include "profiler/probes.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// This machine cannot do what was asked, and says why: an outcome to report, not a failure to mend.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MeasureOptions {
  Timing timing;
  bool quick = false;
  std::vector<int> cores;  // that probes of the CPU may use, all at once
  // Where the probe's rows go as they are measured; those that are there are not measured again. Null: nobody asks.
  sim::Attribute::List* rows = nullptr;
  // Asked before each row; false: Run() returns what there is. Empty: all are measured.
  std::function<bool()> go_on;
};

struct GraphRunOptions {
  std::vector<std::string> stand_in_types;  // ops that accelerators do not run for what they are
  // By device: the share of the hardware device's multiprocessors that an accelerator has to itself. Empty: they
  // share them all.
  std::vector<double> sm_shares;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual sim::Attributes Machine() const = 0;   // what does not change while it runs: name, memory, …
  virtual sim::Attributes Software() const = 0;  // driver and libraries with versions
  virtual sim::Attribute Clocks() const = 0;     // as found now; null where nobody tells
  // What disturbs measurements now, each a sentence: others on the device, a slice of it.
  virtual std::vector<std::string> Disturbances() const { return {}; }
  // What its accelerators could allocate now, all together [bytes]; nothing where it has none.
  virtual std::optional<sim::Bytes> FreeMemory() const { return std::nullopt; }
  // The pace at which these CPUs compute, for ExecuteOptions; of {} nobody can tell.
  virtual Pace FindPace(const CoresByDevice&) const { return {}; }
  // The result of a part: {"rows": […]}, always in the same order. Throws Unavailable where this device or library
  // cannot, RunError where it fails; options.rows are good all the same.
  virtual sim::Attribute Run(const Probe& probe, const MeasureOptions& options) = 0;
  // The same of the ops of a graph, each alone and as an executed step runs it (profiler/executor/graph_ops.h).
  virtual sim::Attribute RunOps(const sim::OpGraph& graph, const MeasureOptions& options) = 0;

  // What runs a graph on devices of `cluster`, all of this backend's class or CPUs. cpu: what runs ops on those; null
  // where the cluster has none. Graph, cluster and `cpu` must outlive it. Throws as the executors do.
  virtual std::unique_ptr<Executor> MakeGraphExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                                      const CoresByDevice& cores, Backend* cpu,
                                                      const GraphRunOptions& options) = 0;
  // What an op does on a CPU. Throws Unavailable where the backend is no CPU.
  virtual MadeKernel MakeKernelOnCpu(const sim::OpGraph& graph, sim::OpIndex op);
};

// The only symbol that a plug-in exports for this program. Throws Unavailable where there is no device.
using MakeBackend = std::unique_ptr<Backend> (*)();
inline constexpr char kMakeBackendSymbol[] = "stowplan_profiler_backend";

// The host as it was found, with the device.
sim::Attributes MachineOf(const Backend& backend);

// The table of them.
struct BackendRow {
  const char* name;      // "cpu", "cuda": --device, and `device` in recordings
  const char* what;      // "CPU": for messages
  const char* plugin;    // file name
  const char* folder;    // where the build leaves it, beside the program's
  const char* variable;  // of the environment, that can name the file
  const char* driver;    // library that tells whether there is a driver; null if none is needed
  const char* needs;     // what must be there where it is built
};
const std::vector<BackendRow>& Backends();
// Throws InputError with the names there are.
const BackendRow& FindBackend(const std::string& name);
std::string BackendNames();  // "cpu, cuda"

// Where the plug-in is: as the environment says, else beside the program (../<folder> in the build tree, beside it
// in a portable folder, ../lib/stowplan where it is installed). Throws Unavailable where there is none.
std::string FindPlugin(const BackendRow& row);

// Why the loader cannot open a library with all that it needs; empty where it can.
std::string WhyNotLoaded(const std::string& path);

// Looks for the driver, then for the plug-in, then for a device. Throws Unavailable with the first of them that is
// missing and the loader's reason. The plug-in stays open as long as the process lives.
std::unique_ptr<Backend> OpenBackend(const BackendRow& row);

}  // namespace stowplan::profiler
