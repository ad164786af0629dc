// Ops that multiply and add: their FLOPs are 2 x multiply-adds.
#include <algorithm>
#include <utility>

#include "scenarios/importers/onnx/einsum.h"
#include "scenarios/importers/onnx/lower.h"
#include "scenarios/importers/onnx/newer_sets.h"

namespace stowplan::scenarios::onnx_import {
namespace {

sim::Attribute ListOf(const std::vector<std::int64_t>& numbers) {
  sim::Attribute::List list;
  for (const std::int64_t number : numbers) list.push_back({number});
  return {std::move(list)};
}

double Product(const Shape& shape) {
  double product = 1;
  for (const std::int64_t dim : shape) product *= static_cast<double>(dim);
  return product;
}

// A product of matrices, or of batches of them where the second is no single matrix.
OpSpec MatrixProduct(const ResolvedNode& node, const Lowering& lowering, const Shape& x, const Shape& y,
                     std::int64_t contracted) {
  return {.type = y.size() > 2 ? "BatchMatMul" : "MatMul",
          .name = "",
          .inputs = {},
          .outputs = {},
          .flops =
              x.empty() ? 0 : 2 * Product(lowering.OutputInfo(node).shape) * static_cast<double>(contracted)};
}

// Convolution of x with weights [outputs, inputs / groups, kernel...].
OpSpec Convolution(const Lowering& lowering, const ResolvedNode& node, std::size_t x, std::size_t weights) {
  const Shape& image = lowering.InputInfo(node, x)->shape;
  const Shape& filter = lowering.InputInfo(node, weights)->shape;
  const std::vector<std::int64_t> kernel(filter.begin() + 2, filter.end());
  const std::int64_t groups = IntAttribute(*node.proto, "group", 1);
  const bool depthwise = groups > 1 && groups == image.at(1) && filter.at(1) == 1 && kernel.size() == 2;
  static constexpr const char* kTypes[] = {"Conv1D", "Conv2D", "Conv3D"};
  const char* type = kTypes[std::clamp<std::size_t>(kernel.size(), 1, 3) - 1];
  return {.type = depthwise ? "DepthwiseConv2dNative" : type,
          .name = "",
          .inputs = {},
          .outputs = {},
          .flops = 2 * Product(lowering.OutputInfo(node).shape) * Product({filter.begin() + 1, filter.end()}),
          .attributes = WindowAttributes(*node.proto, kernel)};
}

}  // namespace

sim::Attributes WindowAttributes(const onnx::NodeProto& node, const std::vector<std::int64_t>& kernel) {
  sim::Attributes attributes;
  attributes.emplace_back("kernel", ListOf(kernel));
  auto strides = IntsAttribute(node, "strides");
  if (strides.empty()) strides.assign(kernel.size(), 1);
  attributes.emplace_back("strides", ListOf(strides));
  const auto pads = IntsAttribute(node, "pads");
  const std::string automatic = TextAttribute(node, "auto_pad", "NOTSET");
  const bool none = std::all_of(pads.begin(), pads.end(), [](std::int64_t p) { return p == 0; });
  if (automatic.starts_with("SAME")) {
    AddAttribute(attributes, "padding", std::string("SAME"));
  } else if (automatic == "VALID" || none) {
    AddAttribute(attributes, "padding", std::string("VALID"));
  } else {
    attributes.emplace_back("padding", ListOf(pads));
  }
  const auto dilations = IntsAttribute(node, "dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d > 1; })) {
    attributes.emplace_back("dilations", ListOf(dilations));
  }
  if (const std::int64_t groups = IntAttribute(node, "group", 1); groups > 1)
    AddAttribute(attributes, "groups", groups);
  AddAttribute(attributes, "data_format", std::string("NCHW"));
  return attributes;
}

void LowerConv(Lowering& lowering, const ResolvedNode& node) {
  OpSpec spec = Convolution(lowering, node, 0, 1);
  spec.inputs = {lowering.In(node, 0), lowering.In(node, 1)};
  const auto bias = lowering.HasInput(node, 2) ? std::optional(lowering.In(node, 2)) : std::nullopt;
  lowering.EmitWithBias(node, std::move(spec), bias, true);
}

// x, filter, offsets, bias, mask.
void LowerDeformConv(Lowering& lowering, const ResolvedNode& node) {
  OpSpec spec = Convolution(lowering, node, 0, 1);
  for (const std::size_t i : {0, 1, 2, 4}) {
    if (lowering.HasInput(node, i)) spec.inputs.push_back(lowering.In(node, i));
  }
  const auto bias = lowering.HasInput(node, 3) ? std::optional(lowering.In(node, 3)) : std::nullopt;
  lowering.EmitWithBias(node, std::move(spec), bias, true);
}

// Every element of the input meets every weight of its channel once.
void LowerConvTranspose(Lowering& lowering, const ResolvedNode& node) {
  const Shape& filter = lowering.InputInfo(node, 1)->shape;
  OpSpec spec{
      .type = "ConvTranspose",
      .name = "",
      .inputs = {lowering.In(node, 0), lowering.In(node, 1)},
      .outputs = {},
      .flops = 2 * Product(lowering.InputInfo(node, 0)->shape) * Product({filter.begin() + 1, filter.end()}),
      .attributes = WindowAttributes(*node.proto, {filter.begin() + 2, filter.end()})};
  const auto bias = lowering.HasInput(node, 2) ? std::optional(lowering.In(node, 2)) : std::nullopt;
  lowering.EmitWithBias(node, std::move(spec), bias, true);
}

// QLinearConv has scales and zero points between its tensors, ConvInteger behind them.
void LowerQuantisedConv(Lowering& lowering, const ResolvedNode& node) {
  const std::size_t weights = node.proto->op_type() == "QLinearConv" ? 3 : 1;
  OpSpec spec = Convolution(lowering, node, 0, weights);
  spec.inputs = {lowering.In(node, 0), lowering.In(node, weights)};
  if (lowering.HasInput(node, 8)) spec.inputs.push_back(lowering.In(node, 8));  // added inside
  lowering.Emit(node, std::move(spec));
}

void LowerGemm(Lowering& lowering, const ResolvedNode& node) {
  const Shape& x = lowering.InputInfo(node, 0)->shape;
  const bool transpose_a = IntAttribute(*node.proto, "transA", 0) != 0;
  const bool transpose_b = IntAttribute(*node.proto, "transB", 0) != 0;
  OpSpec spec =
      MatrixProduct(node, lowering, x, lowering.InputInfo(node, 1)->shape, x.at(transpose_a ? 0 : 1));
  spec.inputs = {lowering.In(node, 0), lowering.In(node, 1)};
  if (transpose_a) AddAttribute(spec.attributes, "transpose_a", true);
  if (transpose_b) AddAttribute(spec.attributes, "transpose_b", true);
  const auto bias = lowering.HasInput(node, 2) ? std::optional(lowering.In(node, 2)) : std::nullopt;
  lowering.EmitWithBias(node, std::move(spec), bias, false);
}

void LowerMatMul(Lowering& lowering, const ResolvedNode& node) {
  const Shape& x = lowering.InputInfo(node, 0)->shape;
  OpSpec spec =
      MatrixProduct(node, lowering, x, lowering.InputInfo(node, 1)->shape, x.empty() ? 0 : x.back());
  spec.inputs = {lowering.In(node, 0), lowering.In(node, 1)};
  lowering.Emit(node, std::move(spec));
}

void LowerQuantisedMatMul(Lowering& lowering, const ResolvedNode& node) {
  const Shape& x = lowering.InputInfo(node, 0)->shape;
  const std::size_t weights = node.proto->op_type() == "QLinearMatMul" ? 3 : 1;
  OpSpec spec =
      MatrixProduct(node, lowering, x, lowering.InputInfo(node, weights)->shape, x.empty() ? 0 : x.back());
  spec.inputs = {lowering.In(node, 0), lowering.In(node, weights)};
  lowering.Emit(node, std::move(spec));
}

void LowerEinsum(Lowering& lowering, const ResolvedNode& node) {
  const std::string equation = TextAttribute(*node.proto, "equation", "");
  std::vector<Shape> operands;
  OpSpec spec{.type = "", .name = "", .inputs = {}, .outputs = {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    operands.push_back(lowering.InputInfo(node, i)->shape);
    spec.inputs.push_back(lowering.In(node, i));
  }
  const Einsum einsum = ReadEinsum(equation, operands);
  spec.flops = einsum.flops;
  if (einsum.contracts) {
    spec.type = "BatchMatMul";
  } else if (operands.size() > 1) {
    spec.type = "Mul";
  } else {
    spec.type = einsum.shape.size() < operands[0].size() ? "ReduceSum" : "Transpose";
  }
  AddAttribute(spec.attributes, "equation", PlainText(equation));
  lowering.Emit(node, std::move(spec));
}

// One op, as kernels that never write the scores down run it. In its flops every query meets every key, whether a mask hides
// it or not, and its score the value; the attributes say what kernels skip.
void LowerAttention(Lowering& lowering, const ResolvedNode& node) {
  std::vector<const TensorInfo*> inputs;
  OpSpec spec{.type = "Attention", .name = "", .inputs = {}, .outputs = {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(lowering.InputInfo(node, i));
    if (inputs.back() != nullptr) spec.inputs.push_back(lowering.In(node, i));
  }
  const AttentionSizes sizes = SizesOfAttention(NodeFacts(*node.proto, kNewestSet, inputs));
  spec.flops = 2 * Product({sizes.batch, sizes.heads, sizes.queries}) *
               static_cast<double>(sizes.past + sizes.keys) *
               static_cast<double>(sizes.size + sizes.value_size);
  spec.attributes = {{"heads", sim::Attribute{sizes.heads}}, {"key_heads", sim::Attribute{sizes.key_heads}}};
  if (sizes.past > 0) spec.attributes.emplace_back("past", sim::Attribute{sizes.past});
  if (IntAttribute(*node.proto, "is_causal", 0) != 0)
    spec.attributes.emplace_back("causal", sim::Attribute{true});
  lowering.Emit(node, std::move(spec));
}

// Every weight of every gate meets every sequence at every step: W [directions, gates, inputs] and R
// [directions, gates, units].
void LowerRecurrent(Lowering& lowering, const ResolvedNode& node) {
  const Shape& x = lowering.InputInfo(node, 0)->shape;
  OpSpec spec{.type = node.proto->op_type(), .name = "", .inputs = {}, .outputs = {}};
  const double weights =
      Product(lowering.InputInfo(node, 1)->shape) + Product(lowering.InputInfo(node, 2)->shape);
  spec.flops = 2 * static_cast<double>(x.at(0)) * static_cast<double>(x.at(1)) * weights;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (lowering.HasInput(node, i)) spec.inputs.push_back(lowering.In(node, i));
  }
  lowering.Emit(node, std::move(spec));
}

}  // namespace stowplan::scenarios::onnx_import
