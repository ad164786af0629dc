#include "scenarios/workloads/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "scenarios/builder/graph_builder.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;

bool IsData(const sim::Op& op) {
  return op.type == "Placeholder";
}

// Whether an output that an update reads is a gradient that can be summed: it has the size of a variable that the update reads,
// or of any where it reads none, as clipping does.
class Gradients {
 public:
  explicit Gradients(const sim::OpGraph& graph) : graph_(graph) {
    for (const sim::Op& op : graph.ops) {
      if (!IsWeight(op)) continue;
      for (const sim::Output& output : op.outputs) sizes_.insert(output.bytes);
    }
  }

  bool Fits(const sim::Op& update, Tensor tensor) const {
    const sim::Bytes bytes = BytesOf(tensor);
    bool reads_weights = false;
    for (const Tensor input : update.inputs) {
      if (!IsWeight(graph_.ops[At(input.op)])) continue;
      if (BytesOf(input) == bytes) return true;
      reads_weights = true;
    }
    return !reads_weights && sizes_.contains(bytes);
  }

 private:
  static bool IsWeight(const sim::Op& op) { return op.IsSource() && !IsData(op); }
  sim::Bytes BytesOf(Tensor tensor) const {
    return graph_.ops[At(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)].bytes;
  }
  const sim::OpGraph& graph_;
  std::set<sim::Bytes> sizes_;
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
    if (op.collective >= 0) op.collective = static_cast<std::int32_t>(op.collective * k_ + m);
    if (!IsOnce(index)) {
      op.colocate = ColocationOf(op);
      op.name = Numbered(op.name, m);
      AddAttribute(op.attributes, "micro_batch", m);
    }
    std::vector<Tensor> inputs;
    std::vector<std::size_t> first;  // by input of one
    for (const Tensor input : op.inputs) {
      first.push_back(inputs.size());
      AddInput(index, input, m, inputs);
    }
    for (sim::Output& output : op.outputs) {
      if (output.storage != sim::Output::Storage::kInput) continue;
      const auto aliased = std::ranges::find(op.inputs, output.alias) - op.inputs.begin();
      output.alias = inputs[first[static_cast<std::size_t>(aliased)]];
    }
    op.inputs = std::move(inputs);
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

double ElementsOf(const sim::Output& output) {
  double elements = 1;
  for (const std::int64_t length : output.shape) elements *= static_cast<double>(length);
  return output.shape.empty() ? static_cast<double>(output.bytes) : elements;
}

// By output of the graph: a gradient, or what it is made of in its own size, that an update reads.
std::vector<std::vector<bool>> FindWeightGradients(const sim::OpGraph& graph) {
  std::vector<std::vector<bool>> found(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) found[i].resize(graph.ops[i].outputs.size());
  const auto mark = [&](Tensor tensor) {
    found[At(tensor.op)][static_cast<std::size_t>(tensor.output)] = true;
  };
  const auto output_of = [&](Tensor tensor) -> const sim::Output& {
    return graph.ops[At(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
  };
  const Gradients gradients(graph);
  const auto& order = graph.topological_order();
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const sim::Op& op = graph.ops[At(*at)];
    if (IsUpdate(op)) {
      for (const Tensor input : op.inputs)
        if (gradients.Fits(op, input)) mark(input);
      continue;
    }
    if (op.flops > 0) continue;
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (!found[At(*at)][o]) continue;
      // Views, casts and sums of gradients; with two inputs of this size it is a derivative itself.
      std::vector<Tensor> same;
      for (const Tensor input : op.inputs)
        if (ElementsOf(output_of(input)) == ElementsOf(op.outputs[o])) same.push_back(input);
      if (same.size() == 1 || op.type == "AddN" || op.type == "Add") std::ranges::for_each(same, mark);
    }
  }
  // Views of a gradient that the update does not read, as of the transposed one, are no smaller than it.
  for (const OpIndex index : order) {
    const sim::Op& op = graph.ops[At(index)];
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const sim::Output& output = op.outputs[o];
      if (output.storage == sim::Output::Storage::kInput &&
          found[At(output.alias.op)][static_cast<std::size_t>(output.alias.output)])
        found[At(index)][o] = true;
    }
  }
  return found;
}

// First dimensions of data that k divides; empty where no shape is told.
std::set<std::int64_t> BatchesOf(const sim::OpGraph& whole, std::int64_t k) {
  std::set<std::int64_t> batches;
  for (const sim::Op& op : whole.ops) {
    if (!IsData(op) || op.outputs.empty() || op.outputs.front().shape.empty()) continue;
    const std::int64_t first = op.outputs.front().shape.front();
    if (first > 0 && first % k == 0) batches.insert(first);
  }
  return batches;
}

// The dimension that is a batch, or as long as one that holds it in an input, or the first that has one as a factor; of two that
// make a batch together the first that k divides. End = it holds none.
std::vector<std::int64_t>::iterator BatchIn(std::vector<std::int64_t>& shape,
                                            const std::set<std::int64_t>& batches,
                                            const std::set<std::int64_t>& of_inputs, std::int64_t k) {
  const auto holds_batch = [&](double elements) {
    return std::ranges::any_of(
        batches, [&](std::int64_t batch) { return std::fmod(elements, static_cast<double>(batch)) == 0; });
  };
  const auto itself = std::ranges::find_if(shape, [&](auto length) { return batches.contains(length); });
  if (itself != shape.end()) return itself;
  const auto of_input = std::ranges::find_if(shape, [&](auto length) { return of_inputs.contains(length); });
  if (of_input != shape.end()) return of_input;
  const auto factor = std::ranges::find_if(shape, holds_batch);
  if (factor != shape.end()) return factor;
  double elements = 1;
  for (const std::int64_t length : shape) elements *= static_cast<double>(length);
  if (!batches.empty() && !holds_batch(elements)) return shape.end();
  return std::ranges::find_if(shape, [&](std::int64_t length) { return length % k == 0; });
}

// What is told and holds no batch, as a mean over it does, stays whole. Gives the length that was shared; 0 = none.
std::int64_t ShareOutput(sim::Output& output, const std::set<std::int64_t>& batches,
                         const std::set<std::int64_t>& of_inputs, std::int64_t k) {
  const auto dimension = BatchIn(output.shape, batches, of_inputs, k);
  const bool is_told = !output.shape.empty() || !output.dtype.empty();
  if (dimension == output.shape.end() && is_told && !batches.empty()) return 0;
  output.bytes = (output.bytes + k - 1) / k;
  if (dimension != output.shape.end()) {
    const std::int64_t length = *dimension;
    *dimension /= k;
    return length;
  }
  output.shape.clear();
  return 0;
}

// A matrix whose rows are as many as its columns has the batch where the transposition puts it.
void TurnSquare(const sim::Op& op, const sim::Output& whole, const sim::Output& input, sim::Output& output) {
  const bool turns = op.type == "Transpose" || sim::FindString(op.attributes, "torch_op") == "aten.t";
  if (!turns || whole.shape.size() != 2 || whole.shape[0] != whole.shape[1] || input.shape.size() != 2)
    return;
  output.shape = {input.shape[1], input.shape[0]};
}

// Data whose shape is told has the batch first.
void CheckBatch(const sim::OpGraph& whole, std::int64_t k, const std::string& what) {
  const sim::Op* told = nullptr;
  for (const sim::Op& op : whole.ops) {
    if (!IsData(op) || op.outputs.empty() || op.outputs.front().shape.empty()) continue;
    if (op.outputs.front().shape.front() % k == 0) return;
    if (told == nullptr) told = &op;
  }
  if (told == nullptr) return;
  throw InputError(what + "=" + std::to_string(k) + " divides the first dimension of no input of " +
                   whole.name + " (" + told->name + " has " +
                   std::to_string(told->outputs.front().shape.front()) +
                   "); choose a number that divides it, or import the model with a larger batch");
}

// By op: whether what it works on grows with the batch. What was written in place is read as what it was, behind a writer that is
// waited for.
class BatchSearch {
 public:
  BatchSearch(const sim::OpGraph& whole, const std::set<std::int64_t>& batches)
      : whole_(whole), batches_(batches), carries_(whole.ops.size()), storage_(whole.ops.size()) {
    for (const OpIndex index : whole.topological_order()) {
      const sim::Op& op = whole.ops[At(index)];
      carries_[At(index)] = !IsUpdate(op) && Carries(op);
      for (std::size_t o = 0; o < op.outputs.size(); ++o) {
        const bool is_own = op.outputs[o].storage != sim::Output::Storage::kInput;
        storage_[At(index)].push_back(is_own ? Tensor{index, static_cast<std::int32_t>(o)}
                                             : StorageOf(op.outputs[o].alias));
      }
    }
  }

  std::vector<bool> Take() { return std::move(carries_); }

 private:
  Tensor StorageOf(Tensor tensor) const {
    return storage_[At(tensor.op)][static_cast<std::size_t>(tensor.output)];
  }

  bool Carries(const sim::Op& op) const {
    if (IsData(op) || op.IsSource()) return IsData(op);
    if (op.inputs.empty()) return IsOfTheBatch(op);
    if (std::ranges::any_of(op.inputs, [&](Tensor input) { return carries_[At(input.op)]; })) return true;
    return std::ranges::any_of(op.control, [&](OpIndex writer) {
      return carries_[At(writer)] && std::ranges::any_of(op.inputs, [&](Tensor input) {
               return std::ranges::find(storage_[At(writer)], StorageOf(input)) != storage_[At(writer)].end();
             });
    });
  }

  // Made from nothing: a mask of the batch, not a table of positions.
  bool IsOfTheBatch(const sim::Op& op) const {
    if (batches_.empty() || op.outputs.empty() || op.outputs.front().dtype.empty()) return true;
    return std::ranges::any_of(op.outputs.front().shape,
                               [&](std::int64_t length) { return batches_.contains(length); });
  }

  const sim::OpGraph& whole_;
  const std::set<std::int64_t>& batches_;
  std::vector<bool> carries_;
  std::vector<std::vector<Tensor>> storage_;  // by output: where its bytes are
};

double MicrosOf(const sim::Op& op) {
  if (!op.cost_us_by_kind.empty()) return op.cost_us_by_kind.front().second;
  return op.cost_us.value_or(0);
}

// What does not grow with the batch is done anew for each micro-batch.
void CheckGrowth(const sim::OpGraph& whole, const std::vector<bool>& carries, std::int64_t k,
                 const std::string& who) {
  constexpr double kMostGrowth = 0.1;  // of the FLOPs, or of the time measured
  double flops = 0, us = 0, more_flops = 0, more_us = 0;
  for (std::size_t i = 0; i < whole.ops.size(); ++i) {
    const sim::Op& op = whole.ops[i];
    flops += op.flops;
    us += MicrosOf(op);
    if (carries[i] || IsUpdate(op)) continue;
    more_flops += static_cast<double>(k - 1) * op.flops;
    more_us += static_cast<double>(k - 1) * MicrosOf(op);
  }
  if (more_flops <= kMostGrowth * flops && more_us <= kMostGrowth * us) return;
  if (std::ranges::none_of(whole.ops, IsData)) {
    throw InputError(
        who + "nothing tells the inputs of " + whole.name +
        " from its weights, so its batch cannot be split; give a graph whose inputs are of the type "
        "Placeholder");
  }
  const double growth = std::max(flops > 0 ? more_flops / flops : 0, us > 0 ? more_us / us : 0);
  throw InputError(who + whole.name + " has work that does not depend on its inputs, and " +
                   std::to_string(k) + " micro-batches would do it " + std::to_string(k) +
                   " times, which is " + std::to_string(std::llround(100 * growth)) +
                   " % more in all; choose fewer micro-batches");
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

sim::OpGraph ShareBatch(const sim::OpGraph& whole, std::int64_t k, const std::string& what) {
  CheckBatch(whole, k, what);
  const std::set<std::int64_t> batches = BatchesOf(whole, k);
  const std::vector<bool> carries = BatchSearch(whole, batches).Take();
  CheckGrowth(whole, carries, k, what.substr(0, what.find(':')) + ": ");
  sim::OpGraph graph = whole;
  const std::vector<std::vector<bool>> gradients = FindWeightGradients(whole);
  const auto share = static_cast<double>(k);
  std::vector<std::set<std::int64_t>> shared(graph.ops.size());  // lengths, of outputs
  for (const OpIndex index : whole.topological_order()) {
    const std::size_t i = At(index);
    if (!carries[i]) continue;
    sim::Op& op = graph.ops[i];
    std::set<std::int64_t> of_inputs;
    for (const Tensor input : op.inputs)
      of_inputs.insert(shared[At(input.op)].begin(), shared[At(input.op)].end());
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (gradients[i][o]) continue;
      const std::int64_t length = ShareOutput(op.outputs[o], batches, of_inputs, k);
      if (length > 0) shared[i].insert(length);
      if (length > 0 && !op.inputs.empty()) {
        const Tensor input = op.inputs.front();
        TurnSquare(op, whole.ops[i].outputs[o],
                   graph.ops[At(input.op)].outputs[static_cast<std::size_t>(input.output)], op.outputs[o]);
      }
    }
    op.flops /= share;
    op.workspace_bytes /= k;
    if (op.cost_us) *op.cost_us /= share;
    for (auto& [kind, us] : op.cost_us_by_kind) us /= share;
  }
  return graph;
}

}  // namespace stowplan::scenarios
