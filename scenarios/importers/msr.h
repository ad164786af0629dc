// The JSON of msr-fiddle/dnn-partitioning (Efficient Algorithms for Device Placement of DNN Graph Operators,
// NeurIPS 2020): real profiled graphs, and their authors' human-expert splits.
//
// Graph: `maxFPGAs` accelerators ("FPGA" means any) of `maxSizePerFPGA` bytes and `maxCPUs` CPUs; `nodes`
// with `id`, `name`, `cpuLatency` and `fpgaLatency` [ms], `size` [bytes on an accelerator], `isBackwardNode`,
// `supportedOnFpga` and `colorClass`; `edges` with `sourceId`, `destId`, `size` [bytes] and `cost`. Read as:
// - an op per node, in file order, of type "Profiled"; a name that was given before, or ends like an output
//   ("x:0"), gets "#<id>" behind it. Its id is kept as attribute `msr_id`;
// - cost_us by class, so that these are tier A on any cluster; a node that no accelerator supports has a CPU
//   cost only;
// - one output per distinct size among a node's edges, in the order of the file. An edge's `cost` is left
//   alone: it is size / 2 GiB/s in other units, a convention;
// - persistent_bytes = max(0, size - largest output): the weights and what else stays;
// - colorClass -> colocate, isBackwardNode -> phase.
// Fractional bytes (bits, in their BERT graphs) round up.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::scenarios {

bool RecognisesMsrGraph(const std::string& content);
sim::OpGraph ImportMsrGraph(const std::string& content, const std::string& source);

// Splits: {"fpgas": [{"nodes": [id, …]}, …], "cpus": […], "maxLoad": …}. fpgas[i] -> the i-th accelerator of
// the cluster, cpus[i] -> its i-th CPU. The graph must have come from ImportMsrGraph, and every node must be
// in one place.
bool RecognisesMsrSplit(const std::string& content);
sim::Placement ImportMsrSplit(const std::string& content, const std::string& source,
                              const sim::OpGraph& graph, const sim::Cluster& cluster);

}  // namespace stowplan::scenarios
