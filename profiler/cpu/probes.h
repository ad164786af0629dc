// Isolated measurements on the executor's devices: what one op takes alone, what a copy takes alone, what it
// takes to get an op under way. Cost models are made of these and of nothing else; steps are for validation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profiler/executor.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

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
// The sizes that copies are probed with: a dependency, then what op graphs hand on [bytes].
std::vector<sim::Bytes> ProbedCopySizes();
std::vector<ProbedCopy> ProbeCopies(const sim::Cluster& cluster, const CoresByDevice& cores,
                                    const std::vector<sim::Bytes>& sizes, const ProbeOptions& options);

// What issuing takes, for each op [ns]: from the end of an op to the start of the one that waits for it, in a
// chain of small ops on one device.
std::vector<std::int64_t> ProbeDispatch(const sim::Cluster& cluster, const CoresByDevice& cores,
                                        const ProbeOptions& options);

// A device that computes a chain of ops beside copies of its own, at one end of them and in one direction, by step [ns].
// Here the receiver's thread copies.
struct ProbedOverlap {
  sim::DeviceIndex device = -1;
  bool receives = false;
  std::vector<double> alone;    // the chain, without copies
  std::vector<double> copying;  // all copies of a step, and
  std::vector<double> both;     // the chain beside them
};
// The chains take at least twice as long as the copies, so that there is something to be late with. Both ends of both directions between the first two devices; without steps where none was undisturbed.
std::vector<ProbedOverlap> ProbeOverlap(const sim::Cluster& cluster, const CoresByDevice& cores,
                                        const ProbeOptions& options);

}  // namespace stowplan::profiler
