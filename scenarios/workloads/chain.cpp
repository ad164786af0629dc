// chain: ops in a row. The shortest complete workload: copy this file to add one, and a row to registry.cpp.
//
//   ops=16   us=100: time of each alone   bytes=1000000: what flows between two   cost=us|flops
//
// cost=us prices the ops as measured; cost=flops makes them products of as many FLOPs as take `us` at 1
// TFLOP/s, for cost models to price.
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/specimen.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {

sim::OpGraph BuildChain(const Settings& read) {
  const std::int64_t ops = read.Int("ops");
  const double us = read.Double("us");
  const sim::Bytes bytes = read.Int("bytes");
  const SpecimenCost cost = ReadSpecimenCost(read);

  sim::OpGraph graph;
  graph.name = read.name();
  graph.attributes = Describe(read, ops, "stage");
  for (std::int64_t i = 0; i < ops; ++i) {
    sim::Op op = SpecimenOp("op" + std::to_string(i), cost, us, bytes);
    op.attributes = LocationAttributes({.stage = static_cast<int>(i)});
    if (i > 0) op.inputs = {{static_cast<sim::OpIndex>(i - 1), 0}};
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

}  // namespace stowplan::scenarios
