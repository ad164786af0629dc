#include "scenarios/parallel/graph_edit.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stowplan::scenarios {

using sim::OpIndex;

namespace {

// Ops that the order lacks are dropped.
void Reorder(sim::OpGraph& graph, const std::vector<OpIndex>& order) {
  std::vector<OpIndex> now(graph.ops.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) now[At(order[i])] = static_cast<OpIndex>(i);
  std::vector<sim::Op> ops;
  ops.reserve(order.size());
  for (const OpIndex from : order) {
    sim::Op& op = ops.emplace_back(std::move(graph.ops[At(from)]));
    for (sim::TensorRef& input : op.inputs) input.op = now[At(input.op)];
    for (sim::Output& output : op.outputs)
      if (output.storage == sim::Output::Storage::kInput) output.alias.op = now[At(output.alias.op)];
    std::vector<OpIndex> control;
    for (const OpIndex other : op.control)
      if (now[At(other)] >= 0) control.push_back(now[At(other)]);
    op.control = std::move(control);
  }
  graph.ops = std::move(ops);
  graph.Finish();
}

}  // namespace

GraphEdit::GraphEdit(sim::OpGraph graph) : graph_(std::move(graph)) {
  for (OpIndex op = 0; op < graph_.size(); ++op) {
    places_.push_back({op, 0, 0});
    names_.insert(graph_.ops[At(op)].name);
  }
}

OpIndex GraphEdit::Add(OpIndex where, int side, sim::Op op) {
  const auto index = static_cast<OpIndex>(graph_.ops.size());
  Place place = places_[At(where)];
  if (place.side == 0) place.side = side;
  place.turn = index;
  while (!names_.insert(op.name).second) op.name += '\'';
  graph_.ops.push_back(std::move(op));
  places_.push_back(place);
  return index;
}

void GraphEdit::Replace(OpIndex reader, sim::TensorRef before, sim::TensorRef now) {
  sim::Op& op = graph_.ops[At(reader)];
  std::ranges::replace(op.inputs, before, now);
  for (sim::Output& output : op.outputs)
    if (output.storage == sim::Output::Storage::kInput && output.alias == before) output.alias = now;
}

sim::OpGraph GraphEdit::Take(const std::vector<bool>& dropped) {
  std::vector<OpIndex> order;
  for (OpIndex op = 0; op < static_cast<OpIndex>(graph_.ops.size()); ++op)
    if (At(op) >= dropped.size() || !dropped[At(op)]) order.push_back(op);
  std::ranges::sort(order, {}, [&](OpIndex op) { return places_[At(op)]; });
  Reorder(graph_, order);
  return std::move(graph_);
}

void InProgramOrder(sim::OpGraph& graph) {
  const std::vector<OpIndex> order = graph.topological_order();
  Reorder(graph, order);
}

sim::Op Beside(const sim::Op& of, const std::string& name, const std::string& type) {
  sim::Op op;
  op.name = name;
  op.type = type;
  op.group = of.group;
  op.phase = of.phase;
  op.colocate = of.colocate;
  for (const char* key : {"stage", "branch", "layer", "module", "micro_batch"})
    if (const sim::Attribute* found = sim::FindAttribute(of.attributes, key))
      op.attributes.emplace_back(key, *found);
  return op;
}

sim::Output ViewOf(sim::Output output, sim::TensorRef of) {
  output.storage = sim::Output::Storage::kInput;
  output.alias = of;
  return output;
}

}  // namespace stowplan::scenarios
