#include "scenarios/exporters/placed_modules.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::scenarios {

PlacedModules::PlacedModules(const ExportInput& input)
    : input_(input), tree_(sim::MakeModuleTree(input.problem.graph())), devices_(tree_.modules.size(), -1) {
  // Children stand behind their parents.
  for (std::size_t m = tree_.modules.size(); m-- > 0;) {
    bool first = true;
    const auto meet = [&](sim::DeviceIndex device) {
      devices_[m] = first || devices_[m] == device ? device : -1;
      first = false;
      return devices_[m] >= 0;
    };
    bool one = true;
    for (const sim::OpIndex op : tree_.modules[m].own) one = one && meet(device_of(op));
    for (const std::int32_t child : tree_.modules[m].children) one = one && meet(device(child));
    if (!one) devices_[m] = -1;
  }
}

std::vector<std::int32_t> PlacedModules::Coarsest() const {
  std::vector<std::int32_t> found;
  std::vector<std::int32_t> open = {0};
  while (!open.empty()) {
    const std::int32_t m = open.back();
    open.pop_back();
    if (device(m) >= 0) {
      found.push_back(m);
    } else {
      open.insert(open.end(), module(m).children.rbegin(), module(m).children.rend());
    }
  }
  return found;
}

void RefuseTraining(const ExportInput& input, const char* name) {
  for (const sim::Op& op : input.problem.graph().ops) {
    if (!IsForward(op)) {
      throw InputError(
          fmt::format("{}: {} is an op of a training step, and this runs inference; place the model itself.",
                      name, op.name));
    }
  }
}

int GpuNumber(const sim::Cluster& cluster, sim::DeviceIndex device) {
  int number = 0;
  for (sim::DeviceIndex d = 0; d < device; ++d)
    number += cluster.devices[static_cast<std::size_t>(d)].device_class == sim::DeviceClass::kGpu ? 1 : 0;
  return cluster.devices[static_cast<std::size_t>(device)].device_class == sim::DeviceClass::kGpu ? number
                                                                                                  : -1;
}

}  // namespace stowplan::scenarios
