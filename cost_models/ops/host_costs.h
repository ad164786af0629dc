// What a host takes to issue the ops of a graph: op by op as eager PyTorch does, Python included, or as CUDA graphs. The times stand
// in data/host.yaml.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::cost_models {

struct HostTable {
  // By mode (kEager, kGraph) and op type, class or optimizer: microseconds forwards, backwards, in the update.
  std::array<std::map<std::string, std::array<std::int32_t, 3>, std::less<>>, 2> micros;
};

// A stowplan.host file; `source` is what messages call it. Throws InputError for what is not well-formed, for a row without a source,
// for what is no op type, class or optimizer, for what has two rows in a mode, and where a class has none.
HostTable ParseHostTable(std::string_view yaml, const std::string& source);

// Joins the two, after which the engine knows nothing of modes: `mode` is "eager", "graph", "flat", "traced" or empty, which is the
// cluster's, and where that is open kTraced for graphs whose ops have host times of a trace (attribute host_us), kEager for those whose
// ops are PyTorch's (attribute torch_op), else kFlat. With kTraced an op's host_units are its host_us in units of 10 ns, 0 where it has none,
// and the cluster's cost is such a unit, ten times as long as often as the longest needs it. With kEager and kGraph each op's
// host_units are its microseconds and the cluster's cost is a microsecond, more or less where a calibration measured the host's
// launches as slower or faster than the catalogue says. May be called again. Throws InputError for another text.
void ChargeHost(sim::Cluster& cluster, sim::OpGraph& graph, const std::string& mode = "");

}  // namespace stowplan::cost_models
