#include "scenarios/sizes.h"

namespace stowplan::scenarios {

double ForwardMultiplyAdds(const sim::OpGraph& graph) {
  double flops = 0;
  for (const sim::Op& op : graph.ops) flops += op.phase == "forward" ? op.flops : 0;
  return flops / 2;
}

sim::Bytes SumOfForwardOutputs(const sim::OpGraph& graph) {
  sim::Bytes sum = 0;
  for (const sim::Op& op : graph.ops) {
    if (op.phase != "forward" || op.IsSource() || op.type == "Reshape") continue;
    for (const sim::Output& output : op.outputs) sum += output.bytes;
  }
  return sum;
}

}  // namespace stowplan::scenarios
