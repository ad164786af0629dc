#include "sim/op_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

[[noreturn]] void Fail(const Op& op, const std::string& what) {
  throw InputError("op '" + op.name + "': " + what);
}

void CheckBytes(const Op& op, const std::string& what, Bytes bytes) {
  if (bytes < 0 || bytes > kMaxBytes) {
    Fail(op, what + " is " + std::to_string(bytes) + ", but must be between 0 and 2^50");
  }
}

void CheckMicros(const Op& op, const std::string& what, double micros) {
  if (!std::isfinite(micros) || micros < 0 || micros > kMaxMicros) {
    Fail(op, what + " is " + std::to_string(micros) + ", but must be between 0 and 1e12 microseconds");
  }
}

void CheckNumbers(const Op& op) {
  CheckBytes(op, "persistent_bytes", op.persistent_bytes);
  CheckBytes(op, "workspace_bytes", op.workspace_bytes);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const std::string place = "outputs[" + std::to_string(i) + "]";
    CheckBytes(op, place + ".bytes", op.outputs[i].bytes);
    for (const auto dim : op.outputs[i].shape) {
      if (dim < 0) Fail(op, place + ".shape has the negative dimension " + std::to_string(dim));
    }
  }
  if (!std::isfinite(op.flops) || op.flops < 0 || op.flops > 1e24) {
    Fail(op, "flops is " + std::to_string(op.flops) + ", but must be between 0 and 1e24");
  }
  if (op.framework_ops < 0) Fail(op, "framework_ops is negative");
  if (op.cost_us) CheckMicros(op, "cost_us", *op.cost_us);
  for (const auto& [kind, micros] : op.cost_us_by_kind) CheckMicros(op, "cost_us." + kind, micros);
}

// Sums over a graph must stay inside 64 bits. Doubles cannot wrap, and 2^60 leaves them room to be inexact.
void CheckSums(const OpGraph& graph) {
  constexpr double kMost = 0x1p60;
  double bytes = 0, elements = 0;
  for (const Op& op : graph.ops) {
    bytes += static_cast<double>(op.persistent_bytes) + static_cast<double>(op.workspace_bytes);
    for (const Output& output : op.outputs) {
      bytes += static_cast<double>(output.bytes);
      double product = 1;  // a dimension of 0 makes no product of the others smaller
      for (const auto dim : output.shape) product *= std::max(1.0, static_cast<double>(dim));
      if (product > kMost) Fail(op, "an output has a shape of more than 2^60 elements");
      elements += product;
    }
  }
  if (bytes > kMost)
    throw InputError("graph '" + graph.name + "' holds more than 2^60 bytes in all; check its sizes");
  if (elements > kMost)
    throw InputError("graph '" + graph.name + "' holds more than 2^60 elements in all; check its shapes");
}

// The ops of one cycle, found by walking from a stuck op to a stuck producer until one comes again. What one member of a
// collective waits for all of them do. lead: by op, the first member of its collective, or itself; missing: by lead.
std::string CycleText(const OpGraph& graph, const std::vector<OpIndex>& lead,
                      const std::vector<std::int32_t>& missing) {
  const auto is_stuck = [&](OpIndex op) {
    return missing[static_cast<std::size_t>(lead[static_cast<std::size_t>(op)])] > 0;
  };
  std::vector<OpIndex> waits_for(graph.ops.size(), -1);  // by lead
  OpIndex op = -1;
  for (OpIndex i = 0; i < graph.size(); ++i) {
    if (!is_stuck(i)) continue;
    OpIndex& first = waits_for[static_cast<std::size_t>(lead[static_cast<std::size_t>(i)])];
    const Op& current = graph.ops[static_cast<std::size_t>(i)];
    for (const auto& input : current.inputs)
      if (first < 0 && is_stuck(input.op)) first = input.op;
    for (const OpIndex control : current.control)
      if (first < 0 && is_stuck(control)) first = control;
    if (op < 0) op = i;
  }
  const auto stuck_producer = [&](OpIndex of) {
    return waits_for[static_cast<std::size_t>(lead[static_cast<std::size_t>(of)])];
  };
  const auto at_lead = [&](OpIndex of) {
    return static_cast<std::size_t>(lead[static_cast<std::size_t>(of)]);
  };
  std::vector<bool> seen(graph.ops.size(), false);
  for (; !seen[at_lead(op)]; op = stuck_producer(op)) seen[at_lead(op)] = true;
  constexpr int kMostShown = 8;
  std::string text = "'" + graph.ops[static_cast<std::size_t>(op)].name + "'";
  OpIndex at = stuck_producer(op);
  for (int shown = 1; at_lead(at) != at_lead(op) && shown < kMostShown; ++shown, at = stuck_producer(at)) {
    text = "'" + graph.ops[static_cast<std::size_t>(at)].name + "' -> " + text;
  }
  return (at_lead(at) == at_lead(op) ? "'" + graph.ops[static_cast<std::size_t>(at)].name + "' -> "
                                     : "... -> ") +
         text;
}

void CheckReferences(const Op& op, const std::vector<Op>& ops) {
  const auto count = static_cast<OpIndex>(ops.size());
  for (const auto& input : op.inputs) {
    if (input.op < 0 || input.op >= count) Fail(op, "reads an op that does not exist");
    const Op& producer = ops[static_cast<std::size_t>(input.op)];
    if (input.output < 0 || input.output >= static_cast<std::int32_t>(producer.outputs.size())) {
      Fail(op, "reads output " + std::to_string(input.output) + " of '" + producer.name + "', which has " +
                   std::to_string(producer.outputs.size()) + " outputs");
    }
  }
  for (const OpIndex control : op.control) {
    if (control < 0 || control >= count) Fail(op, "waits for an op that does not exist");
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Output& output = op.outputs[i];
    if (output.storage == Output::Storage::kInput &&
        std::find(op.inputs.begin(), op.inputs.end(), output.alias) == op.inputs.end()) {
      Fail(op, "outputs[" + std::to_string(i) + "].alias names what is not one of the op's inputs");
    }
  }
}

}  // namespace

bool EndsLikeAnOutput(const std::string& text) {
  const auto colon = text.find_last_not_of("0123456789");
  return colon != std::string::npos && colon + 1 < text.size() && text[colon] == ':';
}

const Attribute* FindAttribute(const Attributes& attributes, const std::string& key) {
  for (const auto& [name, value] : attributes) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::optional<double> FindNumber(const Attributes& attributes, const std::string& key) {
  const Attribute* found = FindAttribute(attributes, key);
  if (found == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&found->value)) return *real;
  return std::nullopt;
}

std::optional<bool> FindBool(const Attributes& attributes, const std::string& key) {
  const Attribute* found = FindAttribute(attributes, key);
  const bool* value = found != nullptr ? std::get_if<bool>(&found->value) : nullptr;
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::string> FindString(const Attributes& attributes, const std::string& key) {
  const Attribute* found = FindAttribute(attributes, key);
  const auto* text = found != nullptr ? std::get_if<std::string>(&found->value) : nullptr;
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

bool Op::IsSource() const {
  return type == "Variable" || type == "Constant" || type == "Const" || type == "Placeholder";
}

void OpGraph::Finish() {
  if (ops.empty()) throw InputError("a graph needs at least one op");
  if (static_cast<std::int64_t>(ops.size()) >= kMaxOps) throw InputError("a graph of 2^31 ops or more");
  index_.clear();
  index_.reserve(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    if (op.name.empty()) throw InputError("ops[" + std::to_string(i) + "] has an empty name");
    if (op.type.empty()) Fail(op, "has an empty type");
    if (EndsLikeAnOutput(op.name)) {
      Fail(op, "a name must not end in ':' and digits, which is how outputs are written; rename it");
    }
    if (!index_.emplace(op.name, static_cast<OpIndex>(i)).second) {
      throw InputError("two ops are named '" + op.name + "'; names must be unique");
    }
  }
  for (const Op& op : ops) {
    CheckNumbers(op);
    CheckReferences(op, ops);
  }
  CheckSums(*this);

  consumers_.assign(ops.size(), {});
  edges_ = 0;
  std::vector<TensorRef> dependencies;
  for (OpIndex i = 0; i < size(); ++i) {
    const Op& op = ops[static_cast<std::size_t>(i)];
    dependencies.assign(op.inputs.begin(), op.inputs.end());
    for (const OpIndex control : op.control) dependencies.push_back({control, -1});
    std::sort(dependencies.begin(), dependencies.end());
    dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
    edges_ += static_cast<std::int64_t>(dependencies.size());
    for (const auto& dependency : dependencies) {
      auto& readers = consumers_[static_cast<std::size_t>(dependency.op)];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
  }

  FindCollectives();
  SortTopologically();

  colocation_set_.assign(ops.size(), -1);
  colocation_sets_ = 0;
  std::unordered_map<std::string, std::int32_t> sets;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].colocate.empty()) {
      colocation_set_[i] = colocation_sets_++;
      continue;
    }
    const auto [it, fresh] = sets.emplace(ops[i].colocate, colocation_sets_);
    if (fresh) ++colocation_sets_;
    colocation_set_[i] = it->second;
  }
}

void OpGraph::FindCollectives() {
  collectives_.clear();
  std::unordered_map<std::int32_t, std::size_t> numbers;
  for (OpIndex i = 0; i < size(); ++i) {
    const Op& op = ops[static_cast<std::size_t>(i)];
    if (op.collective < 0) continue;
    if (op.inputs.size() != 1 || op.outputs.size() != 1)
      Fail(op, "is a member of a collective, so it takes and gives one tensor");
    const auto [found, fresh] = numbers.emplace(op.collective, collectives_.size());
    if (fresh) collectives_.emplace_back();
    std::vector<OpIndex>& members = collectives_[found->second];
    members.push_back(i);
    const Op& first = ops[static_cast<std::size_t>(members.front())];
    if (op.type != first.type)
      Fail(op,
           "is " + op.type + ", but '" + first.name + "', a member of the same collective, is " + first.type);
  }
}

// Kahn, smallest index first; the members of a collective, which begin together, are one.
void OpGraph::SortTopologically() {
  std::vector<OpIndex> lead(ops.size());
  std::iota(lead.begin(), lead.end(), 0);
  std::unordered_map<OpIndex, const std::vector<OpIndex>*> members_of;  // by lead
  for (const std::vector<OpIndex>& members : collectives_) {
    members_of.emplace(members.front(), &members);
    for (const OpIndex member : members) lead[static_cast<std::size_t>(member)] = members.front();
  }
  const auto lead_of = [&](OpIndex op) { return lead[static_cast<std::size_t>(op)]; };
  std::vector<std::int32_t> missing(ops.size(), 0);  // by lead
  for (const auto& readers : consumers_) {
    for (const OpIndex reader : readers) ++missing[static_cast<std::size_t>(lead_of(reader))];
  }
  std::priority_queue<OpIndex, std::vector<OpIndex>, std::greater<>> ready;
  for (OpIndex i = 0; i < size(); ++i) {
    if (lead_of(i) == i && missing[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  topological_order_.clear();
  topological_order_.reserve(ops.size());
  const auto take = [&](OpIndex op) {
    topological_order_.push_back(op);
    for (const OpIndex reader : consumers(op)) {
      if (--missing[static_cast<std::size_t>(lead_of(reader))] == 0) ready.push(lead_of(reader));
    }
  };
  while (!ready.empty()) {
    const OpIndex op = ready.top();
    ready.pop();
    const auto found = members_of.find(op);
    if (found == members_of.end()) {
      take(op);
    } else {
      for (const OpIndex member : *found->second) take(member);
    }
  }
  if (topological_order_.size() != ops.size())
    throw InputError("the ops " + CycleText(*this, lead, missing) + " form a cycle; a graph must have none");
}

OpIndex OpGraph::Find(const std::string& op_name) const {
  const auto it = index_.find(op_name);
  return it == index_.end() ? -1 : it->second;
}

OpGraph::Totals OpGraph::totals() const {
  Totals totals;
  for (const Op& op : ops) {
    totals.flops += op.flops;
    totals.persistent_bytes += op.persistent_bytes;
    for (const Output& output : op.outputs) {
      if (output.storage == Output::Storage::kOwn) totals.output_bytes += output.bytes;
    }
    const Attribute* trainable = FindAttribute(op.attributes, "trainable");
    const bool frozen = trainable != nullptr && trainable->value == decltype(trainable->value)(false);
    if (op.type != "Variable" || frozen || op.outputs.empty()) continue;
    std::int64_t elements = 1;
    for (const auto dim : op.outputs.front().shape) elements *= dim;
    const bool known = !op.outputs.front().dtype.empty() || !op.outputs.front().shape.empty();
    totals.parameters += known ? elements : 0;
  }
  return totals;
}

}  // namespace stowplan::sim
