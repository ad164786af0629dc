// How each probe of profiler/probes.h is measured on CUDA: the table, and what its entries share.
#pragma once

#include <string_view>

#include "profiler/backend.h"
#include "profiler/cuda/timer.h"

namespace berth::profiler::cuda {

// The result of the part.
using MeasureProbe = sim::Attribute (*)(const Probe& probe, const MeasureOptions& options);
MeasureProbe FindMeasurement(std::string_view probe);  // null if nobody measures it

sim::Attribute MeasureOps(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureCopies(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureBothCopies(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureLaunch(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureKernelGap(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureGraphNodes(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureAllocation(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureStreams(const Probe& probe, const MeasureOptions& options);

// {"rows": rows}
sim::Attribute Rows(sim::Attribute::List rows);
// The summary of samples in microseconds.
sim::Attribute Summary(const std::vector<double>& samples_us);

}  // namespace berth::profiler::cuda
