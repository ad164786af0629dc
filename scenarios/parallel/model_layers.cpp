#include "scenarios/parallel/model_layers.h"

#include <algorithm>
#include <map>
#include <string>

#include "scenarios/parallel/graph_edit.h"
#include "sim/analysis/layers.h"
#include "sim/analysis/modules.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;

// By op, "" = in none.
std::vector<std::string> NumberedLayers(const sim::OpGraph& graph) {
  const sim::ModuleTree tree = sim::MakeModuleTree(graph);
  std::vector<std::string> names;
  for (OpIndex op = 0; op < graph.size(); ++op) {
    const auto home = static_cast<std::size_t>(tree.module_of_op[At(op)]);
    const auto layer = sim::LayerOf(tree.modules[home].path);
    names.push_back(layer ? layer->stack + std::to_string(layer->number) : "");
  }
  return names;
}

std::vector<std::string> ByAttribute(const sim::OpGraph& graph, const char* key) {
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops) {
    const auto number = sim::FindNumber(op.attributes, key);
    names.push_back(number ? std::to_string(static_cast<int>(*number)) : "");
  }
  return names;
}

class LayerSearch {
 public:
  explicit LayerSearch(const sim::OpGraph& graph) : graph_(graph) {}

  ModelLayers Find() {
    NumberLayers(ByAttribute(graph_, kLayer));
    if (found_.count == 0) NumberLayers(NumberedLayers(graph_));
    if (found_.count < 2) NumberLayers(ByAttribute(graph_, "stage"));
    if (found_.count == 0) found_.count = 1;
    for (const OpIndex op : graph_.topological_order())
      if (!found_.within[At(op)]) found_.layer[At(op)] = Followed(op);
    const std::vector<bool> prepares = FindPreparations();
    const auto& order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op)
      if (prepares[At(*op)] && !found_.within[At(*op)]) found_.layer[At(*op)] = FirstReader(*op);
    for (OpIndex op = 0; op < graph_.size(); ++op)
      if (IsUpdate(graph_.ops[At(op)])) found_.layer[At(op)] = OfVariable(op);
    return std::move(found_);
  }

 private:
  void NumberLayers(const std::vector<std::string>& names) {
    found_ = {0, std::vector<int>(names.size(), 0), std::vector<bool>(names.size(), false)};
    std::map<std::string, int> number;
    for (const OpIndex op : graph_.topological_order()) {
      const sim::Op& of = graph_.ops[At(op)];
      if (!sim::IsForward(of) || of.IsSource() || names[At(op)].empty()) continue;
      number.emplace(names[At(op)], static_cast<int>(number.size()));
    }
    found_.count = static_cast<int>(number.size());
    for (std::size_t op = 0; op < names.size(); ++op) {
      const auto known = number.find(names[op]);
      if (known == number.end()) continue;
      found_.layer[op] = known->second;
      found_.within[op] = true;
    }
  }

  // Behind what it reads of the forward pass, else before what it reads of the backward pass.
  int Followed(OpIndex op) const {
    int forward = -1, backward = found_.count;
    const sim::Op& of = graph_.ops[At(op)];
    for (const sim::TensorRef input : of.inputs) {
      const sim::Op& producer = graph_.ops[At(input.op)];
      if (producer.IsSource()) continue;
      if (sim::IsForward(producer))
        forward = std::max(forward, found_.layer[At(input.op)]);
      else
        backward = std::min(backward, found_.layer[At(input.op)]);
    }
    if (sim::IsForward(of) || backward == found_.count) return std::max(forward, 0);
    return forward >= 0 ? forward : backward;
  }

  // Sources, and what is in no layer and follows from them alone.
  std::vector<bool> FindPreparations() const {
    std::vector<bool> prepares(graph_.ops.size());
    for (const OpIndex op : graph_.topological_order()) {
      const sim::Op& of = graph_.ops[At(op)];
      prepares[At(op)] =
          of.IsSource() ||
          (sim::IsForward(of) && !found_.within[At(op)] &&
           std::ranges::all_of(of.inputs, [&](sim::TensorRef input) { return prepares[At(input.op)]; }));
    }
    return prepares;
  }

  int FirstReader(OpIndex op) const {
    int first = found_.count;
    for (const OpIndex reader : graph_.consumers(op))
      if (sim::IsForward(graph_.ops[At(reader)])) first = std::min(first, found_.layer[At(reader)]);
    return first == found_.count ? 0 : first;
  }

  int OfVariable(OpIndex op) const {
    for (const sim::TensorRef input : graph_.ops[At(op)].inputs)
      if (graph_.ops[At(input.op)].IsVariable()) return found_.layer[At(input.op)];
    return found_.layer[At(op)];
  }

  const sim::OpGraph& graph_;
  ModelLayers found_;
};

}  // namespace

ModelLayers FindLayers(const sim::OpGraph& graph) {
  return LayerSearch(graph).Find();
}

}  // namespace stowplan::scenarios
