#include "scenarios/parallel/recompute.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "scenarios/parallel/dimensions.h"
#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/model_layers.h"
#include "sim/analysis/layers.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;
using sim::TensorRef;

class Recomputation {
 public:
  explicit Recomputation(const sim::OpGraph& graph)
      : graph_(graph), layers_(FindLayers(graph)), edit_(graph) {}

  sim::OpGraph Run(Recompute what) {
    for (int layer = 0; layer < layers_.count; ++layer) {
      std::vector<OpIndex> forward;
      for (const OpIndex op : graph_.topological_order())
        if (layers_.within[At(op)] && layers_.layer[At(op)] == layer && IsWork(op)) forward.push_back(op);
      Repeat(layer, what == Recompute::kFull ? forward : Attention(forward));
    }
    return edit_.Take();
  }

 private:
  bool IsWork(OpIndex op) const {
    return sim::IsForward(graph_.ops[At(op)]) && !graph_.ops[At(op)].IsSource();
  }

  bool IsWeight(TensorRef tensor) const {
    const sim::Op& op = graph_.ops[At(tensor.op)];
    return op.IsVariable() || (op.flops == 0 && op.inputs.size() == 1 && IsWeight(op.inputs.front()));
  }

  // A product of two things that are worked out.
  bool IsAttention(OpIndex op) const {
    if (graph_.ops[At(op)].type == "Attention") return true;
    const auto product = ContractionOf(graph_, op);
    return product && !IsWeight(graph_.ops[At(op)].inputs[product->a]) &&
           !IsWeight(graph_.ops[At(op)].inputs[product->b]);
  }

  // What is on a way from the first such product to the last. `forward` in topological order.
  std::vector<OpIndex> Attention(const std::vector<OpIndex>& forward) const {
    std::vector<bool> behind(graph_.ops.size()), before(graph_.ops.size());
    for (const OpIndex op : forward) {
      behind[At(op)] = IsAttention(op);
      for (const TensorRef input : graph_.ops[At(op)].inputs)
        if (behind[At(input.op)]) behind[At(op)] = true;
    }
    for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
      if (IsAttention(*op)) before[At(*op)] = true;
      for (const TensorRef input : graph_.ops[At(*op)].inputs)
        if (before[At(*op)]) before[At(input.op)] = true;
    }
    std::vector<OpIndex> both;
    for (const OpIndex op : forward)
      if (behind[At(op)] && before[At(op)]) both.push_back(op);
    return both;
  }

  void Repeat(int layer, const std::vector<OpIndex>& ops) {
    std::vector<bool> repeated(graph_.ops.size());
    for (const OpIndex op : ops) repeated[At(op)] = true;
    std::vector<OpIndex> readers;
    for (const OpIndex op : graph_.topological_order()) {
      if (!IsBackward(graph_.ops[At(op)]) || layers_.layer[At(op)] != layer || !layers_.within[At(op)])
        continue;
      if (std::ranges::any_of(graph_.ops[At(op)].inputs,
                              [&](TensorRef input) { return repeated[At(input.op)]; }))
        readers.push_back(op);
    }
    if (readers.empty()) return;
    const OpIndex first = *std::ranges::min_element(readers);
    const std::vector<OpIndex> arrivals = Arrivals(readers);
    std::map<OpIndex, OpIndex> copies;
    for (const OpIndex op : ops) copies[op] = edit_.AddBefore(first, Copy(op, copies, arrivals));
    for (const OpIndex reader : readers)
      for (const TensorRef input : graph_.ops[At(reader)].inputs)
        if (repeated[At(input.op)]) edit_.Replace(reader, input, {copies.at(input.op), input.output});
  }

  // The gradients with which the backward pass comes to the readers: they do not follow from what is repeated.
  std::vector<OpIndex> Arrivals(const std::vector<OpIndex>& readers) const {
    std::vector<bool> follows(graph_.ops.size());
    for (const OpIndex op : readers) follows[At(op)] = true;
    for (const OpIndex op : graph_.topological_order())
      for (const TensorRef input : graph_.ops[At(op)].inputs)
        if (follows[At(input.op)]) follows[At(op)] = true;
    std::vector<OpIndex> arrivals;
    for (const OpIndex reader : readers) {
      for (const TensorRef input : graph_.ops[At(reader)].inputs)
        if (IsBackward(graph_.ops[At(input.op)]) && !follows[At(input.op)]) arrivals.push_back(input.op);
      if (!arrivals.empty()) break;
    }
    return arrivals;
  }

  sim::Op Copy(OpIndex op, const std::map<OpIndex, OpIndex>& copies,
               const std::vector<OpIndex>& arrivals) const {
    sim::Op copy = graph_.ops[At(op)];
    copy.name = "recompute/" + copy.name;
    copy.phase = "backward";
    const auto now = [&](TensorRef& tensor) {
      if (const auto found = copies.find(tensor.op); found != copies.end()) tensor.op = found->second;
    };
    for (TensorRef& input : copy.inputs) now(input);
    for (sim::Output& output : copy.outputs)
      if (output.storage == sim::Output::Storage::kInput) now(output.alias);
    std::vector<OpIndex> control = arrivals;
    for (const OpIndex other : copy.control)
      if (const auto found = copies.find(other); found != copies.end()) control.push_back(found->second);
    copy.control = std::move(control);
    return copy;
  }

  const sim::OpGraph& graph_;
  const ModelLayers layers_;
  GraphEdit edit_;
};

}  // namespace

sim::OpGraph RecomputeLayers(const sim::OpGraph& graph, Recompute what) {
  return Recomputation(graph).Run(what);
}

}  // namespace stowplan::scenarios
