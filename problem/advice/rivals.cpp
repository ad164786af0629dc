#include "problem/advice/rivals.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "sim/analysis/modules.h"
#include "sim/simulator.h"

namespace stowplan::problem {
namespace {

using agents::Task;
using agents::UnitPlacement;
using sim::DeviceIndex;

// The coarsest modules, by the first op of each that computes: all weights may stand at the beginning, and some modules have none.
std::vector<std::int32_t> InOrderOfUse(const sim::OpGraph& graph, const sim::ModuleTree& tree) {
  std::vector<std::size_t> position(graph.ops.size(), SIZE_MAX);
  for (std::size_t at = 0; at < graph.ops.size(); ++at) {
    const auto op = static_cast<std::size_t>(graph.topological_order()[at]);
    if (!graph.ops[op].IsSource()) position[op] = at;
  }
  std::vector<std::pair<std::size_t, std::int32_t>> used;
  for (const std::int32_t module : sim::CoarsestModules(tree)) {
    std::size_t first = SIZE_MAX;
    sim::ForEachOp(tree, module,
                   [&](sim::OpIndex op) { first = std::min(first, position[static_cast<std::size_t>(op)]); });
    used.emplace_back(first, module);
  }
  std::ranges::stable_sort(used, {}, &std::pair<std::size_t, std::int32_t>::first);
  std::vector<std::int32_t> modules;
  for (const auto& [_, module] : used) modules.push_back(module);
  return modules;
}

class Modules {
 public:
  explicit Modules(const Task& task) : task_(task), module_of_op_(task.problem->graph().ops.size(), -1) {
    const sim::ModuleTree tree = sim::MakeModuleTree(task.problem->graph());
    for (const std::int32_t module : InOrderOfUse(task.problem->graph(), tree)) {
      sim::ForEachOp(tree, module,
                     [&](sim::OpIndex op) { module_of_op_[static_cast<std::size_t>(op)] = size_; });
      ++size_;
    }
  }

  std::int32_t size() const { return size_; }

  std::vector<double> Times(DeviceIndex on) const {
    std::vector<double> times(static_cast<std::size_t>(size_), 0);
    for (std::size_t op = 0; op < module_of_op_.size(); ++op) {
      if (module_of_op_[op] >= 0)
        times[static_cast<std::size_t>(module_of_op_[op])] +=
            static_cast<double>(task_.problem->costs().at(static_cast<sim::OpIndex>(op), on));
    }
    return times;
  }

  std::vector<double> Weights() const {
    std::vector<double> weights(static_cast<std::size_t>(size_), 0);
    for (std::size_t op = 0; op < module_of_op_.size(); ++op) {
      const sim::Op& what = task_.problem->graph().ops[op];
      if (module_of_op_[op] < 0 || !what.IsVariable()) continue;
      for (const sim::Output& output : what.outputs)
        weights[static_cast<std::size_t>(module_of_op_[op])] += static_cast<double>(output.bytes);
    }
    return weights;
  }

  // Ops of no module go where their data is, a unit where its first op goes.
  UnitPlacement Place(const std::vector<DeviceIndex>& device_of_module) const {
    std::vector<std::int32_t> device_of_op;
    for (const std::int32_t module : module_of_op_)
      device_of_op.push_back(module < 0 ? -1 : device_of_module[static_cast<std::size_t>(module)]);
    sim::FollowData(task_.problem->graph(), device_of_op);
    UnitPlacement placement;
    for (const std::vector<sim::OpIndex>& ops : task_.units.ops) {
      const DeviceIndex device = device_of_op[static_cast<std::size_t>(ops.front())];
      placement.push_back(device < 0 ? device_of_module.front() : device);
    }
    return placement;
  }

 private:
  const Task& task_;
  std::vector<std::int32_t> module_of_op_;  // -1 = none
  std::int32_t size_ = 0;
};

UnitPlacement AllOn(const Task& task, DeviceIndex device) {
  return UnitPlacement(task.units.ops.size(), device);
}

Rival OnOneDevice(const Task& task) {
  std::set<std::tuple<std::string, sim::Bytes>> seen;
  Rival best;
  for (const DeviceIndex device : agents::Accelerators(task)) {
    const sim::Device& what = task.device(device);
    if (!seen.emplace(what.kind, what.capacity()).second) continue;
    Rival one = Simulated(task, "all on " + what.name, AllOn(task, device));
    if (best.placement.empty() || std::pair(!one.fits, one.runtime) < std::pair(!best.fits, best.runtime))
      best = std::move(one);
  }
  return best;
}

UnitPlacement AcceleratesRule(const Task& task) {
  const Modules modules(task);
  const std::vector<double> weights = modules.Weights();
  const std::vector<DeviceIndex> gpus = agents::DevicesOf(task, sim::DeviceClass::kGpu);
  const std::vector<DeviceIndex> cpus = agents::DevicesOf(task, sim::DeviceClass::kCpu);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (gpus.empty() || total == 0) return {};
  const double largest = *std::max_element(weights.begin(), weights.end());
  const double share = total / static_cast<double>(gpus.size()) + 1.25 * largest;
  std::vector<double> room;
  for (const DeviceIndex gpu : gpus) {
    const auto capacity = static_cast<double>(task.device(gpu).capacity());
    const bool last = room.size() + 1 == gpus.size();
    room.push_back(gpus.size() == 1 ? 0.9 * capacity : last ? capacity : std::min(share, capacity));
  }
  room.front() -= largest;
  std::vector<DeviceIndex> devices;
  std::size_t at = 0;
  for (const double weight : weights) {
    while (at < gpus.size() && room[at] < weight) ++at;
    if (at == gpus.size() && cpus.empty()) return {};
    devices.push_back(at == gpus.size() ? cpus.front() : gpus[at]);
    if (at < gpus.size()) room[at] -= weight;
  }
  return modules.Place(devices);
}

}  // namespace

Rival Simulated(const Task& task, std::string name, UnitPlacement placement) {
  const auto simulator = sim::MakeSimulator(*task.problem);
  const sim::Outcome& outcome = simulator->Run(agents::Expand(task, placement));
  Rival rival{.name = std::move(name),
              .placement = std::move(placement),
              .runtime = outcome.runtime,
              .fits = outcome.feasible(),
              .peak = {},
              .plainness = {}};
  for (const sim::DeviceUse& use : outcome.devices) rival.peak.push_back(use.peak);
  rival.plainness = agents::PlainnessOf(task, rival.placement, rival.peak);
  return rival;
}

UnitPlacement EvenSplit(const Task& task, std::size_t accelerators) {
  const std::vector<DeviceIndex> gpus = agents::Accelerators(task);
  const Modules modules(task);
  if (static_cast<std::size_t>(modules.size()) < accelerators) {
    const bool staged = std::ranges::any_of(task.stage, [](std::int32_t stage) { return stage > 0; });
    return staged && accelerators == gpus.size() ? agents::PlaceByRule(task, "halves") : UnitPlacement{};
  }
  const std::vector<double> times = modules.Times(gpus.front());
  const double total = std::accumulate(times.begin(), times.end(), 0.0);
  std::vector<DeviceIndex> devices;
  double before = 0;
  for (const double time : times) {
    const double middle = total > 0 ? (before + time / 2) / total : 0;
    const auto part = static_cast<std::size_t>(middle * static_cast<double>(accelerators));
    devices.push_back(gpus[std::min(part, accelerators - 1)]);
    before += time;
  }
  return modules.Place(devices);
}

std::vector<Rival> SimplestRivals(const Task& task) {
  std::vector<Rival> rivals;
  const auto add = [&](const char* name, UnitPlacement placement) {
    if (placement.empty() || std::ranges::find(rivals, placement, &Rival::placement) != rivals.end()) return;
    rivals.push_back(Simulated(task, name, std::move(placement)));
  };
  rivals.push_back(OnOneDevice(task));
  const std::size_t accelerators = agents::Accelerators(task).size();
  if (accelerators > 1) add("even split by layers", EvenSplit(task, accelerators));
  add("accelerate's auto", AcceleratesRule(task));
  return rivals;
}

}  // namespace stowplan::problem
