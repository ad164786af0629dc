#include "problem/layouts/layer_costs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agents/timing.h"
#include "cost_models/collectives/collectives.h"
#include "cost_models/ops/host_costs.h"
#include "scenarios/parallel/model_layers.h"
#include "sim/analysis/layers.h"
#include "sim/collectives.h"

namespace stowplan::problem {
namespace {

using sim::Bytes;
using sim::OpIndex;

class LayerPricing {
 public:
  LayerPricing(sim::OpGraph graph, const Mesh& mesh, const sim::CostModel& model, const std::string& host)
      : graph_(std::move(graph)), cluster_(FirstOf(mesh)), mesh_(mesh) {
    cost_models::ChargeHost(cluster_, graph_, host);
    layers_ = scenarios::FindLayers(graph_);
    costs_.layers.resize(static_cast<std::size_t>(layers_.count));
    prices_ = sim::PriceOps(graph_, cluster_, model);
  }

  RankCosts Run() {
    for (OpIndex op = 0; op < graph_.size(); ++op) Add(op);
    return std::move(costs_);
  }

 private:
  // One accelerator prices for all.
  static sim::Cluster FirstOf(const Mesh& mesh) {
    const sim::Cluster& cluster = mesh.cluster();
    sim::Cluster one;
    one.name = cluster.name;
    one.rules = cluster.rules;
    one.devices = {cluster.devices[static_cast<std::size_t>(mesh[0])]};
    one.interconnect = cluster.interconnect;
    one.dispatch = cluster.dispatch;
    one.Finish();
    return one;
  }

  const sim::Op& Op(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  LayerCosts& LayerOf(OpIndex op) {
    return costs_.layers[static_cast<std::size_t>(layers_.layer[static_cast<std::size_t>(op)])];
  }
  const sim::Output& OutputOf(sim::TensorRef tensor) const {
    return Op(tensor.op).outputs[static_cast<std::size_t>(tensor.output)];
  }

  void Add(OpIndex index) {
    const sim::Op& op = Op(index);
    LayerCosts& layer = LayerOf(index);
    if (op.IsVariable()) {
      const Bytes own = op.outputs.empty() ? 0 : op.outputs.front().bytes;
      layer.memory.weights += own;
      layer.memory.optimizer += std::max<Bytes>(0, op.persistent_bytes - own);
    }
    if (const auto type = sim::CollectiveTypeOf(op.type)) {
      const Bytes bytes = std::max(OutputOf(op.inputs.front()).bytes, op.outputs.front().bytes);
      const auto ranks =
          static_cast<std::int64_t>(sim::FindNumber(op.attributes, sim::kRanksAttribute).value_or(1));
      layer.exchange += mesh_.TimeOf(*type, bytes, 0, 1, ranks);
    } else if (!op.IsSource()) {
      sim::Picos& time = op.phase == "update"     ? layer.update
                         : op.phase == "backward" ? layer.backward
                                                  : layer.forward;
      time += std::max(prices_.at(index, 0), agents::DispatchCost(cluster_, op, 0));
    }
    AddTensors(index);
  }

  void AddTensors(OpIndex index) {
    const sim::Op& op = Op(index);
    Bytes working = op.workspace_bytes;
    for (const sim::Output& output : op.outputs)
      if (output.storage == sim::Output::Storage::kOwn) working += output.bytes;
    for (sim::TensorRef tensor : op.inputs) {
      while (OutputOf(tensor).storage == sim::Output::Storage::kInput) tensor = OutputOf(tensor).alias;
      const sim::Op& producer = Op(tensor.op);
      if (producer.IsSource()) continue;
      const Bytes bytes = OutputOf(tensor).bytes;
      working += bytes;
      const bool forward = sim::IsForward(producer);
      if (op.phase == "backward" && forward && kept_.insert(tensor).second)
        LayerOf(tensor.op).memory.activations += bytes;
      if (op.phase == "update" && producer.phase == "backward" && kept_.insert(tensor).second)
        LayerOf(index).memory.gradients += bytes;
      const auto from = layers_.layer[static_cast<std::size_t>(tensor.op)],
                 to = layers_.layer[static_cast<std::size_t>(index)];
      if (forward && sim::IsForward(op) && to == from + 1) costs_.boundary = std::max(costs_.boundary, bytes);
    }
    if (op.phase != "update" && !op.IsSource()) costs_.working = std::max(costs_.working, working);
  }

  sim::OpGraph graph_;
  sim::Cluster cluster_;
  const Mesh& mesh_;
  scenarios::ModelLayers layers_;
  sim::CostTable prices_;
  RankCosts costs_;
  std::set<sim::TensorRef> kept_;
};

}  // namespace

Mesh::Mesh(const sim::Cluster& cluster)
    : cluster_(cluster), prices_(cost_models::MakeCollectiveModel("", cluster)) {
  for (sim::DeviceIndex device = 0; device < cluster.size(); ++device)
    if (cluster.devices[static_cast<std::size_t>(device)].device_class != sim::DeviceClass::kCpu)
      devices_.push_back(device);
}

sim::Picos Mesh::TimeOf(sim::CollectiveType type, Bytes bytes, std::int64_t position, std::int64_t stride,
                        std::int64_t ranks) const {
  if (ranks < 2) return 0;
  std::vector<sim::DeviceIndex> group;
  for (std::int64_t rank = 0; rank < ranks; ++rank) group.push_back((*this)[position + rank * stride]);
  return prices_->TimeOf({type, bytes, group});
}

RankCosts PriceLayers(const scenarios::LaidOut& rank, const Mesh& mesh, const sim::CostModel& model,
                      const std::string& host) {
  return LayerPricing(rank.graph, mesh, model, host).Run();
}

}  // namespace stowplan::problem
