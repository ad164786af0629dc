// Isolated measurements on the executor's devices: what one op takes alone, what a copy takes alone, what it
// takes to get an op under way. Cost models are made of these and of nothing else; steps are for validation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profiler/executor.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace berth::profiler {

struct ProbeOptions {
  int warm_up = 3;
  int repeats = 30;        // undisturbed ones
  int at_most = 120;       // in all
  Pace pace = {};          // of what is undisturbed
  bool disturbed = false;  // keep those too during which a device lost its core
  // Asked every so often; true ends the probe with what there is by then.
  std::function<bool()> stop = {};
};

// The op with the memory it takes and gives back, without what issues it [ns]; undisturbed repeats, of all
// devices.
struct ProbedOp {
  sim::OpIndex op = -1;
  std::size_t set = 0;  // of those that were given
  int stands_for = 0;   // ops of the set that find caches as this one does
  std::vector<std::int64_t> ns;
};

// sets: ops that do the same. Of each set one op for each way in which its ops find the caches, one after the other
// and then all again: what is cached (cache_residence.h) has just been touched, the rest has not been since twice the cache
// went by.
// cores: of each device; they are probed one after the other.
std::vector<ProbedOp> ProbeOps(const sim::OpGraph& graph, const std::vector<std::vector<sim::OpIndex>>& sets,
                               const CoresByDevice& cores, const ProbeOptions& options);

// From the end of an op that writes `bytes` on one device to the end of their copy on the other, which waits
// for nothing else [ns]. 0 bytes: a control dependency. Both directions of the first two devices; all sizes take
// turns, as in a step, where no copy finds the caches and the code of the one before.
struct ProbedCopy {
  sim::Bytes bytes = 0;
  std::vector<std::int64_t> ns;
};
std::vector<ProbedCopy> ProbeCopies(const sim::Cluster& cluster, const CoresByDevice& cores,
                                    const std::vector<sim::Bytes>& sizes, const ProbeOptions& options);

// What issuing takes, for each op [ns]: from the end of an op to the start of the one that waits for it, in a
// chain of small ops on one device.
std::vector<std::int64_t> ProbeDispatch(const sim::Cluster& cluster, const CoresByDevice& cores,
                                        const ProbeOptions& options);

// What a device keeps of its rate while a copy of its own runs: 1 - (what its chain of ops is later with the copies than
// without them) / time of the copies, by undisturbed step of both directions. Here the receiver's thread copies. Below 0 or
// above 1 where noise is larger than the effect.
struct ProbedOverlap {
  std::vector<double> receiver, sender;
};
ProbedOverlap ProbeOverlap(const sim::Cluster& cluster, const CoresByDevice& cores,
                           const ProbeOptions& options);

}  // namespace berth::profiler
