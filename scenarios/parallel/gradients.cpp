#include "scenarios/parallel/gradients.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/shards.h"
#include "scenarios/parallel/stages.h"
#include "scenarios/parallel/tensor.h"

namespace stowplan::scenarios {
namespace {

using sim::Bytes;
using sim::OpIndex;
using sim::TensorRef;

constexpr Bytes kFirstBucket = Bytes{1} << 20;

class Exchanger {
 public:
  Exchanger(const sim::OpGraph& graph, const GradientExchange& exchange)
      : graph_(graph), exchange_(exchange), edit_(graph), place_(graph.ops.size()) {
    for (std::size_t i = 0; i < graph.topological_order().size(); ++i)
      place_[At(graph.topological_order()[i])] = i;
    for (OpIndex op = 0; op < graph.size(); ++op) FindGradient(op);
    std::ranges::sort(gradients_, {},
                      [&](const Gradient& one) { return std::pair(place_[At(one.tensor.op)], one.update); });
  }

  sim::OpGraph Run() {
    if (exchange_.tensor.ranks > 1) SumTerms();
    SumTied();
    if (exchange_.data.ranks > 1) SumData();
    for (const Gradient& gradient : gradients_)
      std::erase_if(edit_.op(gradient.update).attributes,
                    [](const auto& one) { return one.first == kIsTerm || one.first == kTied; });
    return edit_.Take();
  }

 private:
  struct Gradient {
    OpIndex update;
    OpIndex weight;
    TensorRef tensor;
    std::string stage;
  };

  void FindGradient(OpIndex index) {
    const sim::Op& op = graph_.ops[At(index)];
    if (!IsUpdate(op)) return;
    OpIndex weight = -1;
    for (const TensorRef input : op.inputs)
      if (graph_.ops[At(input.op)].IsVariable()) weight = input.op;
    for (const TensorRef input : op.inputs)
      if (weight >= 0 && IsBackward(graph_.ops[At(input.op)]))
        gradients_.push_back({index, weight, input, op.colocate});
  }

  const sim::Op& UpdateOf(const Gradient& gradient) { return edit_.op(gradient.update); }

  // A view of tensors that stand one behind the other, padded for the ranks; it is there when the last one is.
  OpIndex AddFlat(const std::string& name, const std::vector<TensorRef>& tensors, OpIndex behind,
                  std::int64_t ranks) {
    Bytes bytes = 0;
    for (const TensorRef tensor : tensors) bytes += OutputOf(edit_.graph(), tensor).bytes;
    sim::Op flat = Beside(edit_.op(behind), name, "Reshape");
    std::erase_if(flat.attributes, [](const auto& one) { return one.first == "micro_batch"; });
    flat.inputs = tensors;
    sim::Output output;
    output.bytes = PartOf(bytes, ranks) * ranks;
    output.dtype = OutputOf(edit_.graph(), tensors.front()).dtype;
    flat.outputs = {ViewOf(output, tensors.front())};
    flat.outputs.front().dtype.clear();
    return edit_.AddAfter(behind, std::move(flat));
  }

  // The updates wait for the sum, which stands where the gradients do.
  OpIndex AllReduce(const std::string& name, const std::vector<const Gradient*>& gradients,
                    const RankGroup& group) {
    std::vector<TensorRef> tensors;
    OpIndex last = gradients.front()->tensor.op;
    for (const Gradient* gradient : gradients) {
      tensors.push_back(gradient->tensor);
      if (place_[At(gradient->tensor.op)] > place_[At(last)]) last = gradient->tensor.op;
    }
    const OpIndex flat = AddFlat(name + "/flat", tensors, last, 1);
    const sim::Op of = edit_.op(flat);
    const OpIndex sum =
        edit_.AddAfter(flat, CollectiveBeside(of, name, "AllReduce", {flat, 0}, of.outputs.front(), group));
    for (const Gradient* gradient : gradients) edit_.op(gradient->update).control.push_back(sum);
    return sum;
  }

  void SumTerms() {
    std::map<std::string, std::vector<const Gradient*>> by_stage;
    for (const Gradient& gradient : gradients_)
      if (sim::FindBool(UpdateOf(gradient).attributes, kIsTerm).value_or(false))
        by_stage[gradient.stage].push_back(&gradient);
    for (const auto& [stage, gradients] : by_stage) {
      const OpIndex sum = AllReduce(stage + "/terms", gradients, exchange_.tensor);
      for (const Gradient* gradient : gradients) before_[gradient->update] = sum;
    }
  }

  void SumTied() {
    std::map<std::string, std::vector<const Gradient*>> by_weight;
    for (const Gradient& gradient : gradients_)
      if (const auto tied = sim::FindString(UpdateOf(gradient).attributes, kTied))
        by_weight[*tied].push_back(&gradient);
    for (const auto& [weight, gradients] : by_weight) {
      const sim::Op of = edit_.op(gradients.front()->tensor.op);
      const Bytes bytes = OutputOf(edit_.graph(), gradients.front()->tensor).bytes;
      sim::Op sum = Beside(of, weight + "/tied", "AllReduce");
      std::erase_if(sum.attributes, [](const auto&) { return true; });
      sum.colocate.clear();
      OpIndex last = gradients.front()->tensor.op;
      for (const Gradient* gradient : gradients) {
        sim::Output output;
        output.bytes = bytes;
        sum.inputs.push_back(gradient->tensor);
        sum.outputs.push_back(output);
        if (place_[At(gradient->tensor.op)] > place_[At(last)]) last = gradient->tensor.op;
      }
      AddAttribute(sum.attributes, "group", std::string("pipeline"));
      const OpIndex made = edit_.AddAfter(last, std::move(sum));
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        // Its rank's result: an update reads it, so that the collective's end is that of the rank.
        edit_.Replace(gradients[i]->update, gradients[i]->tensor, {made, static_cast<std::int32_t>(i)});
        before_[gradients[i]->update] = made;
        tied_[gradients[i]->update] = {made, static_cast<std::int32_t>(i)};
      }
    }
  }

  void SumData() {
    std::map<std::string, std::vector<const Gradient*>> by_stage;
    for (const Gradient& gradient : gradients_) by_stage[gradient.stage].push_back(&gradient);
    for (const auto& [stage, gradients] : by_stage) {
      std::vector<const Gradient*> bucket;
      Bytes bytes = 0, most = kFirstBucket;
      int count = 0;
      for (const Gradient* gradient : gradients) {
        bucket.push_back(gradient);
        bytes += OutputOf(graph_, gradient->tensor).bytes;
        if (bytes < std::min(most, exchange_.bucket) && gradient != gradients.back()) continue;
        SumBucket(fmt::format("{}/bucket{}", stage.empty() ? "data" : stage, count++),
                  std::exchange(bucket, {}));
        bytes = 0;
        most = exchange_.bucket;
      }
    }
  }

  TensorRef Tensor(const Gradient& gradient) const {
    const auto tied = tied_.find(gradient.update);
    return tied != tied_.end() ? tied->second : gradient.tensor;
  }

  void SumBucket(const std::string& name, const std::vector<const Gradient*>& bucket) {
    std::vector<TensorRef> tensors;
    std::vector<OpIndex> waits;
    OpIndex last = bucket.front()->tensor.op;
    for (const Gradient* gradient : bucket) {
      tensors.push_back(Tensor(*gradient));
      if (const auto sum = before_.find(gradient->update); sum != before_.end()) waits.push_back(sum->second);
      if (place_[At(gradient->tensor.op)] > place_[At(last)]) last = gradient->tensor.op;
    }
    const OpIndex flat =
        AddFlat(name + "/flat", tensors, last, exchange_.zero > 0 ? exchange_.data.ranks : 1);
    edit_.op(flat).control = waits;
    const sim::Op of = edit_.op(flat);
    sim::Output result = of.outputs.front();
    if (exchange_.zero == 0) {
      const OpIndex sum =
          edit_.AddAfter(flat, CollectiveBeside(of, name, "AllReduce", {flat, 0}, result, exchange_.data));
      for (const Gradient* gradient : bucket) edit_.op(gradient->update).control.push_back(sum);
      return;
    }
    result.bytes /= exchange_.data.ranks;
    const OpIndex sum =
        edit_.AddAfter(flat, CollectiveBeside(of, name, "ReduceScatter", {flat, 0}, result, exchange_.data));
    UpdateParts(name, bucket, sum);
  }

  Bytes Part(Bytes bytes) const { return PartOf(bytes, exchange_.data.ranks); }

  // A rank's part of a tensor. What it is a view of stays while `held` is needed.
  OpIndex AddPart(const std::string& name, OpIndex before, TensorRef of, Bytes whole,
                  std::vector<TensorRef> held) {
    sim::Op part = Beside(edit_.op(before), name, "Reshape");
    part.inputs = {of};
    std::ranges::copy(held, std::back_inserter(part.inputs));
    sim::Output output;
    output.bytes = Part(whole);
    part.outputs = {ViewOf(output, of)};
    return edit_.AddBefore(before, std::move(part));
  }

  void UpdateParts(const std::string& name, const std::vector<const Gradient*>& bucket, OpIndex sum) {
    std::vector<TensorRef> weights;
    std::vector<OpIndex> updates;
    OpIndex last = bucket.front()->update;
    Bytes bytes = 0;
    for (const Gradient* gradient : bucket) {
      sim::Op& weight = edit_.op(gradient->weight);
      const Bytes own = weight.outputs.front().bytes;
      if (divided_.insert({gradient->weight, true}).second)
        weight.persistent_bytes = own + Part(std::max<Bytes>(0, weight.persistent_bytes - own));
      const std::string& of = graph_.ops[At(gradient->update)].name;
      const Bytes whole = OutputOf(graph_, gradient->tensor).bytes;
      const OpIndex part = AddPart(of + "/gradient", gradient->update, {sum, 0}, whole, {Tensor(*gradient)});
      edit_.Replace(gradient->update, Tensor(*gradient), {part, 0});
      const OpIndex weight_part = AddPart(of + "/weight", gradient->update, {gradient->weight, 0}, own, {});
      edit_.Replace(gradient->update, {gradient->weight, 0}, {weight_part, 0});
      ShrinkRoots(gradient->update, gradient->weight, weight_part);
      weights.push_back({weight_part, 0});
      updates.push_back(gradient->update);
      bytes += own;
      last = std::max(last, gradient->update);
    }
    // What the updates have written is gathered where the weights stand, one bucket behind the other.
    const OpIndex flat = AddFlat(name + "/weights", weights, last, 1);
    edit_.op(flat).control = updates;
    edit_.op(flat).phase = "update";
    const sim::Op of = edit_.op(flat);
    sim::Output gathered = of.outputs.front();
    gathered.bytes *= exchange_.data.ranks;
    sim::Op gather = CollectiveBeside(of, name + "/gather", "AllGather", {flat, 0}, gathered, exchange_.data);
    OpIndex& before = gathered_[of.colocate];
    if (before > 0) gather.control = {before};
    before = edit_.AddAfter(flat, std::move(gather));
  }

  // What an update reads that is worked out of the weight, as torch's Adam does with all at once.
  void ShrinkRoots(OpIndex update, OpIndex weight, OpIndex part) {
    for (const TensorRef input : graph_.ops[At(update)].inputs) {
      sim::Op& root = edit_.op(input.op);
      if (!IsUpdate(root) || std::ranges::find(root.inputs, TensorRef{weight, 0}) == root.inputs.end())
        continue;
      const Bytes bytes = root.outputs.front().bytes;
      for (sim::Output& output : root.outputs) {
        output.bytes = Part(bytes);
        output.shape.clear();
      }
      const OpIndex own = AddPart(root.name + "/weight", input.op, {weight, 0},
                                  OutputOf(edit_.graph(), {part, 0}).bytes * exchange_.data.ranks, {});
      edit_.Replace(input.op, {weight, 0}, {own, 0});
    }
  }

  const sim::OpGraph& graph_;
  const GradientExchange exchange_;
  GraphEdit edit_;
  std::vector<std::size_t> place_;  // by op, in topological order
  std::vector<Gradient> gradients_;
  std::map<OpIndex, OpIndex> before_;  // by update: the sum that its gradient is of before the data ranks'
  std::map<OpIndex, TensorRef> tied_;  // by update
  std::map<std::string, OpIndex> gathered_;  // by stage: the AllGather of the bucket before
  std::map<OpIndex, bool> divided_;          // weights
};

}  // namespace

sim::OpGraph ExchangeGradients(const sim::OpGraph& graph, const GradientExchange& exchange) {
  return Exchanger(graph, exchange).Run();
}

}  // namespace stowplan::scenarios
