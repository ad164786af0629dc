// What the layers of a model cost a tensor rank, from the graph of one micro-batch: what estimates of layouts are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/explain/memory_parts.h"
#include "scenarios/parallel/lay_out.h"
#include "sim/cluster.h"
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

// Accelerators of a cluster in its order: position r is rank r's.
std::vector<sim::DeviceIndex> AcceleratorsOf(const sim::Cluster& cluster);

// Around a ring of `ranks` accelerators, the first at `position`, the next `stride` behind it: the slowest neighbours pass all parts.
// `bytes`: of the whole tensor; `passes`: around the ring, 2 of an AllReduce. A lone one: what else uses the links is not seen.
sim::Picos RingTime(const sim::Cluster& cluster, sim::Bytes bytes, int passes, std::int64_t position,
                    std::int64_t stride, std::int64_t ranks);

// `host`: how it issues (cost_models/ops/host_costs.h). Throws InputError where an op has no price.
RankCosts PriceLayers(const scenarios::LaidOut& rank, const sim::Cluster& cluster,
                      const sim::CostModel& model, const std::string& host);

}  // namespace stowplan::problem
