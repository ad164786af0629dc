// What is measured of a workload before its steps: its ops alone, copies between two cores, dispatch, ops beside copies
// (profiler/cpu/probes.h), and the cluster and the cost model that they make.
#pragma once

#include <optional>
#include <string>

#include "cli/validate/recorder_options.h"
#include "cost_models/parameters/parameters.h"
#include "profiler/executor.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::cli {

// Two CPUs and what joins them; what was measured as it stands in a cluster file.
struct TwoCoreCluster {
  sim::Bytes memory = sim::Bytes{64} << 30;  // of each device
  double overlap = 1;                        // the model has one rate for both ends of a copy
  std::string curve = "bandwidth: 1GB/s";    // of the link
  std::string dispatch;

  std::string Text() const;  // stowplan.cluster
};
sim::Cluster ParseTwoCores(const std::string& text);

struct ProbedWorkload {
  profiler::Pace pace;  // that it was measured at
  TwoCoreCluster cluster;
  cost_models::Parameters parameters;  // a table of the ops, by signature
};

// Looks for the machine's pace again where it had no undisturbed measurement of something; empty if the user stopped it.
// Throws RunError where the machine is too busy.
std::optional<ProbedWorkload> ProbeWorkload(const std::string& workload, const sim::OpGraph& graph,
                                            const profiler::CoresByDevice& cores,
                                            const RecorderOptions& options);

}  // namespace stowplan::cli
