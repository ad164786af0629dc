#include "scenarios/builder/graph_builder.h"

#include <algorithm>
#include <utility>

#include "sim/base/dtypes.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {

sim::Attributes LocationAttributes(const Location& location) {
  sim::Attributes attributes;
  if (location.stage >= 0) AddAttribute(attributes, "stage", std::int64_t{location.stage});
  if (location.branch >= 0) AddAttribute(attributes, "branch", std::int64_t{location.branch});
  if (location.reached < 1) AddAttribute(attributes, "reached", location.reached);
  return attributes;
}

std::int64_t Elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const auto dim : shape) elements *= dim;
  return elements;
}

std::int64_t BitsPerElement(std::string_view dtype) {
  const auto* known = std::ranges::find(sim::kDtypes, dtype, &sim::Dtype::name);
  return known != std::end(sim::kDtypes) ? known->bits : 0;
}

sim::Bytes BytesOf(const Shape& shape, std::string_view dtype) {
  const std::int64_t bits = BitsPerElement(dtype);
  const std::int64_t elements = Elements(shape);
  return bits % 8 == 0 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

bool IsFloating(std::string_view dtype) {
  return dtype.starts_with('f') || dtype.starts_with("bf");
}

int Slots(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
      return 1;
    case Optimizer::kAdam:
    case Optimizer::kRmsProp:
      return 2;
  }
  return 0;
}

const char* UpdateType(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return "ApplyGradientDescent";
    case Optimizer::kMomentum:
      return "ApplyMomentum";
    case Optimizer::kAdam:
      return "ApplyAdam";
    case Optimizer::kRmsProp:
      return "ApplyRMSProp";
  }
  return "";
}

void CheckNumberOfOps(const sim::OpGraph& graph, std::size_t most) {
  if (graph.ops.size() < most) return;
  throw InputError(graph.name + ": a graph of these sizes has more than " + std::to_string(most) +
                   " ops; choose fewer layers, steps or experts");
}

GraphBuilder::GraphBuilder(std::string name, const BuilderOptions& options) : options_(options) {
  graph_.name = std::move(name);
}

GraphBuilder::Scope::Scope(GraphBuilder& builder, std::string_view name)
    : builder_(builder), length_before_(builder.prefix_.size()) {
  builder_.prefix_ += name;
  builder_.prefix_ += '/';
}

GraphBuilder::Scope::~Scope() {
  builder_.prefix_.resize(length_before_);
}

const Shape& GraphBuilder::shape(Tensor tensor) const {
  return op(tensor).outputs[static_cast<std::size_t>(tensor.output)].shape;
}

const std::string& GraphBuilder::dtype(Tensor tensor) const {
  return op(tensor).outputs[static_cast<std::size_t>(tensor.output)].dtype;
}

Tensor GraphBuilder::AppendAt(const OpSpec& spec, const std::string& full_name, const std::string& phase,
                              const Location& location) {
  CheckNumberOfOps(graph_);
  sim::Op op;
  op.name = full_name;
  op.type = spec.type;
  op.inputs = spec.inputs;
  for (const TensorSpec& tensor : spec.outputs) {
    sim::Output output;
    STOWPLAN_CHECK(BitsPerElement(tensor.dtype) > 0);
    output.bytes = BytesOf(tensor.shape, tensor.dtype);
    output.dtype = tensor.dtype;
    output.shape = tensor.shape;
    op.outputs.push_back(std::move(output));
  }
  if (spec.view_of >= 0) {
    const Tensor source = spec.inputs.at(static_cast<std::size_t>(spec.view_of));
    STOWPLAN_CHECK_EQ(Elements(shape(source)), Elements(spec.outputs.at(0).shape));
    op.outputs[0].storage = sim::Output::Storage::kInput;
    op.outputs[0].alias = source;
  }
  if (spec.colocate_with >= 0) {
    op.colocate = this->op(spec.inputs.at(static_cast<std::size_t>(spec.colocate_with))).colocate;
  }
  op.flops = spec.flops;
  op.framework_ops = location.is_issued ? options_.framework_ops : 0;
  op.group = location.group;
  op.phase = phase;
  op.attributes = LocationAttributes(location);
  op.attributes.insert(op.attributes.end(), spec.attributes.begin(), spec.attributes.end());

  bool requires_gradient = false;
  for (const Tensor input : spec.inputs) {
    STOWPLAN_CHECK(input.op >= 0 && input.op < static_cast<sim::OpIndex>(graph_.ops.size()));
    requires_gradient = requires_gradient || this->requires_gradient(input);
  }
  graph_.ops.push_back(std::move(op));
  locations_.push_back(location);
  requires_gradient_.push_back(requires_gradient);
  in_place_.push_back(spec.in_place);
  forward_of_.push_back(-1);
  return {static_cast<sim::OpIndex>(graph_.ops.size()) - 1, 0};
}

Tensor GraphBuilder::Append(const OpSpec& spec) {
  return AppendAt(spec, prefix_ + spec.name, "forward", location_);
}

Tensor GraphBuilder::Placeholder(const std::string& name, const Shape& shape, const std::string& dtype) {
  return Append({.type = "Placeholder", .name = name, .inputs = {}, .outputs = {{shape, dtype}}});
}

bool GraphBuilder::requires_gradient(Tensor tensor) const {
  return requires_gradient_[static_cast<std::size_t>(tensor.op)] && IsFloating(dtype(tensor));
}

bool GraphBuilder::IsViewOfVariable(Tensor tensor) const {
  const sim::Output* output = &op(tensor).outputs[static_cast<std::size_t>(tensor.output)];
  while (output->storage == sim::Output::Storage::kInput) {
    tensor = output->alias;
    output = &op(tensor).outputs[static_cast<std::size_t>(tensor.output)];
  }
  return output->storage == sim::Output::Storage::kPersistent;
}

Tensor GraphBuilder::Constant(const std::string& name, const Shape& shape, const std::string& dtype) {
  return Append({.type = "Constant", .name = name, .inputs = {}, .outputs = {{shape, dtype}}});
}

Tensor GraphBuilder::Variable(const std::string& name, const Shape& shape, const std::string& dtype) {
  const Tensor variable =
      Append({.type = "Variable", .name = name, .inputs = {}, .outputs = {{shape, dtype}}});
  sim::Op& made = graph_.ops.back();
  const int copies = 1 + (training() ? Slots(options_.optimizer) : 0);
  made.outputs[0].storage = sim::Output::Storage::kPersistent;
  made.persistent_bytes = made.outputs[0].bytes * copies;
  if (training()) made.colocate = made.name;
  requires_gradient_.back() = true;
  return variable;
}

Tensor GraphBuilder::State(const std::string& name, const Shape& shape, const std::string& dtype) {
  OpSpec spec{.type = "Variable", .name = name, .inputs = {}, .outputs = {{shape, dtype}}};
  AddAttribute(spec.attributes, "trainable", false);
  const Tensor state = Append(spec);
  sim::Op& made = graph_.ops.back();
  made.outputs[0].storage = sim::Output::Storage::kPersistent;
  made.persistent_bytes = made.outputs[0].bytes;
  made.colocate = made.name;
  return state;
}

}  // namespace stowplan::scenarios
