// What `stowplan-profile graph` is given: the files, the devices with their limits, the cores.
#pragma once

#include <string>
#include <vector>

#include "profiler/executor.h"
#include "sim/cluster.h"
#include "sim/hardware.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::profiler {

struct GraphInputs {
  std::string graph, cluster, workload;
  std::vector<std::string> placements;
  std::vector<std::string> memory_caps;  // "gpu0=1GiB"
  std::vector<std::string> sm_shares;    // "gpu0=0.5"
  int cores = 0;                         // of each CPU device; 0 = all, in equal parts
};

// Knows the class of a kind and nothing else, so that a cluster must say what it needs: a kind is a CPU if its name
// begins with "cpu".
class BareCatalogue : public sim::HardwareCatalogue {
 public:
  const sim::DeviceKind* FindDevice(const std::string& kind) const override;
  const sim::LinkKind* FindLink(const std::string&) const override { return nullptr; }
  std::vector<std::string> DeviceNames() const override { return {"cpu…", "any other for an accelerator"}; }
  std::vector<std::string> LinkNames() const override {
    return {"none: bandwidth and latency must be given"};
  }
};

struct NamedPlacement {
  std::string name;    // the file's name without folder and endings: "blocks-03"
  std::string family;  // the name without what counts it, "_" as a space: "blocks"
  sim::Placement placement;
};

struct LoadedGraph {
  explicit LoadedGraph(const GraphInputs& inputs);  // throws InputError as readers do
  BareCatalogue catalogue;
  sim::OpGraph graph;
  sim::Cluster cluster;
  std::vector<NamedPlacement> placements;
  std::vector<double> sm_shares;  // by device, 0 for CPUs; empty where none are given
};

// What to say where the accelerators may ask for more than they could get: a sentence, or nothing.
std::string CapacityWarning(const sim::Cluster& cluster, sim::Bytes free);

// The cores of each device: `cores` for a CPU (0: all there are, in equal parts), one for the thread of an accelerator.
// Throws Unavailable where there are not so many.
CoresByDevice ChooseCores(const sim::Cluster& cluster, int cores);

}  // namespace stowplan::profiler
