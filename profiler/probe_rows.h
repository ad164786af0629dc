// What the backends' probes share: how a number is repeated and how a row is written.
#pragma once

#include <functional>
#include <vector>

#include "profiler/probes.h"
#include "sim/op_graph.h"

namespace berth::profiler {

// Samples in microseconds, repeated as the timing says; `sample` measures once.
std::vector<double> Repeat(const Timing& timing, const std::function<double()>& sample);

// op, phase, format, shape, flops, bytes, and the workload where there is one: what a row of an op probe begins with.
sim::Attributes KeyOf(const OpCase& one);
// {"rows": rows}
sim::Attribute Rows(sim::Attribute::List rows);
// The summary of samples in microseconds.
sim::Attribute Summary(const std::vector<double>& samples_us);

}  // namespace berth::profiler
