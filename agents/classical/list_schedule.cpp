#include "agents/classical/list_schedule.h"

#include <algorithm>
#include <utility>

#include "agents/timing.h"

namespace stowplan::agents {

using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

namespace {

std::vector<std::vector<Dependency>> CollectDependencies(const sim::OpGraph& graph) {
  std::vector<std::vector<Dependency>> result(graph.ops.size());
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    std::vector<sim::TensorRef> read = graph.ops[op].inputs;
    for (const OpIndex producer : graph.ops[op].control) read.push_back({producer, -1});
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const sim::TensorRef& tensor : read) {
      const auto& outputs = graph.ops[static_cast<std::size_t>(tensor.op)].outputs;
      const sim::Bytes bytes = tensor.output < 0 ? 0 : outputs[static_cast<std::size_t>(tensor.output)].bytes;
      result[op].push_back({tensor.op, tensor.output, bytes});
    }
  }
  return result;
}

}  // namespace

ListSchedule::ListSchedule(const Task& task, std::vector<DeviceIndex> devices)
    : task_(task),
      devices_(std::move(devices)),
      routes_(task.problem->cluster(), devices_),
      dependencies_(CollectDependencies(task.problem->graph())) {}

Picos ListSchedule::Length(OpIndex op, DeviceIndex d) const {
  const sim::Cluster& cluster = task_.problem->cluster();
  const Picos cost = task_.problem->costs().at(op, d);
  if (cluster.rules == sim::Rules::kPublished) return cost > 0 ? cost + kPublishedGap : 0;
  return std::max(cost, DispatchCost(cluster, task_.problem->graph().ops[static_cast<std::size_t>(op)], d));
}

Picos ListSchedule::MeanLength(OpIndex op) const {
  Picos sum = 0;
  for (const DeviceIndex d : devices_) sum += Length(op, d);
  return sum / static_cast<Picos>(devices_.size());
}

Picos ListSchedule::MeanTransfer(sim::Bytes bytes) {
  const auto devices = static_cast<Picos>(devices_.size());
  if (devices < 2) return 0;
  const auto [known, is_new] = mean_transfer_.try_emplace(bytes, 0);
  if (!is_new) return known->second;
  Picos sum = 0;
  for (const RouteKinds::Kind& kind : routes_.kinds())
    sum += kind.pairs * task_.TransferEstimate(bytes, kind.from, kind.to);
  return known->second = sum / (devices * (devices - 1));
}

void ListSchedule::Start(double share, double reserve) {
  share_ = share;
  unit_device_.assign(task_.units.ops.size(), -1);
  free_bytes_.clear();
  for (const sim::Device& device : task_.problem->cluster().devices)
    free_bytes_.push_back(static_cast<sim::Bytes>((1 - reserve) * static_cast<double>(device.capacity())));
}

sim::Bytes ListSchedule::Needed(UnitIndex unit) const {
  if (share_ < 0) return 0;
  const auto u = static_cast<std::size_t>(unit);
  return task_.persistent[u] + static_cast<sim::Bytes>(share_ * static_cast<double>(task_.output[u]));
}

sim::Bytes ListSchedule::NeededWithSources(OpIndex op) const {
  sim::Bytes needed = Needed(UnitOf(op));
  std::vector<UnitIndex> along;
  for (const Dependency& dependency : DependenciesOf(op)) {
    const UnitIndex unit = UnitOf(dependency.producer);
    if (DeviceOf(unit) >= 0 || unit == UnitOf(op)) continue;
    if (std::find(along.begin(), along.end(), unit) != along.end()) continue;
    along.push_back(unit);
    needed += Needed(unit);
  }
  return needed;
}

DeviceIndex ListSchedule::Roomiest() const {
  return *std::max_element(devices_.begin(), devices_.end(), [this](DeviceIndex a, DeviceIndex b) {
    return free_bytes_[static_cast<std::size_t>(a)] < free_bytes_[static_cast<std::size_t>(b)];
  });
}

void ListSchedule::Assign(UnitIndex unit, DeviceIndex d) {
  unit_device_[static_cast<std::size_t>(unit)] = d;
  free_bytes_[static_cast<std::size_t>(d)] -= Needed(unit);
}

std::vector<UnitIndex> ListSchedule::BringSources(OpIndex op) {
  std::vector<UnitIndex> brought;
  for (const Dependency& dependency : DependenciesOf(op)) {
    const UnitIndex unit = UnitOf(dependency.producer);
    if (DeviceOf(unit) >= 0) continue;
    Assign(unit, DeviceOf(UnitOf(op)));
    brought.push_back(unit);
  }
  return brought;
}

UnitPlacement ListSchedule::Finish() {
  for (UnitIndex unit = 0; unit < task_.units.size(); ++unit) {
    if (DeviceOf(unit) < 0) Assign(unit, Roomiest());
  }
  return unit_device_;
}

void PlaceWithinMemory(Evaluator& evaluator, bool limited,
                       const std::function<UnitPlacement(double caution)>& place) {
  for (const double caution :
       limited ? std::vector<double>{0, 0.25, 0.5, 0.75, 1} : std::vector<double>{-1}) {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    evaluator.CountProposal();
    if (evaluator.Evaluate(place(caution)).feasible) return;
  }
}

}  // namespace stowplan::agents
