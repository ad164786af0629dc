// What a model starts from: its inputs, with the dimensions that the user gives, and its weights.
#include <utility>

#include "scenarios/importers/onnx/resolver.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"

namespace stowplan::scenarios::onnx_import {
namespace {

// Reals that decide shapes: the scales of a Resize.
constexpr std::size_t kMostReals = 64;

}  // namespace

std::string AxisName(const std::string& tensor, std::size_t axis) {
  return tensor + ":" + std::to_string(axis);
}

Shape Resolver::InputShape(const onnx::ValueInfoProto& input, std::vector<std::string>& missing) {
  const auto& type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !type.has_shape()) {
    throw InputError(source_ + ": input '" + input.name() +
                     "' is no tensor with a shape; export the model with the shapes of its inputs");
  }
  Shape shape;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(type.shape().dim_size()); ++axis) {
    const auto& dim = type.shape().dim(static_cast<int>(axis));
    const std::string place = AxisName(input.name(), axis);
    const std::string name = dim.dim_param().empty() ? place : dim.dim_param();
    // Exporters write 0 or -1 for what they do not know.
    if (dim.has_dim_value() && dim.dim_value() > 0) {
      shape.push_back(dim.dim_value());
      continue;
    }
    dims_known_.insert(name);
    const auto given = dims_.contains(place) ? dims_.find(place) : dims_.find(name);
    if (given == dims_.end()) {
      const std::string text =
          "'" + name + "' (axis " + std::to_string(axis) + " of input " + input.name() + ")";
      if (dims_missing_.insert(name).second) missing.push_back(text);
      shape.push_back(1);
      continue;
    }
    dims_used_.insert(given->first);
    result_.dims[name] = given->second;
    shape.push_back(given->second);
  }
  return shape;
}

void Resolver::AddInputs(Scope& scope) {
  std::vector<std::string> missing;
  for (const auto& input : model_.graph().input()) {
    if (scope.tensors.contains(input.name())) continue;  // with an initializer as its default
    TensorInfo info{.name = input.name(),
                    .kind = TensorInfo::Kind::kInput,
                    .elem_type = input.type().tensor_type().elem_type(),
                    .shape = InputShape(input, missing),
                    .value = nullptr};
    const TensorIndex added = Add(std::move(info), source_);
    scope.tensors.emplace(input.name(), added);
    result_.inputs.push_back(added);
  }
  if (!missing.empty()) {
    const std::string first = missing.front().substr(1, missing.front().find('\'', 1) - 1);
    throw InputError(source_ + ": " + (missing.size() == 1 ? "the dimension " : "the dimensions ") +
                     JoinNames(missing) + (missing.size() == 1 ? " has" : " have") +
                     " no value; give each to `stowplan graph import`, for example --dim " + first + "=8");
  }
}

void Resolver::AddWeights(const onnx::GraphProto& graph, Scope& scope) {
  if (graph.sparse_initializer_size() > 0) {
    throw InputError(source_ + ": initializer '" + graph.sparse_initializer(0).values().name() +
                     "' is sparse, which is not imported; export it as a dense tensor");
  }
  for (const auto& weight : graph.initializer()) {
    const auto [known, fresh] = weights_.emplace(&weight, kAbsent);
    if (fresh) {
      TensorInfo info{.name = weight.name(),
                      .kind = TensorInfo::Kind::kWeight,
                      .elem_type = weight.data_type(),
                      .shape = {weight.dims().begin(), weight.dims().end()},
                      .value = ValueOf(weight)};
      if (info.value != nullptr && info.value->reals() != nullptr &&
          info.value->reals()->size() > kMostReals) {
        info.value = nullptr;
      }
      known->second = Add(std::move(info), source_);
      newest_weights_.push_back(&weight);
    }
    if (!scope.tensors.emplace(weight.name(), known->second).second) {
      throw InputError(source_ + ": two initializers are named '" + weight.name() +
                       "'; export the model again");
    }
  }
}

void Resolver::CheckDimsUsed() const {
  for (const auto& [name, value] : dims_) {
    if (dims_used_.contains(name)) continue;
    const std::vector<std::string> known(dims_known_.begin(), dims_known_.end());
    throw InputError(source_ + ": --dim " + name + "=" + std::to_string(value) +
                     ": the model has no such dimension without a value" +
                     (known.empty() ? "; its inputs have none" : "; its inputs have " + JoinNames(known)));
  }
}

}  // namespace stowplan::scenarios::onnx_import
