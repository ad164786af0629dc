// How each probe of profiler/probes.h is measured on CUDA: the table, and what its entries share.
#pragma once

#include <string_view>

#include "profiler/backend.h"
#include "profiler/cuda/timer.h"
#include "profiler/probe_rows.h"

namespace stowplan::profiler::cuda {

// The result of the part.
using MeasureProbe = sim::Attribute (*)(const Probe& probe, const MeasureOptions& options);
MeasureProbe FindMeasurement(std::string_view probe);  // null if nobody measures it

sim::Attribute MeasureOps(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureGraphOps(const sim::OpGraph& graph, const MeasureOptions& options);
sim::Attribute MeasureCopies(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureBothCopies(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasurePeerCopies(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureBothPeerCopies(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureLaunch(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureEmptyKernel(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureKernelGap(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureGraphNodes(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureAllocation(const Probe& probe, const MeasureOptions& options);
sim::Attribute MeasureStreams(const Probe& probe, const MeasureOptions& options);

}  // namespace stowplan::profiler::cuda
