// What workloads say of their products' FLOPs is what the shapes tell (sim/analysis/product_flops.h): two derivations.
#include "sim/analysis/product_flops.h"

#include "scenarios/scenarios.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

TEST(ProductFlops, AreWhatWorkloadsSay) {
  std::set<std::string> counted;
  for (const WorkloadRow& row : Workloads()) {
    const sim::OpGraph graph = LoadGraph(row.name);
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      const sim::Op& one = graph.ops[static_cast<std::size_t>(op)];
      const auto flops = sim::ProductFlops(graph, op);
      if (!flops) continue;
      EXPECT_DOUBLE_EQ(*flops, one.flops) << row.name << ": " << one.name << " " << one.type;
      counted.insert(one.type);
    }
    // A product says it is one: nothing else has FLOPs, but for specimens, whose tensors have no shapes.
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      const sim::Op& one = graph.ops[static_cast<std::size_t>(op)];
      if (one.flops > 0 && !one.outputs.front().shape.empty()) {
        EXPECT_TRUE(sim::ProductFlops(graph, op).has_value())
            << row.name << ": " << one.name << " " << one.type;
      }
    }
  }
  for (const char* type :
       {"MatMul", "BatchMatMul", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter",
        "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"})
    EXPECT_TRUE(counted.contains(type)) << type;
}

}  // namespace
}  // namespace stowplan::scenarios
