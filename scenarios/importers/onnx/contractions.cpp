// Ops that multiply and add: their FLOPs are 2 x multiply-adds.
#include <algorithm>
#include <set>
#include <utility>

#include "scenarios/importers/onnx/lower.h"
#include "sim/error.h"

namespace berth::scenarios::onnx_import {
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
OpSpec MatrixProduct(const Step& step, const Lowering& lowering, const Shape& x, const Shape& y,
                     std::int64_t contracted) {
  return {.type = y.size() > 2 ? "BatchMatMul" : "MatMul",
          .name = "",
          .inputs = {},
          .outputs = {},
          .flops =
              x.empty() ? 0 : 2 * Product(lowering.OutputInfo(step).shape) * static_cast<double>(contracted)};
}

// Convolution of x with weights [outputs, inputs / groups, kernel...].
OpSpec Convolution(const Lowering& lowering, const Step& step, std::size_t x, std::size_t weights) {
  const Shape& image = lowering.InputInfo(step, x)->shape;
  const Shape& filter = lowering.InputInfo(step, weights)->shape;
  const std::vector<std::int64_t> kernel(filter.begin() + 2, filter.end());
  const std::int64_t groups = IntAttribute(*step.node, "group", 1);
  const bool depthwise = groups > 1 && groups == image.at(1) && filter.at(1) == 1 && kernel.size() == 2;
  static constexpr const char* kTypes[] = {"Conv1D", "Conv2D", "Conv3D"};
  const char* type = kTypes[std::clamp<std::size_t>(kernel.size(), 1, 3) - 1];
  return {.type = depthwise ? "DepthwiseConv2dNative" : type,
          .name = "",
          .inputs = {},
          .outputs = {},
          .flops = 2 * Product(lowering.OutputInfo(step).shape) * Product({filter.begin() + 1, filter.end()}),
          .attributes = WindowAttributes(*step.node, kernel)};
}

// ---- einsum

struct Equation {
  std::vector<std::string> operands;  // a letter for each axis; axes of an ellipsis are digits
  std::string result;
};

std::string WithoutBlanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

// "..." becomes as many digits as the operand has axes without a letter, counted from the last.
std::string SpellOut(std::string labels, std::size_t rank) {
  const auto dots = labels.find("...");
  if (dots == std::string::npos) return labels;
  const std::size_t hidden = rank + 3 - std::min(rank + 3, labels.size());
  std::string digits;
  for (std::size_t i = std::min<std::size_t>(hidden, 10); i-- > 0;)
    digits.push_back(static_cast<char>('0' + i));
  return labels.replace(dots, 3, digits);
}

Equation ReadEquation(const std::string& text, const std::vector<std::size_t>& ranks) {
  const std::string plain = WithoutBlanks(text);
  const auto arrow = plain.find("->");
  std::string left = plain.substr(0, arrow);
  Equation equation;
  std::size_t most_hidden = 0;
  for (const std::size_t rank : ranks) {
    const auto comma = left.find(',');
    equation.operands.push_back(SpellOut(left.substr(0, comma), rank));
    const auto digits = std::count_if(equation.operands.back().begin(), equation.operands.back().end(),
                                      [](char c) { return c >= '0' && c <= '9'; });
    most_hidden = std::max(most_hidden, static_cast<std::size_t>(digits));
    left = comma == std::string::npos ? "" : left.substr(comma + 1);
  }
  if (arrow != std::string::npos) {
    const std::string right = plain.substr(arrow + 2);
    equation.result = SpellOut(
        right, right.find("...") == std::string::npos ? right.size() : right.size() - 3 + most_hidden);
  } else {
    // Those that stand once, in alphabetical order; digits sort first.
    std::multiset<char> all;
    for (const auto& operand : equation.operands) all.insert(operand.begin(), operand.end());
    for (const char label : std::set<char>(all.begin(), all.end())) {
      if (all.count(label) == 1 || (label >= '0' && label <= '9')) equation.result.push_back(label);
    }
  }
  return equation;
}

// Operands are contracted from left to right; a label goes when nobody behind it needs it.
double EinsumFlops(const Equation& equation, const std::map<char, double>& sizes, bool* contracts) {
  const auto size_of = [&](const std::set<char>& labels) {
    double product = 1;
    for (const char label : labels) product *= sizes.at(label);
    return product;
  };
  double flops = 0;
  std::set<char> held(equation.operands.front().begin(), equation.operands.front().end());
  for (std::size_t i = 1; i < equation.operands.size(); ++i) {
    std::set<char> needed(equation.result.begin(), equation.result.end());
    for (std::size_t later = i + 1; later < equation.operands.size(); ++later) {
      needed.insert(equation.operands[later].begin(), equation.operands[later].end());
    }
    std::set<char> joined = held;
    joined.insert(equation.operands[i].begin(), equation.operands[i].end());
    std::set<char> kept;
    std::set_intersection(joined.begin(), joined.end(), needed.begin(), needed.end(),
                          std::inserter(kept, kept.end()));
    if (kept.size() < joined.size()) {
      *contracts = true;
      flops += 2 * size_of(joined);
    }
    held = std::move(kept);
  }
  return flops;
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

void LowerConv(Lowering& lowering, const Step& step) {
  OpSpec spec = Convolution(lowering, step, 0, 1);
  spec.inputs = {lowering.In(step, 0), lowering.In(step, 1)};
  const auto bias = lowering.HasInput(step, 2) ? std::optional(lowering.In(step, 2)) : std::nullopt;
  lowering.EmitWithBias(step, std::move(spec), bias, true);
}

// Every element of the input meets every weight of its channel once.
void LowerConvTranspose(Lowering& lowering, const Step& step) {
  const Shape& filter = lowering.InputInfo(step, 1)->shape;
  OpSpec spec{
      .type = "ConvTranspose",
      .name = "",
      .inputs = {lowering.In(step, 0), lowering.In(step, 1)},
      .outputs = {},
      .flops = 2 * Product(lowering.InputInfo(step, 0)->shape) * Product({filter.begin() + 1, filter.end()}),
      .attributes = WindowAttributes(*step.node, {filter.begin() + 2, filter.end()})};
  const auto bias = lowering.HasInput(step, 2) ? std::optional(lowering.In(step, 2)) : std::nullopt;
  lowering.EmitWithBias(step, std::move(spec), bias, true);
}

// QLinearConv has scales and zero points between its tensors, ConvInteger behind them.
void LowerQuantisedConv(Lowering& lowering, const Step& step) {
  const std::size_t weights = step.node->op_type() == "QLinearConv" ? 3 : 1;
  OpSpec spec = Convolution(lowering, step, 0, weights);
  spec.inputs = {lowering.In(step, 0), lowering.In(step, weights)};
  if (lowering.HasInput(step, 8)) spec.inputs.push_back(lowering.In(step, 8));  // added inside
  lowering.Emit(step, std::move(spec));
}

void LowerGemm(Lowering& lowering, const Step& step) {
  const Shape& x = lowering.InputInfo(step, 0)->shape;
  const bool transpose_a = IntAttribute(*step.node, "transA", 0) != 0;
  const bool transpose_b = IntAttribute(*step.node, "transB", 0) != 0;
  OpSpec spec =
      MatrixProduct(step, lowering, x, lowering.InputInfo(step, 1)->shape, x.at(transpose_a ? 0 : 1));
  spec.inputs = {lowering.In(step, 0), lowering.In(step, 1)};
  if (transpose_a) AddAttribute(spec.attributes, "transpose_a", true);
  if (transpose_b) AddAttribute(spec.attributes, "transpose_b", true);
  const auto bias = lowering.HasInput(step, 2) ? std::optional(lowering.In(step, 2)) : std::nullopt;
  lowering.EmitWithBias(step, std::move(spec), bias, false);
}

void LowerMatMul(Lowering& lowering, const Step& step) {
  const Shape& x = lowering.InputInfo(step, 0)->shape;
  OpSpec spec =
      MatrixProduct(step, lowering, x, lowering.InputInfo(step, 1)->shape, x.empty() ? 0 : x.back());
  spec.inputs = {lowering.In(step, 0), lowering.In(step, 1)};
  lowering.Emit(step, std::move(spec));
}

void LowerQuantisedMatMul(Lowering& lowering, const Step& step) {
  const Shape& x = lowering.InputInfo(step, 0)->shape;
  const std::size_t weights = step.node->op_type() == "QLinearMatMul" ? 3 : 1;
  OpSpec spec =
      MatrixProduct(step, lowering, x, lowering.InputInfo(step, weights)->shape, x.empty() ? 0 : x.back());
  spec.inputs = {lowering.In(step, 0), lowering.In(step, weights)};
  lowering.Emit(step, std::move(spec));
}

void LowerEinsum(Lowering& lowering, const Step& step) {
  const std::string text = TextAttribute(*step.node, "equation", "");
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    ranks.push_back(lowering.InputInfo(step, i)->shape.size());
  const Equation equation = ReadEquation(text, ranks);
  std::map<char, double> sizes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Shape& shape = lowering.InputInfo(step, i)->shape;
    if (equation.operands[i].size() != shape.size()) {
      throw InputError("node '" + step.name + "' (Einsum): operand " + std::to_string(i) + " of '" + text +
                       "' has " + std::to_string(shape.size()) + " axes; export the model again");
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      double& size = sizes[equation.operands[i][axis]];
      size = std::max(size, static_cast<double>(shape[axis]));  // axes of one broadcast
    }
  }
  bool contracts = false;
  const double flops = EinsumFlops(equation, sizes, &contracts);
  OpSpec spec{.type = contracts          ? "BatchMatMul"
                      : ranks.size() > 1 ? "Mul"
                                         : "Transpose",
              .name = "",
              .inputs = {},
              .outputs = {},
              .flops = flops};
  if (ranks.size() == 1 && equation.result.size() < equation.operands[0].size()) spec.type = "ReduceSum";
  for (std::size_t i = 0; i < ranks.size(); ++i) spec.inputs.push_back(lowering.In(step, i));
  AddAttribute(spec.attributes, "equation", WithoutBlanks(text));
  lowering.Emit(step, std::move(spec));
}

// Every weight of every gate meets every sequence at every step: W [directions, gates, inputs] and R
// [directions, gates, units].
void LowerRecurrent(Lowering& lowering, const Step& step) {
  const Shape& x = lowering.InputInfo(step, 0)->shape;
  OpSpec spec{.type = step.node->op_type(), .name = "", .inputs = {}, .outputs = {}};
  const double weights =
      Product(lowering.InputInfo(step, 1)->shape) + Product(lowering.InputInfo(step, 2)->shape);
  spec.flops = 2 * static_cast<double>(x.at(0)) * static_cast<double>(x.at(1)) * weights;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (lowering.HasInput(step, i)) spec.inputs.push_back(lowering.In(step, i));
  }
  lowering.Emit(step, std::move(spec));
}

}  // namespace berth::scenarios::onnx_import
