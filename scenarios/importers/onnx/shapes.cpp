#include "scenarios/importers/onnx/shapes.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include "scenarios/importers/onnx/collectives.h"
#include "scenarios/importers/onnx/einsum.h"
#include "scenarios/importers/onnx/newer_sets.h"
#include "scenarios/importers/onnx/node_rules.h"

namespace stowplan::scenarios::onnx_import {
namespace {

const onnx::OpSchema* FindSchema(const onnx::NodeProto& node, int file_opset) {
  const int opset = std::min(file_opset, kLibrarySet);
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

namespace {

std::vector<InferredOutput> InferNewer(const onnx::NodeProto& node, int opset,
                                       const std::vector<const TensorInfo*>& inputs) {
  const NodeFacts facts(node, opset, inputs);
  if (const NewerRule rule = FindNewerRule(node, opset)) {
    CheckCommonAttributes(facts);
    return rule(facts);
  }
  if (!node.domain().empty() && node.domain() != "ai.onnx") return InferOutputs(node, kLibrarySet, inputs);
  CheckCommonAttributes(facts);
  const Translated translated = ToLibrarySet(facts, inputs);
  if (translated.unknown) {
    std::vector<InferredOutput> outputs(static_cast<std::size_t>(node.output_size()));
    if (!outputs.empty()) outputs[0] = *translated.unknown;
    return outputs;
  }
  return InferOutputs(translated.node, kLibrarySet, translated.inputs);
}

// Outputs of pools and masks that the library gives no shape, or a wrong one.

// As many places as have a window that begins on the image or on the pad before it: where sizes are rounded up, what begins
// on the pad behind is dropped. (The library knows that of none, and divides with 24 bits.)
std::int64_t PlacesOfPool(std::int64_t image, std::int64_t before, std::int64_t behind, std::int64_t reach,
                          std::int64_t stride) {
  const std::int64_t spare = image + before + behind - reach;
  const std::int64_t places = (spare + stride - 1 >= 0 ? (spare + stride - 1) / stride : -1) + 1;
  return (places - 1) * stride >= image + before ? places - 1 : places;
}

void MendPool(const NodeFacts& facts, std::vector<InferredOutput>& outputs) {
  const std::string automatic = TextAttribute(facts.node(), "auto_pad", "NOTSET");
  if (facts.Int("ceil_mode", 0) == 0 || !facts.Has(0) || automatic.starts_with("SAME")) return;
  const std::vector<std::int64_t> kernel = facts.Ints("kernel_shape"), strides = facts.Ints("strides"),
                                  dilations = facts.Ints("dilations");
  const std::vector<std::int64_t> pads =
      automatic == "VALID" ? std::vector<std::int64_t>() : facts.Ints("pads");
  for (InferredOutput& output : outputs) {
    if (!output.dims || output.dims->size() != kernel.size() + 2) continue;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      const std::int64_t reach = (kernel[i] - 1) * (dilations.empty() ? 1 : dilations[i]) + 1;
      (*output.dims)[i + 2] =
          PlacesOfPool(facts.shape(0)[i + 2], pads.empty() ? 0 : pads[i],
                       pads.empty() ? 0 : pads[i + kernel.size()], reach, strides.empty() ? 1 : strides[i]);
    }
  }
}

// The mask has the shape of what it is laid over. Sets before 12 leave that to who reads their text.
void MendDropout(const NodeFacts& facts, std::vector<InferredOutput>& outputs) {
  if (outputs.size() < 2 || outputs[1].dims || !facts.Has(0)) return;
  outputs[1].is_tensor = true;
  outputs[1].dims.emplace(facts.shape(0).begin(), facts.shape(0).end());
  outputs[1].elem_type = facts.opset() < 10 ? facts.info(0).elem_type : int{onnx::TensorProto::BOOL};
}

}  // namespace

bool IsStandard(const onnx::NodeProto& node, int opset) {
  return IsCollective(node) || FindNewerRule(node, opset) != nullptr || IsTranslated(node, opset) ||
         FindSchema(node, opset) != nullptr;
}

std::vector<InferredOutput> InferOutputs(const onnx::NodeProto& node, int opset,
                                         const std::vector<const TensorInfo*>& inputs) {
  if (IsCollective(node)) return InferCollective(node, inputs);
  if (opset > kLibrarySet) return InferNewer(node, opset, inputs);
  std::vector<InferredOutput> outputs(static_cast<std::size_t>(node.output_size()));
  const onnx::OpSchema* schema = FindSchema(node, opset);
  if (schema == nullptr) return outputs;
  schema->Verify(node);
  CheckNode(node, opset, inputs);
  Context context(node, inputs);
  schema->GetTypeAndShapeInferenceFunction()(context);
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = Describe(*context.getOutputType(i));
  const NodeFacts facts(node, opset, inputs);
  if (node.op_type().ends_with("Pool")) MendPool(facts, outputs);
  if (node.op_type() == "Dropout") MendDropout(facts, outputs);
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

}  // namespace stowplan::scenarios::onnx_import
