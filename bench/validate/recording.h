// berth.validation: what `berth validate --record` measured of one workload, for scoring at any time
// (docs/formats.md). Beside it stands the berth.cost_model of the ops that were probed then, as
// <name>.cost_model.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/provenance.h"
#include "profiler/executor/executor.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace berth::bench {

// How a placement was found: "one device", "blocks", "few cuts", "random", "searched".
struct MeasuredPlacement {
  std::string family;
  sim::Placement placement;
  std::vector<double> steps_us;        // undisturbed ones, or all where there are too few: see `undisturbed`
  int undisturbed = 0;                 // steps during which no device lost its core or its pace
  int run = 0;                         // steps in all, without warm-up
  std::vector<sim::Bytes> peak_bytes;  // by device, median of the undisturbed steps
  std::vector<sim::Bytes> least_peak_bytes, most_peak_bytes;  // by device, of the same steps
};

struct Recording {
  std::string workload;  // that LoadGraph takes
  Provenance provenance;
  double load_before = 0, load_after = 0;  // the machine's load average over one minute
  int wanted_steps = 0;
  std::int64_t pace_ns = 0;            // profiler/executor/pace.h: of probes and steps; 0 = not looked at
  std::string cluster;                 // berth.cluster, with everything that was measured of it
  std::vector<std::string> stand_ins;  // op types that a stand-in ran
  std::vector<MeasuredPlacement> placements;
  profiler::Step traced;  // of one placement, below; empty = none
  int traced_placement = -1;
};

// The recordings of a folder, by file name; the parameters that belong to one. Throws InputError where there is none.
std::vector<std::string> FindRecordings(const std::string& folder);
std::string CostsBeside(const std::string& path);

// Throws InputError as all readers do; placements are checked against the workload's graph and the cluster.
Recording ReadValidation(const std::string& path);
std::string PrintValidation(const Recording& recording);

// The workload's graph as it was measured and is simulated: without costs of its own.
sim::OpGraph LoadMeasuredGraph(const std::string& workload);

// The name of its files: rnnlm(batch=4,steps=8) -> "rnnlm-batch=4-steps=8".
std::string FileStem(const std::string& workload);

}  // namespace berth::bench
