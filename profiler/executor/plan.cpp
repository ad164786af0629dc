#include "profiler/executor/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace stowplan::profiler {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;
using sim::TensorRef;

class Planner {
 public:
  Planner(const sim::OpGraph& graph, const sim::Cluster& cluster, const sim::Placement& placement)
      : graph_(graph), placement_(placement) {
    plan_.ops.resize(graph.ops.size());
    plan_.sources.resize(cluster.devices.size());
    plan_.ops_of.resize(cluster.devices.size());
    plan_.transfers_to.resize(cluster.devices.size());
  }

  Plan Make() {
    for (const OpIndex op : graph_.topological_order()) {
      Receive(op);
      Store(op);
    }
    for (OpIndex op = 0; op < graph_.size(); ++op) Count(op);
    for (PlannedOp& op : plan_.ops) {
      std::sort(op.transfers.begin(), op.transfers.end(), [this](std::int32_t a, std::int32_t b) {
        const auto& x = plan_.transfers[static_cast<std::size_t>(a)];
        const auto& y = plan_.transfers[static_cast<std::size_t>(b)];
        return std::pair(x.tensor.output, x.to) < std::pair(y.tensor.output, y.to);
      });
    }
    return std::move(plan_);
  }

 private:
  using Place = std::pair<TensorRef, DeviceIndex>;

  const sim::Op& op_at(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  PlannedOp& planned(OpIndex op) { return plan_.ops[static_cast<std::size_t>(op)]; }
  DeviceIndex device_of(OpIndex op) const { return placement_.device[static_cast<std::size_t>(op)]; }
  Storage& storage(std::int32_t number) { return plan_.storages[static_cast<std::size_t>(number)]; }

  std::int32_t AddStorage(const Storage& made) {
    plan_.storages.push_back(made);
    return static_cast<std::int32_t>(plan_.storages.size()) - 1;
  }

  // What an op reads or waits for, each once.
  std::vector<TensorRef> Dependencies(OpIndex op) const {
    std::set<TensorRef> found(op_at(op).inputs.begin(), op_at(op).inputs.end());
    for (const OpIndex producer : op_at(op).control) found.insert({producer, -1});
    return {found.begin(), found.end()};
  }

  // The transfers to an op's device that it waits for, each made when first wanted.
  void Receive(OpIndex op) {
    const DeviceIndex here = device_of(op);
    planned(op).device = here;
    if (op_at(op).IsSource()) return;
    for (const TensorRef tensor : Dependencies(op)) {
      const DeviceIndex there = device_of(tensor.op);
      if (there == here) continue;
      const auto [found, fresh] =
          transfer_of_.try_emplace(Place(tensor, here), static_cast<std::int32_t>(plan_.transfers.size()));
      if (fresh) AddTransfer(tensor, there, here);
      plan_.transfers[static_cast<std::size_t>(found->second)].consumers.push_back(op);
    }
  }

  void AddTransfer(TensorRef tensor, DeviceIndex from, DeviceIndex to) {
    PlannedTransfer made{.tensor = tensor, .from = from, .to = to};
    if (tensor.output >= 0) {
      made.bytes = op_at(tensor.op).outputs[static_cast<std::size_t>(tensor.output)].bytes;
      made.source = storage_of_.at(Place(tensor, from));
      made.copy = AddStorage({.kind = Storage::Kind::kCopy,
                              .device = to,
                              .bytes = made.bytes,
                              .op = tensor.op,
                              .output = tensor.output,
                              .holders = 1});
      storage_of_[Place(tensor, to)] = made.copy;
      if (made.bytes > 0) ++storage(made.source).holders;
    }
    planned(tensor.op).transfers.push_back(static_cast<std::int32_t>(plan_.transfers.size()));
    plan_.transfers.push_back(std::move(made));
    ++plan_.transfers_to[static_cast<std::size_t>(to)];
  }

  // Where an op's inputs and outputs are.
  void Store(OpIndex index) {
    const sim::Op& op = op_at(index);
    PlannedOp& made = planned(index);
    if (!op.IsSource()) {
      for (const TensorRef input : op.inputs)
        made.inputs.push_back(storage_of_.at(Place(input, made.device)));
    }
    std::int32_t persistent = -1;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const sim::Output& output = op.outputs[i];
      const TensorRef tensor{index, static_cast<std::int32_t>(i)};
      std::int32_t number = -1;
      if (output.storage == sim::Output::Storage::kInput) {
        number = storage_of_.at(Place(output.alias, made.device));
      } else if (output.storage == sim::Output::Storage::kPersistent) {
        if (persistent < 0) {
          persistent = AddStorage({.kind = Storage::Kind::kPersistent,
                                   .device = made.device,
                                   .bytes = std::max(output.bytes, op.persistent_bytes),
                                   .op = index});
        }
        number = persistent;
      } else {
        number = AddStorage({.kind = op.IsSource() ? Storage::Kind::kSource : Storage::Kind::kOutput,
                             .device = made.device,
                             .bytes = output.bytes,
                             .op = index,
                             .output = tensor.output,
                             .holders = 1});
        made.allocates.push_back(number);
        made.releases.push_back(number);
      }
      storage_of_[Place(tensor, made.device)] = number;
      made.outputs.push_back(number);
    }
  }

  // Who waits for whom, and who holds what.
  void Count(OpIndex index) {
    PlannedOp& op = planned(index);
    const auto device = static_cast<std::size_t>(op.device);
    if (op_at(index).IsSource()) {
      plan_.sources[device].push_back(index);
      return;
    }
    ++plan_.ops_of[device];
    std::set<OpIndex> local;
    for (const TensorRef tensor : Dependencies(index)) {
      if (device_of(tensor.op) != op.device) {
        ++op.waits_for;
      } else {
        local.insert(tensor.op);
      }
      if (tensor.output < 0) continue;
      const std::int32_t number = storage_of_.at(Place(tensor, op.device));
      ++storage(number).holders;
      op.releases.push_back(number);
    }
    for (const OpIndex producer : local) {
      if (op_at(producer).IsSource()) continue;
      ++op.waits_for;
      planned(producer).consumers.push_back(index);
    }
  }

  const sim::OpGraph& graph_;
  const sim::Placement& placement_;
  Plan plan_;
  std::map<Place, std::int32_t> storage_of_;
  std::map<Place, std::int32_t> transfer_of_;
};

}  // namespace

Plan MakePlan(const sim::OpGraph& graph, const sim::Cluster& cluster, const sim::Placement& placement) {
  return Planner(graph, cluster, placement).Make();
}

}  // namespace stowplan::profiler
