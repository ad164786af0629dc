// What the devices of one executor share while they run. Internal to profiler/executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler/executor/initial_values.h"
#include "profiler/executor/plan.h"
#include "profiler/executor/rings.h"
#include "profiler/kernel.h"
#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

class Device;

struct Machine {
  Machine(const sim::OpGraph& g, const sim::Cluster& c, BlockMaker maker)
      : graph(g),
        cluster(c),
        host_blocks(std::move(maker)),
        values(host_blocks),
        rings(c.devices.size() * c.devices.size()),
        queued(c.devices.size() * c.devices.size()),
        barrier(c.size()) {}

  std::size_t Way(sim::DeviceIndex from, sim::DeviceIndex to) const {
    return static_cast<std::size_t>(from) * cluster.devices.size() + static_cast<std::size_t>(to);
  }
  Ring& ring(sim::DeviceIndex from, sim::DeviceIndex to) { return rings[Way(from, to)]; }
  bool OnCpu(sim::DeviceIndex device) const {
    return cluster.devices[static_cast<std::size_t>(device)].device_class == sim::DeviceClass::kCpu;
  }

  const sim::OpGraph& graph;
  const sim::Cluster& cluster;
  BlockMaker host_blocks;                        // memory of the CPUs
  InitialValues values;                          // in that memory
  std::vector<std::unique_ptr<Kernel>> kernels;  // of the CPUs, by op
  Plan plan;
  std::vector<Ring> rings;
  std::vector<std::atomic<int>> queued;            // copies between CPUs, by way: how many are not yet made
  std::vector<std::atomic<bool>> asked;            // by transfer: memory for its copy
  std::vector<std::atomic<std::int32_t>> counted;  // by storage: holders, as far as memory is counted
  Barrier barrier;
  std::vector<std::unique_ptr<Device>> devices;
  std::atomic<bool> stop = false;  // a device is out of memory, or failed
};

// Receiver's answer that a transfer has been copied.
inline std::int32_t Copied(std::int32_t transfer) {
  return ~transfer;
}

}  // namespace stowplan::profiler
