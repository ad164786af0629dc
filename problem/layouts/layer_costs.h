// What the layers of a model cost a tensor rank, from the graph of one micro-batch: what estimates of layouts are made of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "problem/explain/memory_parts.h"
#include "scenarios/parallel/lay_out.h"
#include "sim/cluster.h"
#include "sim/collective_prices.h"
#include "sim/cost_model.h"

namespace stowplan::problem {

struct LayerCosts {
  sim::Picos forward = 0, backward = 0;  // of a micro-batch, computing and issuing
  sim::Picos update = 0;
  sim::Picos exchange = 0;  // with the other tensor ranks, of both passes
  MemoryParts memory{};     // activations: those of one micro-batch that its backward pass reads
};

struct RankCosts {
  std::vector<LayerCosts> layers;
  sim::Bytes boundary = 0;  // the most that a layer hands to the next
  sim::Bytes working = 0;   // the most that one op reads and writes
};

// The accelerators of a cluster in its order, position r is rank r's, and how long collectives among them take alone.
class Mesh {
 public:
  // It must outlive this.
  explicit Mesh(const sim::Cluster& cluster);

  const sim::Cluster& cluster() const { return cluster_; }
  std::int64_t size() const { return static_cast<std::int64_t>(devices_.size()); }
  sim::DeviceIndex operator[](std::int64_t position) const {
    return devices_[static_cast<std::size_t>(position)];
  }
  const std::vector<sim::DeviceIndex>& devices() const { return devices_; }
  // Of `ranks` accelerators, the first at `position`, the next `stride` behind it. `bytes`: of the whole tensor.
  sim::Picos TimeOf(sim::CollectiveType type, sim::Bytes bytes, std::int64_t position, std::int64_t stride,
                    std::int64_t ranks) const;

 private:
  const sim::Cluster& cluster_;
  std::vector<sim::DeviceIndex> devices_;
  std::unique_ptr<const sim::CollectivePrices> prices_;
};

// `host`: how it issues (cost_models/ops/host_costs.h). Throws InputError where an op has no price.
RankCosts PriceLayers(const scenarios::LaidOut& rank, const Mesh& mesh, const sim::CostModel& model,
                      const std::string& host);

}  // namespace stowplan::problem
