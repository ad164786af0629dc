#include "scenarios/importers/trace/inputs.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stowplan::scenarios::trace {
namespace {

using Shape = std::vector<std::int64_t>;

class Telling {
 public:
  Telling(const Evidence& evidence, const sim::OpGraph& graph) : evidence_(evidence), graph_(graph) {
    for (const sim::OpIndex variable : evidence.variables) {
      if (evidence.weights.contains(variable)) continue;
      (evidence.data.contains(variable) ? data_ : open_).insert(variable);
    }
    DropThoseWithGradients();
  }

  std::set<sim::OpIndex> Data() {
    std::set<std::int64_t> batches;
    for (const sim::OpIndex variable : data_) AddBatch(variable, batches);
    if (batches.empty() && !evidence_.weights.empty()) AddBatch(Largest(), batches);
    for (const sim::OpIndex variable : open_) {
      const Shape& shape = ShapeOf(variable);
      if (!evidence_.written.contains(variable) && !shape.empty() && batches.contains(shape.front()))
        data_.insert(variable);
    }
    return data_;
  }

 private:
  const sim::Output& Tensor(sim::OpIndex variable) const {
    return graph_.ops[static_cast<std::size_t>(variable)].outputs.front();
  }
  const Shape& ShapeOf(sim::OpIndex variable) const { return Tensor(variable).shape; }

  // Gradients say the shapes of their weights. Where more tensors have one than gradients, none of these is told to be data.
  void DropThoseWithGradients() {
    std::multiset<Shape> left = evidence_.gradients;
    for (const sim::OpIndex variable : evidence_.weights) {
      if (const auto found = left.find(ShapeOf(variable)); found != left.end()) left.erase(found);
    }
    std::erase_if(open_, [&](sim::OpIndex variable) { return left.contains(ShapeOf(variable)); });
  }

  void AddBatch(sim::OpIndex variable, std::set<std::int64_t>& batches) const {
    if (variable < 0 || ShapeOf(variable).empty() || ShapeOf(variable).front() < 2) return;
    batches.insert(ShapeOf(variable).front());
  }

  sim::OpIndex Largest() const {
    sim::OpIndex largest = -1;
    for (const sim::OpIndex variable : open_) {
      if (evidence_.written.contains(variable) || ShapeOf(variable).empty()) continue;
      if (largest < 0 || Tensor(variable).bytes > Tensor(largest).bytes) largest = variable;
    }
    return largest;
  }

  const Evidence& evidence_;
  const sim::OpGraph& graph_;
  std::set<sim::OpIndex> data_;
  std::set<sim::OpIndex> open_;
};

bool IsWeight(const Argument& argument) {
  const std::string_view name = argument.name;
  if (name.starts_with("attn")) return false;  // what is added to scores
  constexpr std::array<std::string_view, 4> kWeights = {"weight", "bias", "running_mean", "running_var"};
  return name == "params" ||  // of recurrent layers
         std::ranges::any_of(kWeights, [&](std::string_view weight) {
           return name == weight || (name.ends_with(weight) && name[name.size() - weight.size() - 1] == '_');
         });
}

}  // namespace

Role RoleOf(const Node& node, const Argument& argument) {
  if (IsWeight(argument)) return Role::kWeight;
  const std::string_view name = argument.name;
  if (name == "input" || name == "target") return Role::kData;
  const bool is_index = name == "indices" || name == "offsets";
  return is_index && std::ranges::any_of(node.inputs, IsWeight) ? Role::kData : Role::kNone;
}

std::size_t TellInputs(const Evidence& evidence, sim::OpGraph& graph) {
  const std::set<sim::OpIndex> data = Telling(evidence, graph).Data();
  for (const sim::OpIndex index : data) {
    sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
    op.type = "Placeholder";
    op.outputs.front().storage = sim::Output::Storage::kOwn;
    op.outputs.front().bytes = std::max(op.outputs.front().bytes, op.persistent_bytes);
    op.persistent_bytes = 0;
  }
  return data.size();
}

}  // namespace stowplan::scenarios::trace
