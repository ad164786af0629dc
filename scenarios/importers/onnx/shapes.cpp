#include "scenarios/importers/onnx/shapes.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include "scenarios/importers/onnx/einsum.h"
#include "sim/units.h"

namespace berth::scenarios::onnx_import {
namespace {

const onnx::OpSchema* FindSchema(const onnx::NodeProto& node, int opset) {
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  // Other domains of the library (ai.onnx.ml) have few versions, and models rarely say which.
  const onnx::OpSchema* schema = domain.empty()
                                     ? onnx::OpSchemaRegistry::Schema(node.op_type(), opset, domain)
                                     : onnx::OpSchemaRegistry::Schema(node.op_type(), domain);
  // Schema() answers with a later version where there is none as old.
  return schema == nullptr || schema->Deprecated() || (domain.empty() && schema->SinceVersion() > opset)
             ? nullptr
             : schema;
}

// Products of a few such numbers with an image (kLongestAxis) stay far from 2^63.
constexpr std::int64_t kMostStride = 1 << 20;
constexpr std::int64_t kLongestAxis = 1 << 30;

// What the rules of the library multiply, divide by or index with, without a check of their own.
void CheckAttributes(const onnx::NodeProto& node) {
  const auto usable = [](std::int64_t v) { return v >= 1 && v <= kMostStride; };
  for (const char* name : {"strides", "dilations", "kernel_shape"}) {
    const auto values = IntsAttribute(node, name);
    if (!std::all_of(values.begin(), values.end(), usable)) {
      throw std::invalid_argument(std::string("its ") + name + " must be 1 to 2^20");
    }
  }
  for (const char* name : {"pads", "output_padding"}) {
    const auto values = IntsAttribute(node, name);
    if (std::any_of(values.begin(), values.end(),
                    [](std::int64_t v) { return v < -kMostStride || v > kMostStride; })) {
      throw std::invalid_argument(std::string("its ") + name + " must be -2^20 to 2^20");
    }
  }
  for (const char* name : {"group", "blocksize", "num_groups", "hidden_size", "num_outputs"}) {
    if (FindAttribute(node, name) != nullptr && !usable(IntAttribute(node, name, 0))) {
      throw std::invalid_argument(std::string("its ") + name + " must be 1 to 2^20");
    }
  }
  const auto split = IntsAttribute(node, "split");
  if (std::any_of(split.begin(), split.end(), [](std::int64_t v) { return v < 0; })) {
    throw std::invalid_argument("its split must not be negative");
  }
}

// Windows that slide over images: as many numbers in each attribute as the image has axes behind its channels.
void CheckWindow(const onnx::NodeProto& node, const std::vector<const TensorInfo*>& inputs) {
  static constexpr const char* kTypes[] = {"Conv",    "ConvTranspose", "ConvInteger", "QLinearConv",
                                           "MaxPool", "AveragePool",   "LpPool",      "MaxUnpool"};
  const std::string& type = node.op_type();
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes) || inputs.empty()) return;
  const std::size_t rank = inputs[0]->shape.size();
  if (rank < 3)
    throw std::invalid_argument("its input has " + std::to_string(rank) + " axes, but needs at least 3");
  const std::size_t weights = type == "QLinearConv" ? 3 : 1;
  if (type.find("Conv") != std::string::npos && inputs.at(weights)->shape.size() != rank) {
    throw std::invalid_argument("its filter has another number of axes than its input");
  }
  for (std::size_t axis = 2; axis < rank; ++axis) {
    if (inputs[0]->shape[axis] > kLongestAxis) {
      throw std::invalid_argument("its image is longer than 2^30 along axis " + std::to_string(axis));
    }
    if (type.find("Conv") != std::string::npos && inputs[weights]->shape[axis] > kMostStride) {
      throw std::invalid_argument("its filter is longer than 2^20 along axis " + std::to_string(axis));
    }
  }
  for (const auto& [name, wanted] :
       {std::pair("kernel_shape", rank - 2), std::pair("strides", rank - 2), std::pair("dilations", rank - 2),
        std::pair("pads", 2 * (rank - 2)), std::pair("output_padding", rank - 2)}) {
    if (FindAttribute(node, name) != nullptr && IntsAttribute(node, name).size() != wanted) {
      throw std::invalid_argument(std::string("its ") + name + " must be " + std::to_string(wanted) +
                                  " numbers");
    }
  }
}

// DepthToSpace [N, C, H, W] -> [N, C / b^2, H b, W b], SpaceToDepth the other way.
void CheckBlocks(const onnx::NodeProto& node, const std::vector<const TensorInfo*>& inputs) {
  const bool to_space = node.op_type() == "DepthToSpace";
  if ((!to_space && node.op_type() != "SpaceToDepth") || inputs.empty() || inputs[0] == nullptr) return;
  const Shape& image = inputs[0]->shape;
  if (image.size() != 4) throw std::invalid_argument("its input must have 4 axes");
  const std::int64_t block = IntAttribute(node, "blocksize", 1);
  const bool fits =
      to_space ? image[1] % (block * block) == 0 : image[2] % block == 0 && image[3] % block == 0;
  if (!fits) {
    throw std::invalid_argument(std::string("its ") + (to_space ? "channels" : "rows and columns") +
                                " must be a multiple of its blocksize" + (to_space ? " squared" : ""));
  }
  if (std::max(image[2], image[3]) > kLongestAxis || image[1] > kLongestAxis) {
    throw std::invalid_argument("its input has an axis longer than 2^30");
  }
}

// The repeats of Tile, whose products with the input must not wrap.
void CheckRepeats(const onnx::NodeProto& node, const std::vector<const TensorInfo*>& inputs) {
  if (node.op_type() != "Tile" || inputs.size() != 2 || inputs[0] == nullptr || inputs[1] == nullptr) return;
  if (inputs[1]->value == nullptr || inputs[1]->value->ints() == nullptr) return;
  const Shape& shape = inputs[0]->shape;
  const auto& repeats = *inputs[1]->value->ints();
  for (std::size_t axis = 0; axis < std::min(shape.size(), repeats.size()); ++axis) {
    if (repeats[axis] < 0) throw std::invalid_argument("its repeats must not be negative");
    if (shape[axis] > 0 && repeats[axis] > sim::kMaxBytes / shape[axis]) {
      throw std::invalid_argument("its output would be longer than 2^50 along axis " + std::to_string(axis));
    }
  }
}

void CheckRanks(const onnx::NodeProto& node, const std::vector<const TensorInfo*>& inputs) {
  if (inputs.empty() || inputs[0] == nullptr) return;
  const auto rank = static_cast<std::int64_t>(inputs[0]->shape.size());
  if (node.op_type() == "STFT" && rank < 2) throw std::invalid_argument("its signal has fewer than 2 axes");
  if (node.op_type() != "LayerNormalization") return;
  const std::int64_t axis = IntAttribute(node, "axis", -1);
  if (axis < -rank || axis >= rank) throw std::invalid_argument("its axis is not one of its input");
}

class Context final : public onnx::InferenceContext {
 public:
  Context(const onnx::NodeProto& node, const std::vector<const TensorInfo*>& inputs)
      : node_(node),
        inputs_(inputs),
        types_(inputs.size()),
        data_(inputs.size()),
        outputs_(static_cast<std::size_t>(node.output_size())) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      auto* tensor = types_[i].mutable_tensor_type();
      tensor->set_elem_type(inputs[i]->elem_type);
      auto* shape = tensor->mutable_shape();
      for (const std::int64_t dim : inputs[i]->shape) shape->add_dim()->set_dim_value(dim);
      if (inputs[i]->value != nullptr) data_[i] = ToProto(*inputs[i]->value, inputs[i]->elem_type);
    }
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    return FindAttribute(node_, name);
  }
  std::size_t getNumInputs() const override { return inputs_.size(); }
  const onnx::TypeProto* getInputType(std::size_t i) const override {
    return i < inputs_.size() && inputs_[i] != nullptr ? &types_[i] : nullptr;
  }
  const onnx::TensorProto* getInputData(std::size_t i) const override {
    return i < inputs_.size() && data_[i] ? &*data_[i] : nullptr;
  }
  std::size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(std::size_t i) override {
    if (i >= outputs_.size()) throw std::invalid_argument("it has too few outputs");
    return &outputs_[i];
  }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t) const override { return nullptr; }

 private:
  const onnx::NodeProto& node_;
  const std::vector<const TensorInfo*>& inputs_;
  std::vector<onnx::TypeProto> types_;
  std::vector<std::optional<onnx::TensorProto>> data_;
  std::vector<onnx::TypeProto> outputs_;
};

InferredOutput Describe(const onnx::TypeProto& type) {
  InferredOutput output;
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) return output;
  output.is_tensor = type.has_tensor_type();
  if (!output.is_tensor) return output;
  output.elem_type = type.tensor_type().elem_type();
  if (!type.tensor_type().has_shape()) return output;
  output.dims.emplace();
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() < 0) {
      throw std::invalid_argument("its output would have the size " + std::to_string(dim.dim_value()) +
                                  " along axis " + std::to_string(output.dims->size()));
    }
    output.dims->push_back(dim.has_dim_value() ? std::optional(dim.dim_value()) : std::nullopt);
  }
  return output;
}

}  // namespace

bool IsStandard(const onnx::NodeProto& node, int opset) {
  return FindSchema(node, opset) != nullptr;
}

std::vector<InferredOutput> InferOutputs(const onnx::NodeProto& node, int opset,
                                         const std::vector<const TensorInfo*>& inputs) {
  std::vector<InferredOutput> outputs(static_cast<std::size_t>(node.output_size()));
  const onnx::OpSchema* schema = FindSchema(node, opset);
  if (schema == nullptr) return outputs;
  schema->Verify(node);
  CheckAttributes(node);
  CheckRanks(node, inputs);
  CheckWindow(node, inputs);
  CheckBlocks(node, inputs);
  CheckRepeats(node, inputs);
  Context context(node, inputs);
  schema->GetTypeAndShapeInferenceFunction()(context);
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = Describe(*context.getOutputType(i));
  if (node.op_type() == "Einsum" && outputs.size() == 1) {
    std::vector<Shape> operands;
    for (const TensorInfo* input : inputs) {
      if (input == nullptr) throw std::invalid_argument("an operand is left out");
      operands.push_back(input->shape);
    }
    const Shape shape = ReadEinsum(TextAttribute(node, "equation", ""), operands).shape;
    outputs[0].dims.emplace(shape.begin(), shape.end());
  }
  return outputs;
}

}  // namespace berth::scenarios::onnx_import
