#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agents/placements.h"
#include "agents/task.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/collectives.h"

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;

// Those behind which the ranks that collectives leave out of the graph have accelerators; all where none is left out.
std::vector<DeviceIndex> WithRoomBehind(const sim::Problem& problem) {
  std::int64_t reach = -1;  // from a member to the last accelerator that it stands for
  for (const sim::Collective& collective : sim::CollectivesOf(problem.graph()))
    if (collective.stride > 0)
      reach = std::max<std::int64_t>(reach, std::int64_t{collective.copies - 1} * collective.stride);
  std::vector<DeviceIndex> all, accelerators;
  for (DeviceIndex d = 0; d < problem.cluster().size(); ++d) {
    all.push_back(d);
    if (problem.cluster().devices[static_cast<std::size_t>(d)].device_class != sim::DeviceClass::kCpu)
      accelerators.push_back(d);
  }
  if (reach < 0) return all;
  accelerators.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, std::ssize(accelerators) - reach)));
  return accelerators;
}

std::vector<DeviceIndex> ChooseDevices(const sim::Problem& problem, const std::vector<std::string>& names) {
  const sim::Cluster& cluster = problem.cluster();
  std::vector<DeviceIndex> devices;
  if (names.empty()) {
    devices = WithRoomBehind(problem);
    if (devices.empty())
      throw InputError(fmt::format("graph {} has collectives of more ranks than cluster {} has accelerators",
                                   problem.graph().name, cluster.name));
  }
  for (const std::string& name : names) {
    const DeviceIndex device = cluster.Find(name);
    if (device < 0) {
      std::vector<std::string> known;
      for (const sim::Device& d : cluster.devices) known.push_back(d.name);
      throw InputError("devices to place on: cluster " + cluster.name + " has no device \"" + name +
                       "\", only " + JoinNames(known));
    }
    devices.push_back(device);
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

// Where an op stands in the model by one of the attributes `stage` and `branch`; -1 = it does not say. A graph
// has no more parts than ops; the bound lets readers keep arrays by stage.
std::int32_t LocationOf(const sim::OpGraph& graph, const sim::Op& op, const std::string& attribute) {
  if (sim::FindAttribute(op.attributes, attribute) == nullptr) return -1;
  const std::optional<double> number = sim::FindNumber(op.attributes, attribute);
  if (number && *number >= 0 && *number < graph.size() && *number == std::floor(*number))
    return static_cast<std::int32_t>(*number);
  throw InputError(fmt::format(
      "graph {}: op {}: attribute {} is {}, wanted a whole number from 0 to below the graph's number of ops, "
      "{}",
      graph.name, op.name, attribute, number ? fmt::format("{}", *number) : "no number", graph.size()));
}

// The lowest that a unit's ops say.
void Lower(std::int32_t& lowest, std::int32_t number) {
  if (number >= 0) lowest = lowest < 0 ? number : std::min(lowest, number);
}

void SumFeatures(Task& task) {
  const sim::Problem& problem = *task.problem;
  const std::size_t units = task.units.ops.size();
  const auto columns = static_cast<std::size_t>(problem.costs().columns());
  task.cost.assign(units * columns, 0);
  task.persistent.assign(units, 0);
  task.output.assign(units, 0);
  task.stage.assign(units, -1);
  task.branch.assign(units, -1);
  for (std::size_t unit = 0; unit < units; ++unit) {
    for (const OpIndex index : task.units.ops[unit]) {
      const sim::Op& op = problem.graph().ops[static_cast<std::size_t>(index)];
      const std::span<const sim::Picos> prices = problem.costs().PricesOf(index);
      for (std::size_t c = 0; c < columns; ++c) task.cost[unit * columns + c] += prices[c];
      task.persistent[unit] += op.persistent_bytes;
      for (const sim::Output& output : op.outputs) {
        if (output.storage == sim::Output::Storage::kOwn) task.output[unit] += output.bytes;
      }
      Lower(task.stage[unit], LocationOf(problem.graph(), op, "stage"));
      Lower(task.branch[unit], LocationOf(problem.graph(), op, "branch"));
    }
  }
}

bool SameDevice(const sim::Device& a, const sim::Device& b) {
  return a.kind == b.kind && a.device_class == b.device_class && a.memory == b.memory &&
         a.reserve == b.reserve && a.granularity == b.granularity && a.streams == b.streams &&
         a.concurrency_ppm == b.concurrency_ppm && a.launch_cost == b.launch_cost;
}

// The fastest of some trivial placements, those that fit first.
class Trivial {
 public:
  explicit Trivial(const Task& task) : task_(task), simulator_(sim::MakeSimulator(*task.problem)) {}

  bool fits() const { return fits_; }
  sim::Picos runtime() const { return std::max<sim::Picos>(runtime_, 1); }
  std::string name() const { return fits_ ? name_ : name_ + ", which does not fit"; }

  void OfferSingle(const std::vector<DeviceIndex>& devices) {
    for (auto d = devices.begin(); d != devices.end(); ++d) {
      const bool seen = std::any_of(devices.begin(), d, [&](DeviceIndex other) {
        return SameDevice(task_.device(other), task_.device(*d));
      });
      if (!seen) Offer({std::vector(task_.problem->graph().ops.size(), *d), {}}, task_.device(*d).name);
    }
  }

  // The scenario's, if it keeps to the task's devices, else the rule's.
  void OfferExpert() {
    const auto allowed = [&](DeviceIndex d) {
      return std::binary_search(task_.devices.begin(), task_.devices.end(), d);
    };
    if (!task_.expert.empty() && std::all_of(task_.expert.begin(), task_.expert.end(), allowed)) {
      Offer({task_.expert, {}}, "the scenario's expert");
    } else {
      Offer(Expand(task_, ExpertByRule(task_)), "expert");
    }
  }

 private:
  void Offer(const sim::Placement& placement, const std::string& name) {
    const sim::Outcome& outcome = simulator_->Run(placement);
    if (outcome.feasible() < fits_) return;
    if (outcome.feasible() == fits_ && outcome.runtime >= runtime_) return;
    fits_ = outcome.feasible();
    runtime_ = outcome.runtime;
    name_ = name;
  }

  const Task& task_;
  std::unique_ptr<sim::Simulator> simulator_;
  bool fits_ = false;
  sim::Picos runtime_ = std::numeric_limits<sim::Picos>::max();
  std::string name_;
};

void SetReference(Task& task) {
  Trivial fastest(task);
  fastest.OfferSingle(Accelerators(task));
  if (!fastest.fits()) fastest.OfferExpert();
  if (!fastest.fits()) fastest.OfferSingle(task.devices);
  task.reference_runtime = fastest.runtime();
  task.reference = fastest.name();
}

}  // namespace

Task MakeTask(const sim::Problem& problem, const std::string& grouper,
              const std::vector<std::string>& devices, const sim::Placement* expert) {
  Task task;
  task.problem = &problem;
  task.devices = ChooseDevices(problem, devices);
  task.units = MakeUnits(grouper, problem);
  task.edges = CollectEdges(problem.graph(), task.units.unit_of_op);
  SumFeatures(task);
  if (expert != nullptr) {
    sim::CheckPlacement(problem.graph(), problem.cluster(), *expert);
    task.expert = expert->device;
  }
  SetReference(task);
  return task;
}

}  // namespace stowplan::agents
