// How long a collective takes alone: the interface between the engine, which knows when one may start, and the models of
// its time: rings over the cluster's routes, or curves that were measured (cost_models/).
#pragma once

#include <cstdint>
#include <span>

#include "sim/base/units.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

enum class CollectiveType : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kReduce
};

struct CollectiveShape {
  CollectiveType type = CollectiveType::kAllReduce;
  // The whole buffer, as nccl-tests counts it: of what a rank gives and what it gets the larger one.
  Bytes bytes = 0;
  std::span<const DeviceIndex> devices;  // by rank; two ranks may share one
};

// Contract: pure, any thread; never negative; no time for ranks that all share one device.
class CollectivePrices {
 public:
  virtual ~CollectivePrices() = default;
  virtual Picos TimeOf(const CollectiveShape& collective) const = 0;
};

}  // namespace stowplan::sim
