// The oracle: a second, slow and simple simulator of the rules `native`, written from docs/model.md and from
// nothing else. Sets and maps stand where the engine has compact arrays, and everything is looked up anew at
// each instant, so that its agreement with the engine means something. Section numbers in oracle.cpp are
// those of docs/model.md.
#pragma once

#include "sim/cluster.h"
#include "sim/collective_prices.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"
#include "sim/placement.h"

namespace stowplan::sim {

// Everything is recorded: ops, transfers in queue order, memory points. The placement must satisfy
// CheckPlacement(). `prices`: of collectives; none = rings. Throws InputError for a deadlock of collectives.
Outcome OracleRun(const OpGraph& graph, const Cluster& cluster, const CostTable& costs,
                  const Placement& placement, const CollectivePrices* prices = nullptr);

}  // namespace stowplan::sim
