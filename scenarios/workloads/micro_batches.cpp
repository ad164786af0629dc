#include "scenarios/workloads/micro_batches.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "scenarios/builder/graph_builder.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;

std::size_t At(OpIndex op) {
  return static_cast<std::size_t>(op);
}

bool IsData(const sim::Op& op) {
  return op.type == "Placeholder";
}
bool IsUpdate(const sim::Op& op) {
  return op.phase == "update";
}

// Whether an output has the size of a variable that the update reads or is colocated with: a gradient that can be summed.
class Gradients {
 public:
  explicit Gradients(const sim::OpGraph& graph) : graph_(graph) {}

  bool Fits(const sim::Op& update, Tensor tensor) const {
    const sim::Bytes bytes = BytesOf(tensor);
    return std::ranges::any_of(update.inputs, [&](Tensor input) {
      const sim::Op& producer = graph_.ops[At(input.op)];
      return producer.IsSource() && !IsData(producer) && BytesOf(input) == bytes;
    });
  }

 private:
  sim::Bytes BytesOf(Tensor tensor) const {
    return graph_.ops[At(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)].bytes;
  }
  const sim::OpGraph& graph_;
};

class Repetition {
 public:
  Repetition(const sim::OpGraph& one, std::int64_t k) : one_(one), k_(k), gradients_(one) {}

  // In two passes, since a phase may read of a later one.
  sim::OpGraph Repeat() {
    copies_.resize(one_.ops.size());
    for (const auto& [part, times] :
         {std::pair{Part::kForward, k_}, {Part::kBackward, k_}, {Part::kUpdate, 1L}})
      for (std::int64_t m = 0; m < times; ++m)
        for (const OpIndex op : one_.topological_order())
          if (PartOf(op) == part && (m == 0 || !IsOnce(op))) Plan(op, m);
    graph_.ops.reserve(unrolled_.size());
    for (const UnrolledOp& unrolled : unrolled_)
      graph_.ops.push_back(unrolled.sum ? Accumulation(unrolled) : Copy(unrolled));
    return std::move(graph_);
  }

 private:
  enum class Part : std::uint8_t { kForward, kBackward, kUpdate };

  const sim::Op& One(OpIndex op) const { return one_.ops[At(op)]; }
  Part PartOf(OpIndex op) const {
    if (IsUpdate(One(op))) return Part::kUpdate;
    return One(op).phase == "backward" ? Part::kBackward : Part::kForward;
  }
  bool IsOnce(OpIndex op) const { return IsUpdate(One(op)) || (One(op).IsSource() && !IsData(One(op))); }
  OpIndex CopyOf(OpIndex op, std::int64_t m) const {
    return copies_[At(op)][IsOnce(op) ? 0 : static_cast<std::size_t>(m)];
  }
  // Of the ops that are there k times, unless they have one.
  std::string ColocationOf(const sim::Op& op) const {
    return op.colocate.empty() ? "micro_batches/" + op.name : op.colocate;
  }
  static std::string Numbered(const std::string& name, std::int64_t m) {
    return m == 0 ? name : name + "@" + std::to_string(m);
  }

  struct UnrolledOp {
    Tensor of;  // of one: the op, or the output whose copies are summed
    std::int64_t micro_batch;
    bool sum = false;
  };

  OpIndex NextIndex() const { return static_cast<OpIndex>(unrolled_.size()); }

  void Plan(OpIndex op, std::int64_t m) {
    if (IsUpdate(One(op))) PlanSums(op);
    copies_[At(op)].push_back(NextIndex());
    unrolled_.push_back({{op, 0}, m});
  }

  // Of the gradients that the update reads, each once.
  void PlanSums(OpIndex update) {
    for (const Tensor gradient : One(update).inputs) {
      if (IsOnce(gradient.op) || sums_.contains(gradient) || !gradients_.Fits(One(update), gradient))
        continue;
      for (std::int64_t m = 1; m < k_; ++m) {
        sums_[gradient].push_back(NextIndex());
        unrolled_.push_back({gradient, m, true});
      }
    }
  }

  sim::Op Copy(const UnrolledOp& unrolled) const {
    const OpIndex index = unrolled.of.op;
    const std::int64_t m = unrolled.micro_batch;
    sim::Op op = One(index);
    if (!IsOnce(index)) {
      op.colocate = ColocationOf(op);
      op.name = Numbered(op.name, m);
      AddAttribute(op.attributes, "micro_batch", m);
    }
    std::vector<Tensor> inputs;
    for (const Tensor input : op.inputs) AddInput(index, input, m, inputs);
    op.inputs = std::move(inputs);
    for (sim::Output& output : op.outputs) {
      if (output.storage != sim::Output::Storage::kInput) continue;
      output.alias.op = CopyOf(output.alias.op, m);
      // An update in place of a gradient that it no longer reads, but its sum.
      if (std::ranges::find(op.inputs, output.alias) == op.inputs.end()) output.alias = op.inputs.back();
    }
    std::vector<OpIndex> control;
    for (const OpIndex other : op.control) {
      const bool of_all = IsOnce(index) && !IsOnce(other);
      for (std::int64_t i = of_all ? 0 : m; i < (of_all ? k_ : m + 1); ++i)
        control.push_back(CopyOf(other, i));
    }
    op.control = std::move(control);
    return op;
  }

  void AddInput(OpIndex reader, Tensor input, std::int64_t m, std::vector<Tensor>& inputs) const {
    if (!IsOnce(reader) || IsOnce(input.op)) return inputs.push_back({CopyOf(input.op, m), input.output});
    if (const auto sum = sums_.find(input); sum != sums_.end() && gradients_.Fits(One(reader), input))
      return inputs.push_back({sum->second.back(), 0});
    for (std::int64_t i = 0; i < k_; ++i) inputs.push_back({CopyOf(input.op, i), input.output});
  }

  sim::Op Accumulation(const UnrolledOp& unrolled) const {
    const Tensor gradient = unrolled.of;
    const std::int64_t m = unrolled.micro_batch;
    const Tensor sum = m == 1 ? Tensor{CopyOf(gradient.op, 0), gradient.output}
                              : Tensor{sums_.at(gradient)[static_cast<std::size_t>(m) - 2], 0};
    const sim::Op& of = One(gradient.op);
    sim::Op op;
    op.name =
        Numbered(of.name + "/accumulate" + (gradient.output > 0 ? std::to_string(gradient.output) : ""), m);
    op.type = "AddN";
    op.inputs = {sum, {CopyOf(gradient.op, m), gradient.output}};
    op.outputs = {of.outputs[static_cast<std::size_t>(gradient.output)]};
    op.outputs.front().storage = sim::Output::Storage::kInput;
    op.outputs.front().alias = sum;
    op.framework_ops = of.framework_ops;
    op.colocate = ColocationOf(of);
    op.group = of.group;
    op.phase = "backward";
    // As a measured gradient is added up in no time that anybody measured.
    if (of.cost_us || !of.cost_us_by_kind.empty()) op.cost_us = 0;
    for (const char* key : {"stage", "branch"})
      if (const sim::Attribute* found = sim::FindAttribute(of.attributes, key))
        op.attributes.emplace_back(key, *found);
    AddAttribute(op.attributes, "micro_batch", m);
    return op;
  }

  const sim::OpGraph& one_;
  const std::int64_t k_;
  const Gradients gradients_;
  sim::OpGraph graph_;
  std::vector<UnrolledOp> unrolled_;             // one for each op of graph_
  std::vector<std::vector<OpIndex>> copies_;     // by op of one
  std::map<Tensor, std::vector<OpIndex>> sums_;  // by gradient of one
};

// By output of the graph: a gradient, or a part of its sum, that an update reads.
std::vector<std::vector<bool>> FindWeightGradients(const sim::OpGraph& graph) {
  std::vector<std::vector<bool>> found(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) found[i].resize(graph.ops[i].outputs.size());
  const auto mark = [&](Tensor tensor) {
    found[At(tensor.op)][static_cast<std::size_t>(tensor.output)] = true;
  };
  const Gradients gradients(graph);
  const auto& order = graph.topological_order();
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const sim::Op& op = graph.ops[At(*at)];
    const bool sum = op.type == "AddN" && !op.outputs.empty() && found[At(*at)].front();
    for (const Tensor input : op.inputs)
      if (sum || (IsUpdate(op) && gradients.Fits(op, input))) mark(input);
  }
  return found;
}

void ShareOutput(sim::Output& output, std::int64_t k) {
  output.bytes = (output.bytes + k - 1) / k;
  const auto dimension =
      std::ranges::find_if(output.shape, [&](std::int64_t length) { return length % k == 0; });
  if (dimension != output.shape.end())
    *dimension /= k;
  else
    output.shape.clear();
}

// Data whose shape is told has the batch first.
void CheckBatch(const sim::OpGraph& whole, std::int64_t k) {
  const sim::Op* told = nullptr;
  for (const sim::Op& op : whole.ops) {
    if (!IsData(op) || op.outputs.empty() || op.outputs.front().shape.empty()) continue;
    if (op.outputs.front().shape.front() % k == 0) return;
    if (told == nullptr) told = &op;
  }
  if (told == nullptr) return;
  throw InputError("pipeline: micro_batches=" + std::to_string(k) +
                   " divides the first dimension of no input of " + whole.name + " (" + told->name + " has " +
                   std::to_string(told->outputs.front().shape.front()) +
                   "); choose a number that divides it, or import the model with a larger batch");
}

}  // namespace

sim::OpGraph RepeatMicroBatch(const sim::OpGraph& one, std::int64_t k, const std::string& schedule) {
  if (static_cast<double>(one.ops.size()) * static_cast<double>(k) > static_cast<double>(kMostOps)) {
    throw InputError(one.name + ": " + std::to_string(k) + " micro-batches of " +
                     std::to_string(one.ops.size()) + " ops are more than " + std::to_string(kMostOps) +
                     " ops; choose fewer");
  }
  sim::OpGraph graph = k == 1 ? one : Repetition(one, k).Repeat();
  graph.name = one.name;
  graph.attributes = one.attributes;
  if (k > 1) AddAttribute(graph.attributes, "schedule", schedule);
  return graph;
}

sim::OpGraph ShareBatch(const sim::OpGraph& whole, std::int64_t k) {
  CheckBatch(whole, k);
  sim::OpGraph graph = whole;
  const std::vector<std::vector<bool>> gradients = FindWeightGradients(whole);
  std::vector<bool> of_data(whole.ops.size());
  const auto share = static_cast<double>(k);
  for (const OpIndex index : whole.topological_order()) {
    sim::Op& op = graph.ops[At(index)];
    const bool reads_data =
        op.inputs.empty()
            ? !op.IsSource() || IsData(op)
            : std::ranges::any_of(op.inputs, [&](Tensor input) { return of_data[At(input.op)]; });
    of_data[At(index)] = reads_data && !IsUpdate(op);
    if (!of_data[At(index)]) continue;
    for (std::size_t o = 0; o < op.outputs.size(); ++o)
      if (!gradients[At(index)][o]) ShareOutput(op.outputs[o], k);
    op.flops /= share;
    op.workspace_bytes /= k;
    if (op.cost_us) *op.cost_us /= share;
    for (auto& [kind, us] : op.cost_us_by_kind) us /= share;
  }
  return graph;
}

}  // namespace stowplan::scenarios
