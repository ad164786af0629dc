#include "problem/advice/plan_space.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/groupers/chain.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"

namespace stowplan::problem {
namespace {

using Devices = scenarios::PlanSpace::Devices;
using sim::DeviceClass;

// Whether a plan may use the device beside those taken before it.
class DeviceRule {
 public:
  DeviceRule(Devices devices, bool has_gpu) : devices_(devices), has_gpu_(has_gpu) {}

  bool Take(const sim::Device& device) {
    const bool gpu = device.device_class == DeviceClass::kGpu;
    const int before = (gpu ? gpus_ : cpus_)++;
    switch (devices_) {
      case Devices::kGpus:
        return gpu;
      case Devices::kOneClass:
        return gpu == has_gpu_;
      case Devices::kGpusAndCpu:
        return gpu || before == 0;
      case Devices::kGpuAndCpu:
        return before == 0;
    }
    return false;
  }

 private:
  Devices devices_;
  bool has_gpu_;
  int gpus_ = 0, cpus_ = 0;
};

std::string Sentence(const scenarios::ExporterRow& format, const std::string& what) {
  return fmt::format("--for {}: {}, but its plans are {}.", format.name, what, format.space->says);
}

sim::Placement EvenParts(const agents::Task& task, const std::vector<std::vector<agents::UnitIndex>>& chain) {
  agents::UnitPlacement placement(task.units.ops.size());
  const std::size_t parts = std::min(chain.size(), task.devices.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    for (const agents::UnitIndex unit : chain[i])
      placement[static_cast<std::size_t>(unit)] = task.devices[i * parts / chain.size()];
  }
  return agents::Expand(task, placement);
}

}  // namespace

const scenarios::ExporterRow& FindPlanFormat(const std::string& name) {
  const scenarios::ExporterRow& row = scenarios::FindExporter(name, "--for");
  if (row.space) return row;
  std::vector<std::string> names;
  for (const scenarios::ExporterRow& other : scenarios::Exporters()) {
    if (other.space) names.emplace_back(other.name);
  }
  throw InputError(fmt::format(
      "--for {}: says any placement, so a search need not keep to it; `stowplan export` writes it. "
      "There are {}",
      name, JoinNames(names)));
}

std::vector<std::string> PlanDevices(const scenarios::ExporterRow& format, const sim::Cluster& cluster,
                                     const std::vector<std::string>& asked) {
  const auto wanted = [&](const sim::Device& device) {
    return asked.empty() || std::ranges::find(asked, device.name) != asked.end();
  };
  const bool has_gpu = std::ranges::any_of(cluster.devices, [&](const sim::Device& device) {
    return wanted(device) && device.device_class == DeviceClass::kGpu;
  });
  DeviceRule rule(format.space->devices, has_gpu);
  std::vector<std::string> names;
  for (const sim::Device& device : cluster.devices) {
    if (!wanted(device)) continue;
    if (rule.Take(device)) {
      names.push_back(device.name);
    } else if (!asked.empty()) {
      throw InputError(Sentence(format, "--devices has " + device.name));
    }
  }
  const std::size_t fewest = format.space->stages ? 2 : 1;
  if (names.size() < fewest) {
    throw InputError(Sentence(
        format, fmt::format("there {}", names.empty() ? "is no such device" : "is " + names[0] + " alone")));
  }
  return names;
}

void CheckPlanFormat(const scenarios::ExporterRow& format, const agents::Task& task,
                     const std::string& graph_file) {
  const auto chain = agents::ChainOfUnits(task);
  if (format.space->stages && chain.size() < 2)
    throw InputError(Sentence(format, "the names of the ops spell no two pieces"));
  format.print({.problem = *task.problem, .placement = EvenParts(task, chain), .graph_file = graph_file});
}

bool CanSay(const scenarios::ExporterRow& format, const agents::Task& task,
            const agents::UnitPlacement& placement, const std::string& graph_file) {
  try {
    format.print(
        {.problem = *task.problem, .placement = agents::Expand(task, placement), .graph_file = graph_file});
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace stowplan::problem
