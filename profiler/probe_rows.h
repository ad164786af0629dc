// What the backends' probes share: how a number is repeated and how a row is written.
#pragma once

#include <functional>
#include <vector>

#include "profiler/backend.h"
#include "profiler/probes.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// Samples in microseconds, repeated as the timing says; `sample` measures once. What takes long is repeated less: no
// further warm-up once `seconds` are spent, and after ten times as many three samples will do.
std::vector<double> Repeat(const Timing& timing, const std::function<double()>& sample);

// op, phase, format, shape, flops, bytes, and the workload where there is one: what a row of an op probe begins with.
sim::Attributes KeyOf(const OpCase& one);
// Rows 0 to count - 1 of a probe: those that the options hold as they are, then what `measure` gives, for as long as
// they go on.
sim::Attribute::List MeasureRows(std::size_t count, const MeasureOptions& options,
                                 const std::function<sim::Attributes(std::size_t)>& measure);
// {"rows": rows}
sim::Attribute Rows(sim::Attribute::List rows);
// A stowplan.graph as a row holds it.
sim::Attribute GraphValue(const sim::OpGraph& graph);
// The summary of samples in microseconds.
sim::Attribute Summary(const std::vector<double>& samples_us);

}  // namespace stowplan::profiler
