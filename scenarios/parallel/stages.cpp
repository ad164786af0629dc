#include "scenarios/parallel/stages.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scenarios/builder/graph_builder.h"
#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/model_layers.h"
#include "sim/analysis/layers.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;
using sim::TensorRef;

class StageCutter {
 public:
  StageCutter(const sim::OpGraph& graph, std::int64_t stages, std::int64_t tensor)
      : graph_(graph), stages_(stages), tensor_(tensor), layers_(FindLayers(graph)), edit_(graph) {
    if (stages > layers_.count)
      throw InputError(
          fmt::format("pipeline={}: {} has {} layer{}, and a stage needs one at least; choose fewer stages",
                      stages, graph.name, layers_.count, layers_.count == 1 ? "" : "s"));
    for (const int layer : layers_.layer) stage_.push_back(layer * stages / layers_.count);
  }

  sim::OpGraph Run() {
    MoveSums();
    FindRepeatable();
    const auto& order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op)
      if (repeatable_[At(*op)]) GiveToReaders(*op);
    for (OpIndex op = 0; op < graph_.size(); ++op)
      if (graph_.ops[At(op)].IsVariable()) GiveWeight(op);
    for (std::size_t op = 0; op < stage_.size(); ++op) Mark(static_cast<OpIndex>(op));
    return edit_.Take(dropped_);
  }

 private:
  void Mark(OpIndex op) {
    const std::int64_t stage = stage_[At(op)];
    edit_.op(op).colocate = fmt::format("stage{}", stage);
    AddAttribute(edit_.op(op).attributes, kRank, stage * tensor_);
    if (At(op) < layers_.layer.size() && layers_.within[At(op)])
      AddAttribute(edit_.op(op).attributes, kLayer, std::int64_t{layers_.layer[At(op)]});
  }

  // Gradients are summed where they are made, and sent once.
  void MoveSums() {
    for (const OpIndex op : graph_.topological_order()) {
      const sim::Op& sum = graph_.ops[At(op)];
      if (!IsBackward(sum) || !IsSumOfTerms(op) || sum.inputs.empty()) continue;
      const std::int64_t stage = stage_[At(sum.inputs.front().op)];
      if (std::ranges::all_of(sum.inputs, [&](TensorRef input) { return stage_[At(input.op)] == stage; }))
        stage_[At(op)] = stage;
    }
  }

  // What no weight and no product leads to.
  void FindRepeatable() {
    repeatable_.resize(graph_.ops.size());
    for (const OpIndex op : graph_.topological_order()) {
      const sim::Op& of = graph_.ops[At(op)];
      repeatable_[At(op)] =
          sim::IsForward(of) && !of.IsVariable() && of.flops == 0 &&
          std::ranges::all_of(of.inputs, [&](TensorRef input) { return repeatable_[At(input.op)]; });
    }
  }

  std::map<std::int64_t, std::vector<OpIndex>> ReadersByStage(OpIndex op) const {
    std::map<std::int64_t, std::vector<OpIndex>> readers;
    for (OpIndex reader : graph_.consumers(op)) readers[stage_[At(reader)]].push_back(reader);
    if (const auto more = added_readers_.find(op); more != added_readers_.end())
      for (const OpIndex reader : more->second) readers[stage_[At(reader)]].push_back(reader);
    return readers;
  }

  OpIndex CopyFor(OpIndex op, std::int64_t stage) {
    sim::Op copy = edit_.op(op);
    copy.name += fmt::format("/stage{}", stage);
    copy.colocate.clear();
    for (const TensorRef input : copy.inputs)
      added_readers_[input.op].push_back(static_cast<OpIndex>(stage_.size()));
    const OpIndex made = edit_.AddAfter(op, std::move(copy));
    stage_.push_back(stage);
    return made;
  }

  // Readers are behind it in the order, so their stages are known.
  void GiveToReaders(OpIndex op) {
    const auto readers = ReadersByStage(op);
    if (readers.empty()) return;
    stage_[At(op)] = readers.begin()->first;
    for (const auto& [stage, ops] : readers)
      if (stage != stage_[At(op)]) Redirect(op, CopyFor(op, stage), ops);
  }

  void Redirect(OpIndex from, OpIndex to, const std::vector<OpIndex>& readers) {
    for (const OpIndex reader : readers) {
      for (std::size_t o = 0; o < edit_.op(from).outputs.size(); ++o)
        edit_.Replace(reader, {from, static_cast<std::int32_t>(o)}, {to, static_cast<std::int32_t>(o)});
      std::ranges::replace(edit_.op(reader).control, from, to);
    }
  }

  void GiveWeight(OpIndex weight) {
    auto readers = ReadersByStage(weight);
    std::vector<OpIndex> updates;
    for (auto& [stage, ops] : readers) {
      std::ranges::copy_if(ops, std::back_inserter(updates),
                           [&](OpIndex op) { return IsUpdate(graph_.ops[At(op)]); });
      std::erase_if(ops,
                    [&](OpIndex op) { return At(op) < graph_.ops.size() && IsUpdate(graph_.ops[At(op)]); });
    }
    std::erase_if(readers, [](const auto& of) { return of.second.empty(); });
    if (readers.empty()) return;
    stage_[At(weight)] = readers.begin()->first;
    for (const OpIndex update : updates) stage_[At(update)] = stage_[At(weight)];
    if (readers.size() < 2) return;
    std::vector<std::pair<std::int64_t, OpIndex>> copies;
    for (const auto& [stage, ops] : readers) {
      if (stage == stage_[At(weight)]) continue;
      copies.emplace_back(stage, CopyFor(weight, stage));
      Redirect(weight, copies.back().second, ops);
    }
    GiveUpdates(weight, updates, copies);
  }

  bool IsSumOfTerms(OpIndex op) const {
    const sim::Op& sum = graph_.ops[At(op)];
    return sum.type == "Add" || sum.type == "AddN";
  }

  // By stage, the terms of a gradient that is a sum, or a sum of sums.
  std::map<std::int64_t, std::vector<TensorRef>> TermsByStage(TensorRef gradient,
                                                              std::vector<OpIndex>& sums) const {
    std::map<std::int64_t, std::vector<TensorRef>> terms;
    const bool is_read_elsewhere = !sums.empty() && graph_.consumers(gradient.op).size() > 1;
    if (!IsSumOfTerms(gradient.op) || is_read_elsewhere) {
      terms[stage_[At(gradient.op)]].push_back(gradient);
      return terms;
    }
    sums.push_back(gradient.op);
    for (const TensorRef term : graph_.ops[At(gradient.op)].inputs)
      for (const auto& [stage, more] : TermsByStage(term, sums))
        terms[stage].insert(terms[stage].end(), more.begin(), more.end());
    return terms;
  }

  void GiveUpdates(OpIndex weight, const std::vector<OpIndex>& updates,
                   const std::vector<std::pair<std::int64_t, OpIndex>>& copies) {
    std::map<std::int64_t, std::map<OpIndex, OpIndex>> copy_of;  // by stage, of the update ops
    for (const auto& [stage, copied] : copies) copy_of[stage][weight] = copied;
    for (const OpIndex update : updates) {
      for (const auto& [stage, copied] : copies) {
        const OpIndex made = copy_of[stage][update] = CopyFor(update, stage);
        sim::Op& op = edit_.op(made);
        for (TensorRef& input : op.inputs)
          if (const auto found = copy_of[stage].find(input.op); found != copy_of[stage].end())
            input.op = found->second;
        std::erase_if(op.control, [&](OpIndex other) { return stage_[At(other)] != stage; });
      }
      std::erase_if(edit_.op(update).control,
                    [&](OpIndex other) { return stage_[At(other)] != stage_[At(weight)]; });
      GiveGradients(weight, update, copies, copy_of);
    }
  }

  void GiveGradients(OpIndex weight, OpIndex update,
                     const std::vector<std::pair<std::int64_t, OpIndex>>& copies,
                     const std::map<std::int64_t, std::map<OpIndex, OpIndex>>& copy_of) {
    const std::vector<TensorRef> inputs = graph_.ops[At(update)].inputs;
    for (const TensorRef gradient : inputs) {
      if (!IsBackward(graph_.ops[At(gradient.op)])) continue;
      std::vector<OpIndex> sums;
      const auto terms = TermsByStage(gradient, sums);
      if (terms.size() < copies.size() + 1) continue;
      GiveGradient(weight, update, gradient,
                   SumOf(gradient, terms.at(stage_[At(weight)]), stage_[At(weight)]));
      for (const auto& [stage, copied] : copies)
        GiveGradient(weight, copy_of.at(stage).at(update), gradient, SumOf(gradient, terms.at(stage), stage));
      dropped_.resize(graph_.ops.size());
      for (const OpIndex sum : sums) dropped_[At(sum)] = true;
    }
  }

  void GiveGradient(OpIndex weight, OpIndex update, TensorRef before, TensorRef now) {
    edit_.Replace(update, before, now);
    AddAttribute(edit_.op(update).attributes, kTied, graph_.ops[At(weight)].name);
  }

  // Rows of a table are scattered into it.
  TensorRef SumOf(TensorRef gradient, const std::vector<TensorRef>& terms, std::int64_t stage) {
    const sim::Output& whole = OutputOf(graph_, gradient);
    if (terms.size() == 1 && OutputOf(graph_, terms.front()).bytes == whole.bytes) return terms.front();
    const sim::Op& sum = graph_.ops[At(gradient.op)];
    sim::Op op =
        Beside(sum, sum.name + fmt::format("/stage{}", stage), terms.size() == 1 ? "ScatterND" : sum.type);
    op.framework_ops = sum.framework_ops;
    op.inputs = terms;
    op.outputs = {whole};
    op.outputs.front().storage = sim::Output::Storage::kOwn;
    const OpIndex made = edit_.AddAfter(gradient.op, std::move(op));
    stage_.push_back(stage);
    return {made, 0};
  }

  const sim::OpGraph& graph_;
  const std::int64_t stages_, tensor_;
  const ModelLayers layers_;
  GraphEdit edit_;
  std::vector<std::int64_t> stage_;  // by op, of the edit
  std::vector<bool> repeatable_;
  std::map<OpIndex, std::vector<OpIndex>> added_readers_;  // copies
  std::vector<bool> dropped_;
};

}  // namespace

sim::OpGraph CutStages(const sim::OpGraph& graph, std::int64_t stages, std::int64_t tensor) {
  return StageCutter(graph, stages, tensor).Run();
}

}  // namespace stowplan::scenarios
