#include "scenarios/builder/unfused.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "scenarios/builder/graph_builder.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;

constexpr sim::Bytes kWord = 4;

class Expansion {
 public:
  Expansion(const sim::OpGraph& fused, const std::vector<OpIndex>& forward_of, std::string_view optimizer)
      : fused_(fused), forward_of_(forward_of), optimizer_(optimizer) {}

  sim::OpGraph Expand() {
    Prepare();
    for (OpIndex i = 0; i < Count(); ++i) {
      const sim::Op& op = Fused(i);
      if (op.type == "Variable") {
        AddVariable(i);
      } else if (op.phase == "update") {
        AddUpdate(i);
      } else {
        AddOp(i);
      }
      if (gate_at_[At(i)] >= 0) AddGate(gate_at_[At(i)], i);
    }
    return std::move(unfused_);
  }

 private:
  static std::size_t At(OpIndex op) { return static_cast<std::size_t>(op); }
  OpIndex Count() const { return static_cast<OpIndex>(fused_.ops.size()); }
  const sim::Op& Fused(OpIndex op) const { return fused_.ops[At(op)]; }
  Tensor& ValueOf(Tensor fused) { return values_[At(fused.op)][static_cast<std::size_t>(fused.output)]; }

  // Who is read at all, and after which backward op all gradients of a forward op are there.
  void Prepare() {
    unfused_.name = fused_.name;
    unfused_.attributes = fused_.attributes;
    unfused_.ops.reserve(fused_.ops.size() * 4);
    op_.resize(fused_.ops.size());
    values_.resize(fused_.ops.size());
    read_.resize(fused_.ops.size());
    for (OpIndex i = 0; i < Count(); ++i) {
      values_[At(i)].resize(Fused(i).outputs.size());
      read_[At(i)].resize(Fused(i).outputs.size());
      for (const Tensor input : Fused(i).inputs)
        read_[At(input.op)][static_cast<std::size_t>(input.output)] = true;
    }
    gate_at_.assign(fused_.ops.size(), -1);
    std::unordered_map<OpIndex, std::pair<OpIndex, std::ptrdiff_t>>
        made;  // by forward op: last op, gradients
    for (OpIndex i = 0; i < Count(); ++i) {
      const OpIndex forward = forward_of_[At(i)];
      if (forward < 0 || Fused(i).IsSource()) continue;
      auto& [last, gradients] = made[forward];
      last = i;
      gradients += std::ranges::count(read_[At(i)], true);
    }
    for (const auto& [forward, entry] : made) {
      if (entry.second > 1) gate_at_[At(entry.first)] = forward;
    }
  }

  // ---- single ops

  // A helper of a fused op. Not yet added: the caller may change it.
  static sim::Op Helper(const sim::Op& of, std::string name, std::string type) {
    sim::Op op;
    op.name = std::move(name);
    op.type = std::move(type);
    op.colocate = of.colocate;
    op.group = of.group;
    op.phase = of.phase;
    op.cost_us = 0;
    AddAttribute(op.attributes, "helper", of.name);
    for (const auto& attribute : of.attributes) {
      if (attribute.first == "stage" || attribute.first == "branch") op.attributes.push_back(attribute);
    }
    return op;
  }

  Tensor Push(sim::Op op) {
    CheckNumberOfOps(unfused_);
    unfused_.ops.push_back(std::move(op));
    return {static_cast<OpIndex>(unfused_.ops.size()) - 1, 0};
  }

  Tensor AddView(const sim::Op& of, std::string name, const char* type, Tensor source,
                 const std::vector<Tensor>& operands = {}) {
    sim::Op view = Helper(of, std::move(name), type);
    view.inputs = {source};
    view.inputs.insert(view.inputs.end(), operands.begin(), operands.end());
    sim::Output output = unfused_.ops[At(source.op)].outputs[static_cast<std::size_t>(source.output)];
    output.storage = sim::Output::Storage::kInput;
    output.alias = source;
    view.outputs.push_back(std::move(output));
    return Push(std::move(view));
  }

  // The fused op itself, reading what has become of its inputs.
  sim::Op Copy(OpIndex i) {
    sim::Op op = Fused(i);
    for (Tensor& input : op.inputs) input = ValueOf(input);
    for (OpIndex& control : op.control) control = op_[At(control)];
    for (sim::Output& output : op.outputs) {
      if (output.storage == sim::Output::Storage::kInput) output.alias = ValueOf(output.alias);
    }
    op.framework_ops = 1;
    return op;
  }

  void Emit(OpIndex i, sim::Op op) {
    op_[At(i)] = Push(std::move(op)).op;
    for (std::size_t o = 0; o < values_[At(i)].size(); ++o)
      values_[At(i)][o] = {op_[At(i)], static_cast<std::int32_t>(o)};
  }

  // ---- variables and updates

  void AddVariable(OpIndex i) {
    sim::Op variable = Copy(i);
    if (variable.colocate.empty()) variable.colocate = variable.name;  // inference: with its read
    const sim::Output& weights = variable.outputs.front();
    const auto slots = weights.bytes == 0 ? 0 : variable.persistent_bytes / weights.bytes - 1;
    variable.persistent_bytes -= slots * weights.bytes;
    const sim::Op own = variable;
    Emit(i, std::move(variable));
    AddInitialiser(own, own.outputs.front().shape.size() > 1);
    for (sim::Bytes slot = 0; slot < slots; ++slot) AddSlot(i, own, slot);
    ValueOf({i, 0}) = AddView(own, own.name + "/read", "Identity", {op_[At(i)], 0});
  }

  void AddSlot(OpIndex variable, const sim::Op& of, sim::Bytes number) {
    sim::Op slot = Helper(of, of.name + "/" + std::string(optimizer_), "Variable");
    if (number > 0) slot.name += "_" + std::to_string(number);
    slot.outputs = of.outputs;
    slot.persistent_bytes = of.outputs.front().bytes;
    slot.cost_us.reset();
    AddAttribute(slot.attributes, "trainable", false);
    const sim::Op own = slot;
    slots_[variable].push_back(Push(std::move(slot)));
    AddInitialiser(own, false);
  }

  // Ran before the step: no bytes, no dispatch.
  void AddInitialiser(const sim::Op& variable, bool random) {
    const auto add = [&](const std::string& name, const char* type, std::vector<Tensor> reads) {
      sim::Op op = Helper(variable, variable.name + "/" + name, type);
      op.inputs = std::move(reads);
      op.framework_ops = 0;
      op.outputs.emplace_back();
      return Push(std::move(op));
    };
    const Tensor storage = {static_cast<OpIndex>(unfused_.ops.size()) - 1, 0};
    if (!random) {
      add("Assign", "Assign", {storage, add("Initializer/zeros", "Const", {})});
      return;
    }
    const std::string uniform = "Initializer/random_uniform";
    const Tensor shape = add(uniform + "/shape", "Const", {});
    const Tensor low = add(uniform + "/min", "Const", {});
    const Tensor high = add(uniform + "/max", "Const", {});
    const Tensor numbers = add(uniform + "/RandomUniform", "RandomUniform", {shape});
    const Tensor range = add(uniform + "/sub", "Sub", {high, low});
    const Tensor scaled = add(uniform + "/mul", "Mul", {numbers, range});
    add("Assign", "Assign", {storage, add(uniform, "Add", {scaled, low})});
  }

  // Works on the variable itself, not on its read, and on its slots.
  void AddUpdate(OpIndex i) {
    if (rates_.empty()) {
      sim::Op of = Fused(i);
      of.colocate.clear();
      for (const char* rate : OptimizerRates(optimizer_)) {
        sim::Op constant = Helper(of, std::string(optimizer_) + "/" + rate, "Const");
        constant.outputs.push_back(Numbers(1, "f32"));
        rates_.push_back(Push(std::move(constant)));
      }
    }
    sim::Op update = Copy(i);
    const OpIndex variable = Fused(i).inputs.front().op;
    update.inputs.front() = {op_[At(variable)], 0};
    const std::vector<Tensor>& slots = slots_[variable];
    update.inputs.insert(update.inputs.end(), slots.begin(), slots.end());
    update.inputs.insert(update.inputs.end(), rates_.begin(), rates_.end());
    Emit(i, std::move(update));
  }

  // ---- everything else

  static sim::Output Numbers(std::int64_t count, const char* dtype) {
    sim::Output output;
    output.bytes = count * kWord;
    output.dtype = dtype;
    output.shape = {count};
    return output;
  }

  // Helpers' names begin with it. Gradients of one forward op share it.
  std::string ScopeOf(OpIndex i) const {
    const OpIndex forward = forward_of_[At(i)];
    return (forward < 0 ? Fused(i).name : "gradients/" + Fused(forward).name) + "/";
  }

  std::vector<Tensor> Named(const std::string& scope, const std::vector<const char*>& names) {
    std::vector<Tensor> tensors;
    for (const char* name : names) {
      const std::vector<Tensor>& found = shared_.at(scope + name);
      tensors.insert(tensors.end(), found.begin(), found.end());
    }
    return tensors;
  }

  void AddBefore(const sim::Op& of, const std::string& scope, const HelperRow& row) {
    std::vector<Tensor>& made = shared_[scope + row.name];
    if (!made.empty()) return;
    const std::vector<Tensor> reads = Named(scope, row.reads);
    const std::size_t copies = row.per_output ? of.outputs.size() : 1;
    for (std::size_t copy = 0; copy < copies; ++copy) {
      sim::Op op = Helper(of, scope + row.name, row.type);
      if (copies > 1) op.name += "_" + std::to_string(copy);
      op.inputs = reads;
      const auto axes = std::max<std::int64_t>(1, static_cast<std::int64_t>(of.outputs.front().shape.size()));
      op.outputs.push_back(Numbers(row.size == HelperSize::kAxes     ? axes
                                   : row.size == HelperSize::kNumber ? 1
                                                                     : 0,
                                   "i32"));
      made.push_back(Push(std::move(op)));
    }
  }

  Tensor AddViews(const sim::Op& of, const std::string& scope, const std::vector<HelperRow>& rows,
                  Tensor tensor) {
    for (const HelperRow& row : rows)
      tensor = AddView(of, of.name + "/" + row.name, row.type, tensor, Named(scope, row.reads));
    return tensor;
  }

  void AddOp(OpIndex i) {
    const sim::Op& fused = Fused(i);
    const UnfusedTemplate* row = FindUnfusedTemplate(fused.type, fused.phase);
    if (row == nullptr) return Emit(i, Copy(i));

    const std::string scope = ScopeOf(i);
    for (const HelperRow& helper : row->before) AddBefore(fused, scope, helper);
    sim::Op op = Copy(i);
    if (!row->in.empty()) op.inputs.front() = AddViews(fused, scope, row->in, op.inputs.front());
    const std::vector<Tensor> operands = Named(scope, row->operands);
    op.inputs.insert(op.inputs.end(), operands.begin(), operands.end());
    Emit(i, std::move(op));
    if (!row->out.empty()) ValueOf({i, 0}) = AddViews(fused, scope, row->out, ValueOf({i, 0}));
  }

  // tuple/group_deps and a view of each gradient that waits for it. `last`: the last op that makes one.
  void AddGate(OpIndex forward, OpIndex last) {
    const std::string scope = "gradients/" + Fused(forward).name + "/tuple/";
    sim::Op all = Helper(Fused(last), scope + "group_deps", "NoOp");
    OpIndex first = last;
    while (first > 0 && (forward_of_[At(first - 1)] == forward)) --first;
    for (OpIndex i = first; i <= last; ++i) {
      if (Fused(i).IsSource()) continue;
      all.control.push_back(values_[At(i)].front().op);
    }
    const OpIndex group = Push(std::move(all)).op;
    int number = 0;
    for (OpIndex i = first; i <= last; ++i) {
      if (Fused(i).IsSource()) continue;
      for (std::size_t o = 0; o < values_[At(i)].size(); ++o) {
        if (!read_[At(i)][o]) continue;
        Tensor& value = values_[At(i)][o];
        value =
            AddView(Fused(i), scope + "control_dependency_" + std::to_string(number++), "Identity", value);
        unfused_.ops.back().control = {group};
      }
    }
  }

  const sim::OpGraph& fused_;
  const std::vector<OpIndex>& forward_of_;
  std::string_view optimizer_;
  sim::OpGraph unfused_;
  // By fused op:
  std::vector<OpIndex> op_;                  // itself in the unfused graph
  std::vector<std::vector<Tensor>> values_;  // what readers of its outputs read
  std::vector<std::vector<bool>> read_;      // by output: somebody reads it
  std::vector<OpIndex> gate_at_;             // the forward op whose last gradient it makes, or -1
  std::unordered_map<OpIndex, std::vector<Tensor>> slots_;       // by variable
  std::unordered_map<std::string, std::vector<Tensor>> shared_;  // helpers added before ops, by full name
  std::vector<Tensor> rates_;
};

}  // namespace

sim::OpGraph ExpandRaw(const sim::OpGraph& fused, const std::vector<OpIndex>& forward_of,
                       std::string_view optimizer) {
  return Expansion(fused, forward_of, optimizer).Expand();
}

}  // namespace stowplan::scenarios
