#include "scenarios/parallel/sharded_weights.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/model_layers.h"
#include "scenarios/parallel/shards.h"
#include "sim/analysis/layers.h"

namespace stowplan::scenarios {
namespace {

using sim::Bytes;
using sim::OpIndex;
using sim::TensorRef;

class WeightSharder {
 public:
  WeightSharder(const sim::OpGraph& graph, const RankGroup& data, std::int64_t prefetch)
      : graph_(graph),
        data_(data),
        prefetch_(prefetch),
        layers_(FindLayers(graph)),
        edit_(graph),
        place_(graph.ops.size()) {
    for (std::size_t i = 0; i < graph.topological_order().size(); ++i)
      place_[At(graph.topological_order()[i])] = i;
    FindUnits();
  }

  sim::OpGraph Run() {
    for (auto& [key, unit] : units_) {
      for (const OpIndex weight : unit.weights) TakePart(weight);
      unit.flat = AddFlat(unit);
    }
    for (auto& [key, unit] : units_) {
      GatherFor(unit, false);
      if (!unit.backward.empty()) GatherFor(unit, true);
      ScatterGradients(unit);
    }
    return edit_.Take();
  }

 private:
  // The weights of a layer on a stage, and who works with them.
  struct Unit {
    std::string name;
    std::int64_t layer = -1;  // -1 = in none
    std::string stage;
    std::vector<OpIndex> weights{}, forward{}, backward{};
    OpIndex flat = -1;
    OpIndex gathered = -1;  // for its forward ops
  };
  using Key = std::pair<std::string, std::int64_t>;

  bool IsSharded(OpIndex op) const {
    return graph_.ops[At(op)].IsVariable() && !graph_.ops[At(op)].outputs.empty();
  }

  void FindUnits() {
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      const sim::Op& of = graph_.ops[At(op)];
      const std::int64_t layer = layers_.within[At(op)] ? layers_.layer[At(op)] : -1;
      if (IsSharded(op)) {
        Unit& unit = units_[{of.colocate, layer}];
        unit.weights.push_back(op);
        unit.layer = layer;
        unit.stage = of.colocate;
        unit.name = fmt::format("{}/{}", of.colocate, layer < 0 ? "rest" : fmt::format("layer{}", layer));
      } else if (!of.IsSource() && !IsUpdate(of)) {
        (IsBackward(of) ? backward_ : forward_)[{of.colocate, layer}].push_back(op);
      }
    }
    for (auto& [key, unit] : units_) {
      unit.forward = forward_[key];
      unit.backward = backward_[key];
    }
  }

  Bytes Part(Bytes bytes) const { return PartOf(bytes, data_.ranks); }

  void TakePart(OpIndex weight) {
    sim::Op& op = edit_.op(weight);
    op.persistent_bytes = Part(op.persistent_bytes);
    for (sim::Output& output : op.outputs) {
      output.bytes = Part(output.bytes);
      if (!output.shape.empty()) output.shape = {PartOf(Elements(output.shape), data_.ranks)};
    }
  }

  sim::Op Made(const Unit& unit, const std::string& name, const std::string& type, const char* phase) const {
    sim::Op op = Beside(graph_.ops[At(unit.weights.front())], unit.name + name, type);
    op.phase = phase;
    return op;
  }

  OpIndex AddFlat(const Unit& unit) {
    sim::Op flat = Made(unit, "/parts", "Reshape", "forward");
    sim::Output output;
    for (const OpIndex weight : unit.weights) {
      flat.inputs.push_back({weight, 0});
      output.bytes += OutputOf(edit_.graph(), {weight, 0}).bytes;
    }
    flat.outputs = {ViewOf(output, flat.inputs.front())};
    return edit_.AddAfter(unit.weights.back(), std::move(flat));
  }

  // What is done before the weights of `unit` are asked for: the ops of the unit so many turns before. Empty = nothing.
  OpIndex Before(const Unit& unit, bool backward) const {
    std::vector<std::pair<const Unit*, bool>> turns;
    for (const auto& [key, other] : units_)
      if (other.stage == unit.stage && other.layer >= 0 && !other.forward.empty())
        turns.emplace_back(&other, false);
    const std::size_t forwards = turns.size();
    for (std::size_t i = forwards; i-- > 0;)
      if (!turns[i].first->backward.empty()) turns.emplace_back(turns[i].first, true);
    const auto own = std::ranges::find(turns, std::pair<const Unit*, bool>(&unit, backward));
    const std::int64_t before = own - turns.begin() - 1 - prefetch_;
    if (own == turns.end() || before < 0) return -1;
    const auto& [other, is_backward] = turns[static_cast<std::size_t>(before)];
    return *std::ranges::max_element(is_backward ? other->backward : other->forward, {},
                                     [&](OpIndex op) { return place_[At(op)]; });
  }

  void GatherFor(Unit& unit, bool backward) {
    const bool keeps = unit.layer < 0;
    if (!backward || !keeps || unit.gathered < 0) {
      const std::vector<OpIndex>& readers = backward ? unit.backward : unit.forward;
      sim::Output whole;
      whole.bytes = OutputOf(edit_.graph(), {unit.flat, 0}).bytes * data_.ranks;
      sim::Op gather = CollectiveBeside(Made(unit, "", "", backward ? "backward" : "forward"),
                                        unit.name + (backward ? "/gather_again" : "/gather"), "AllGather",
                                        {unit.flat, 0}, whole, data_);
      if (const OpIndex before = Before(unit, backward); before >= 0) gather.control = {before};
      const OpIndex at = readers.empty() ? unit.weights.back() : *std::ranges::min_element(readers);
      unit.gathered = edit_.AddBefore(at, std::move(gather));
    }
    for (const OpIndex weight : unit.weights) Redirect(unit, weight, backward);
  }

  // Whoever works with a weight, in its layer or elsewhere, reads it of what was gathered.
  void Redirect(const Unit& unit, OpIndex weight, bool backward) {
    std::vector<OpIndex> readers;
    for (const OpIndex reader : graph_.consumers(weight)) {
      const sim::Op& op = graph_.ops[At(reader)];
      if (!IsUpdate(op) && (unit.backward.empty() || IsBackward(op) == backward)) readers.push_back(reader);
    }
    // A view that the forward pass took is the backward pass's too: of what is gathered again.
    if (!backward) {
      if (!readers.empty()) ReadWhole(unit, weight, readers, "/whole");
      return;
    }
    std::map<OpIndex, OpIndex> again;
    OpIndex whole = -1;
    if (!readers.empty()) whole = ReadWhole(unit, weight, readers, "/whole_again");
    for (const OpIndex view : graph_.consumers(weight)) {
      const sim::Op& op = graph_.ops[At(view)];
      if (IsUpdate(op) || IsBackward(op) || op.flops > 0 || op.outputs.empty() ||
          op.outputs.front().storage != sim::Output::Storage::kInput)
        continue;
      std::vector<OpIndex> later;
      for (const OpIndex reader : graph_.consumers(view))
        if (IsBackward(graph_.ops[At(reader)])) later.push_back(reader);
      if (later.empty()) continue;
      if (whole < 0) whole = ReadWhole(unit, weight, {}, "/whole_again");
      sim::Op copy = graph_.ops[At(view)];
      copy.name += "/again";
      copy.phase = "backward";
      copy.control.clear();
      std::ranges::replace(copy.inputs, TensorRef{weight, 0}, TensorRef{whole, 0});
      for (sim::Output& output : copy.outputs)
        if (output.storage == sim::Output::Storage::kInput && output.alias == TensorRef{weight, 0})
          output.alias = {whole, 0};
      const OpIndex made = edit_.AddAfter(unit.gathered, std::move(copy));
      for (const OpIndex reader : later) {
        for (std::size_t o = 0; o < graph_.ops[At(view)].outputs.size(); ++o)
          edit_.Replace(reader, {view, static_cast<std::int32_t>(o)}, {made, static_cast<std::int32_t>(o)});
      }
    }
  }

  OpIndex ReadWhole(const Unit& unit, OpIndex weight, const std::vector<OpIndex>& readers,
                    const char* suffix) {
    sim::Op view = Beside(graph_.ops[At(weight)], graph_.ops[At(weight)].name + suffix, "Reshape");
    view.phase = edit_.op(unit.gathered).phase;
    view.inputs = {{unit.gathered, 0}};
    view.outputs = {ViewOf(graph_.ops[At(weight)].outputs.front(), {unit.gathered, 0})};
    const OpIndex made = edit_.AddAfter(unit.gathered, std::move(view));
    for (const OpIndex reader : readers) edit_.Replace(reader, {weight, 0}, {made, 0});
    return made;
  }

  // Of the updates of the unit's weights.
  void ScatterGradients(const Unit& unit) {
    std::vector<std::pair<OpIndex, TensorRef>> gradients;  // by update
    OpIndex last = -1;
    for (const OpIndex weight : unit.weights) {
      for (const OpIndex update : graph_.consumers(weight)) {
        if (!IsUpdate(graph_.ops[At(update)])) continue;
        ShrinkRoot(update);
        for (const TensorRef input : graph_.ops[At(update)].inputs) {
          if (!IsBackward(graph_.ops[At(input.op)])) continue;
          gradients.emplace_back(update, input);
          if (last < 0 || place_[At(input.op)] > place_[At(last)]) last = input.op;
        }
      }
    }
    if (gradients.empty()) return;
    sim::Op flat = Made(unit, "/gradients", "ConcatV2", "backward");
    sim::Output output;
    for (const auto& [update, gradient] : gradients) {
      flat.inputs.push_back(gradient);
      output.bytes += Part(OutputOf(graph_, gradient).bytes) * data_.ranks;
    }
    flat.outputs = {output};
    const OpIndex copied = edit_.AddAfter(last, std::move(flat));
    output.bytes /= data_.ranks;
    const OpIndex sum =
        edit_.AddAfter(copied, CollectiveBeside(Made(unit, "", "", "backward"), unit.name + "/scatter",
                                                "ReduceScatter", {copied, 0}, output, data_));
    for (const auto& [update, gradient] : gradients) {
      sim::Op part =
          Beside(graph_.ops[At(gradient.op)], graph_.ops[At(update)].name + "/gradient", "Reshape");
      part.inputs = {{sum, 0}};
      sim::Output own;
      own.bytes = Part(OutputOf(graph_, gradient).bytes);
      own.dtype = OutputOf(graph_, gradient).dtype;
      own.shape = {PartOf(Elements(OutputOf(graph_, gradient).shape), data_.ranks)};
      part.outputs = {ViewOf(own, {sum, 0})};
      edit_.Replace(update, gradient, {edit_.AddAfter(sum, std::move(part)), 0});
    }
  }

  // What an update op works out of its weight alone, as torch's Adam takes all roots at once.
  void ShrinkRoot(OpIndex update) {
    for (sim::Output& output : edit_.op(update).outputs) {
      output.bytes = Part(output.bytes);
      output.shape = {PartOf(Elements(output.shape), data_.ranks)};
    }
  }

  const sim::OpGraph& graph_;
  const RankGroup data_;
  const std::int64_t prefetch_;
  const ModelLayers layers_;
  GraphEdit edit_;
  std::vector<std::size_t> place_;  // by op, in topological order
  std::map<Key, Unit> units_;
  std::map<Key, std::vector<OpIndex>> forward_, backward_;
};

}  // namespace

sim::OpGraph ShardWeights(const sim::OpGraph& graph, const RankGroup& data, std::int64_t prefetch) {
  return WeightSharder(graph, data, prefetch).Run();
}

}  // namespace stowplan::scenarios
