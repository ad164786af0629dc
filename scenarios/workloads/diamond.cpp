// diamond: a source, `width` parallel paths of `depth` ops, and a sink; what parallel devices can gain is
// known by hand.
//
//   width=4   depth=1   us=100   bytes=1000000   cost=us|flops (chain.cpp)
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/specimen.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {

sim::OpGraph BuildDiamond(const Settings& read) {
  const auto width = static_cast<int>(read.Int("width"));
  const auto depth = static_cast<int>(read.Int("depth"));
  const double us = read.Double("us");
  const sim::Bytes bytes = read.Int("bytes");
  const SpecimenCost cost = ReadSpecimenCost(read);
  if (std::int64_t{width} * depth > 1'000'000)
    throw InputError("diamond: width x depth is over 1,000,000 ops");

  sim::OpGraph graph;
  graph.name = read.name();
  graph.attributes = Describe(read, depth + 2, "branch");
  const auto append = [&](const std::string& name, const std::vector<Tensor>& inputs, int stage, int branch) {
    sim::Op op = SpecimenOp(name, cost, us, bytes);
    op.inputs = inputs;
    op.attributes = LocationAttributes({.stage = stage, .branch = branch});
    graph.ops.push_back(std::move(op));
    return Tensor{static_cast<sim::OpIndex>(graph.ops.size()) - 1, 0};
  };
  const Tensor source = append("source", {}, 0, 0);
  std::vector<Tensor> ends;
  for (int branch = 0; branch < width; ++branch) {
    Tensor last = source;
    for (int i = 0; i < depth; ++i) {
      last = append("path" + std::to_string(branch) + "_" + std::to_string(i), {last}, i + 1, branch);
    }
    ends.push_back(last);
  }
  append("sink", ends, depth + 1, 0);
  graph.Finish();
  return graph;
}

}  // namespace stowplan::scenarios
