// What a collective takes where nobody has measured: rings and chains over the routes of the cluster (docs/model.md section 11,
// "Prices").
#pragma once

#include "sim/cluster.h"
#include "sim/collective_prices.h"

namespace stowplan::sim {

class RingPrices final : public CollectivePrices {
 public:
  // It must outlive this, and be Finish()ed.
  explicit RingPrices(const Cluster& cluster) : cluster_(cluster) {}

  Picos TimeOf(const CollectiveShape& collective) const override;

 private:
  const Cluster& cluster_;
};

}  // namespace stowplan::sim
