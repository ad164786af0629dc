// How each probe of profiler/probes.h is measured on a CPU.
#pragma once

#include <string_view>

#include "profiler/backend.h"
#include "profiler/probes.h"

namespace berth::profiler {

// The result of the part.
using MeasureProbe = sim::Attribute (*)(const Probe& probe, const MeasureOptions& options);
MeasureProbe FindMeasurement(std::string_view probe);  // null if nobody measures it

sim::Attribute MeasureOpsOnCpu(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureHostCopies(const Probe& probe, const MeasureOptions& options);

// The ops of the graph's vocabulary that compute a case, in order, behind sources for what they read: a cell of an
// LSTM and attention are several. Throws Unavailable for what the CPU's kernels do not compute: a number format other
// than f32, or an op of no kernel.
sim::OpGraph GraphOf(const OpCase& one);

}  // namespace berth::profiler
