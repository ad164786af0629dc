// How each probe of profiler/probes.h is measured on a CPU.
#pragma once

#include <string_view>

#include "profiler/backend.h"
#include "profiler/probes.h"

namespace stowplan::profiler {

// The result of the part.
using MeasureProbe = sim::Attribute (*)(const Probe& probe, const MeasureOptions& options);
MeasureProbe FindMeasurement(std::string_view probe);  // null if nobody measures it

sim::Attribute MeasureOpsOnCpu(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureGraphOpsOnCpu(const sim::OpGraph& graph, const MeasureOptions& options);
sim::Attribute MeasureHostCopies(const Probe& probe, const MeasureOptions& options);
// Of devices of options.cores each, all rows in one go; no rows if it is stopped. The first and the last throw Unavailable
// where there are no cores for a second device.
sim::Attribute MeasureCopiesBetweenDevices(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureDispatch(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureOverlap(const Probe& probe, const MeasureOptions& options);

// The graph of a case that the CPU's kernels compute (op_graphs.h). Throws Unavailable for what they do not: a number
// format other than f32, or an op of no kernel.
sim::OpGraph GraphOnCpu(const OpCase& one);

}  // namespace stowplan::profiler
