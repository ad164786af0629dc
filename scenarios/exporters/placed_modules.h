// A placement seen by modules: what the exporters that speak of modules share.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenarios.h"
#include "sim/analysis/layers.h"
#include "sim/analysis/modules.h"

namespace stowplan::scenarios {

using sim::IsForward;

class PlacedModules {
 public:
  explicit PlacedModules(const ExportInput& input);

  const sim::ModuleTree& tree() const { return tree_; }
  const sim::ModuleTree::Module& module(std::int32_t m) const {
    return tree_.modules[static_cast<std::size_t>(m)];
  }
  // Where all ops of a module run, those of the modules below it too; -1 = on several devices.
  sim::DeviceIndex device(std::int32_t m) const { return devices_[static_cast<std::size_t>(m)]; }
  sim::DeviceIndex device_of(sim::OpIndex op) const {
    return input_.placement.device[static_cast<std::size_t>(op)];
  }
  const sim::Op& op(sim::OpIndex op) const {
    return input_.problem.graph().ops[static_cast<std::size_t>(op)];
  }
  const std::string& name(sim::DeviceIndex device) const {
    return input_.problem.cluster().devices[static_cast<std::size_t>(device)].name;
  }

  // The coarsest modules that run on one device, in the order of the tree; where a part of the model is in no such
  // module, what that leaves out.
  std::vector<std::int32_t> Coarsest() const;

 private:
  const ExportInput& input_;
  sim::ModuleTree tree_;
  std::vector<sim::DeviceIndex> devices_;
};

// Throws InputError, with the exporter's name, where there is an op of a training step.
void RefuseTraining(const ExportInput& input, const char* name);
// The number that frameworks give a GPU: its place among the cluster's. -1 for a CPU.
int GpuNumber(const sim::Cluster& cluster, sim::DeviceIndex device);

}  // namespace stowplan::scenarios
