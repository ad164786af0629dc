// A device that is measured. One so far, CUDA, in a plug-in that is opened at run time, because berth-profile
// must start on machines without driver and libraries.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "profiler/probes.h"
#include "sim/op_graph.h"

namespace berth::profiler {

// This machine cannot do what was asked, and says why: an outcome to report, not a failure to mend.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MeasureOptions {
  Timing timing;
  bool quick = false;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual sim::Attributes Machine() const = 0;   // what does not change while it runs: name, memory, …
  virtual sim::Attributes Software() const = 0;  // driver and libraries with versions
  virtual sim::Attribute Clocks() const = 0;     // as found now; null where nobody tells
  // The result of a part: {"rows": […]}. Throws Unavailable where this device or library cannot, RunError where
  // it fails.
  virtual sim::Attribute Run(const Probe& probe, const MeasureOptions& options) = 0;
};

// The only symbol that the plug-in exports for this program. Throws Unavailable where there is no device.
using MakeBackend = std::unique_ptr<Backend> (*)();
inline constexpr char kMakeBackendSymbol[] = "berth_profiler_backend";

// Where the plug-in is: $BERTH_CUDA_PLUGIN, else beside the program (../cuda in the build tree, ., lib, ../lib).
// Throws Unavailable where there is none.
std::string FindCudaPlugin();

// Looks for the driver, then for the plug-in, then for a device. Throws Unavailable with the first of them that is
// missing and the loader's reason. The plug-in stays open as long as the process lives.
std::unique_ptr<Backend> OpenCuda();

}  // namespace berth::profiler
