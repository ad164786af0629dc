// Reading a graph in checks.
#pragma once

#include "sim/op_graph.h"

namespace berth::scenarios {

class GraphView {
 public:
  explicit GraphView(const sim::OpGraph& graph) : graph_(graph) {}

  const sim::Op& At(sim::OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  const sim::Output& Out(sim::TensorRef tensor) const {
    return At(tensor.op).outputs[static_cast<std::size_t>(tensor.output)];
  }
  const std::vector<std::int64_t>& In(const sim::Op& op, std::size_t i) const {
    return Out(op.inputs.at(i)).shape;
  }

 private:
  const sim::OpGraph& graph_;
};

}  // namespace berth::scenarios
