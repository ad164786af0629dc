#include "tests/scenarios/graph_counts.h"

#include "scenarios/sizes.h"

namespace stowplan::scenarios {

Counts CountOps(const sim::OpGraph& graph) {
  Counts counts;
  for (const sim::Op& op : graph.ops) {
    counts.variables += op.type == "Variable" ? 1 : 0;
    if (op.IsSource()) continue;
    counts.forward += op.phase == "forward" ? 1 : 0;
    counts.backward += op.phase == "backward" ? 1 : 0;
    counts.updates += op.phase == "update" ? 1 : 0;
  }
  return counts;
}

double Gmac(const sim::OpGraph& graph) {
  return ForwardMultiplyAdds(graph) / 1e9;
}

}  // namespace stowplan::scenarios
