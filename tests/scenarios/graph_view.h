// Reading a graph in checks, and what a reader refuses.
#pragma once

#include <string>

#include "sim/base/error.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

inline const sim::Op& At(const sim::OpGraph& graph, sim::OpIndex op) {
  return graph.ops.at(static_cast<std::size_t>(op));
}
inline const sim::Op& At(const sim::OpGraph& graph, const std::string& name) {
  return At(graph, graph.Find(name));
}

// What the InputError of a call says.
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

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

}  // namespace stowplan::scenarios
