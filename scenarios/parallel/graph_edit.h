// Adding ops in the middle of a graph: where an op stands in the file is its place in the program.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "scenarios/builder/graph_builder.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

inline const sim::Output& OutputOf(const sim::OpGraph& graph, sim::TensorRef tensor) {
  return graph.ops[At(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
}

inline bool IsBackward(const sim::Op& op) {
  return op.phase == "backward";
}

// One thread at a time.
class GraphEdit {
 public:
  explicit GraphEdit(sim::OpGraph graph);

  // Old ops keep their index until Take(), new ones are behind them. References do not outlive the next Add.
  sim::Op& op(sim::OpIndex op) { return graph_.ops[At(op)]; }
  const sim::OpGraph& graph() const { return graph_; }
  sim::OpIndex AddBefore(sim::OpIndex where, sim::Op op) { return Add(where, -1, std::move(op)); }
  sim::OpIndex AddAfter(sim::OpIndex where, sim::Op op) { return Add(where, 1, std::move(op)); }

  // Reads `now` instead of `before`, whose aliases follow.
  void Replace(sim::OpIndex reader, sim::TensorRef before, sim::TensorRef now);

  // In the order of the program, Finish()ed. Ops that are dropped must have no reader.
  sim::OpGraph Take(const std::vector<bool>& dropped = {});

 private:
  struct Place {
    sim::OpIndex by;    // an op of the graph as given
    int side;           // of it
    sim::OpIndex turn;  // of those at one place
    auto operator<=>(const Place&) const = default;
  };

  sim::OpIndex Add(sim::OpIndex where, int side, sim::Op op);

  sim::OpGraph graph_;
  std::vector<Place> places_;
  std::unordered_set<std::string> names_;
};

// The ops in an order in which they could run, as builders write them.
void InProgramOrder(sim::OpGraph& graph);

// An op beside `of`, of its part of the model and its phase.
sim::Op Beside(const sim::Op& of, const std::string& name, const std::string& type);
sim::Output ViewOf(sim::Output output, sim::TensorRef of);

}  // namespace stowplan::scenarios
