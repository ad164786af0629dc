#include "tests/scenarios/graph_checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tests/scenarios/graph_view.h"

namespace stowplan::scenarios {

using sim::OpIndex;
using sim::TensorRef;

std::string FaultInPlace(const sim::OpGraph& graph) {
  const GraphView check(graph);
  const auto root_of = [&](TensorRef tensor) {
    while (check.Out(tensor).storage == sim::Output::Storage::kInput) tensor = check.Out(tensor).alias;
    return tensor;
  };
  // Readers of each storage, with the tensor they read it through.
  std::map<TensorRef, std::set<std::pair<OpIndex, TensorRef>>> readers;
  for (OpIndex i = 0; i < graph.size(); ++i) {
    for (const TensorRef input : check.At(i).inputs) readers[root_of(input)].insert({i, input});
  }
  for (OpIndex i = 0; i < graph.size(); ++i) {
    const sim::Op& op = check.At(i);
    // Meant to share, or to write into what is kept.
    const bool meant = op.type == "Reshape" || op.type == "Identity" || op.type == "CacheWrite";
    if (op.outputs.empty() || op.outputs[0].storage != sim::Output::Storage::kInput || meant) continue;
    const TensorRef root = root_of({i, 0});
    if (check.At(root.op).IsSource())
      return "'" + op.name + "' overwrites what '" + check.At(root.op).name + "' holds";
    // What still sees the old content: readers through tensors that the op's output does not come before.
    std::set<TensorRef> after = {{i, 0}};
    for (OpIndex j = i + 1; j < graph.size(); ++j) {
      const sim::Op& later = check.At(j);
      for (std::size_t o = 0; o < later.outputs.size(); ++o) {
        const sim::Output& output = later.outputs[o];
        if (output.storage == sim::Output::Storage::kInput && after.contains(output.alias)) {
          after.insert({j, static_cast<std::int32_t>(o)});
        }
      }
    }
    std::set<OpIndex>
        before;  // ops that made what is overwritten: they wrote it, and read nothing of it later
    for (TensorRef t = op.outputs[0].alias;; t = check.Out(t).alias) {
      before.insert(t.op);
      if (check.Out(t).storage != sim::Output::Storage::kInput) break;
    }
    for (const auto& [reader, through] : readers[root]) {
      if (reader != i && !before.contains(reader) && !after.contains(through)) {
        return "'" + op.name + "' overwrites what '" + check.At(reader).name + "' reads";
      }
    }
  }
  return "";
}

std::string FaultInTraining(const sim::OpGraph& graph) {
  const GraphView check(graph);
  std::map<OpIndex, OpIndex> update_of;
  for (OpIndex i = 0; i < graph.size(); ++i) {
    const sim::Op& op = check.At(i);
    for (const TensorRef input : op.inputs) {
      if (input.op >= i) return "'" + op.name + "' reads what is computed later in the file";
    }
    if (op.phase != "update") continue;
    const OpIndex variable = op.inputs.at(0).op;
    if (!update_of.emplace(variable, i).second) return "'" + check.At(variable).name + "' is updated twice";
    if (op.colocate.empty() || op.colocate != check.At(variable).colocate)
      return "'" + op.name + "' may leave its variable";
    const auto& gradient = check.In(op, 1);
    const auto& shape = check.In(op, 0);
    const bool rows = check.At(op.inputs[1].op).type == "GatherGrad" && gradient.back() == shape.back();
    if (gradient != shape && !rows) return "'" + op.name + "' gets a gradient of another shape";
  }
  for (OpIndex i = 0; i < graph.size(); ++i) {
    if (check.At(i).type != "Variable") continue;
    const auto update = update_of.find(i);
    if (update == update_of.end()) return "'" + check.At(i).name + "' is never updated";
    // Upstream of the update: everything it needs, directly or not.
    const std::vector<OpIndex>& readers = graph.consumers(i);
    std::set<OpIndex> upstream;
    std::vector<OpIndex> stack = {update->second};
    while (!stack.empty()) {
      const OpIndex op = stack.back();
      stack.pop_back();
      if (!upstream.insert(op).second) continue;
      for (const TensorRef input : check.At(op).inputs) stack.push_back(input.op);
      for (const OpIndex control : check.At(op).control) stack.push_back(control);
    }
    for (const OpIndex reader : readers) {
      if (!upstream.contains(reader))
        return "'" + check.At(reader).name + "' may read a variable after its update";
    }
  }
  return "";
}

}  // namespace stowplan::scenarios
