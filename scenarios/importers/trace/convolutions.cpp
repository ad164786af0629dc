#include "scenarios/importers/trace/convolutions.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace stowplan::scenarios::trace {
namespace {

constexpr std::string_view kBackward = "aten::convolution_backward";

bool IsConvolution(const Node& node) {
  constexpr std::array<std::string_view, 6> kNames = {
      "aten::convolution",       "aten::_convolution",           "aten::convolution_overrideable",
      "aten::cudnn_convolution", "aten::cudnn_convolution_relu", "aten::mkldnn_convolution"};
  return node.has_schema && (node.name == kBackward || std::ranges::find(kNames, node.name) != kNames.end());
}

std::vector<std::int64_t> NumbersOf(const Node& node, std::string_view argument) {
  const Argument* found = node.Find(argument);
  return found != nullptr ? found->numbers : std::vector<std::int64_t>();
}

std::int64_t NumberOf(const Node& node, std::string_view argument, std::int64_t otherwise) {
  const std::vector<std::int64_t> numbers = NumbersOf(node, argument);
  return numbers.size() == 1 ? numbers.front() : otherwise;
}

// Null where there is none, or its shape is not told.
const Tensor* TensorOf(const Node& node, std::string_view argument) {
  const Argument* found = node.Find(argument);
  return found != nullptr && found->tensors.size() == 1 && !found->tensors.front().shape.empty()
             ? &found->tensors.front()
             : nullptr;
}

const Tensor* ImageOf(const Node& node) {
  const Tensor* input = TensorOf(node, "input");
  return input != nullptr ? input : TensorOf(node, "self");
}

bool IsTransposed(const Node& node) {
  return NumberOf(node, "transposed", 0) != 0;
}

sim::Attribute ListOf(const std::vector<std::int64_t>& numbers) {
  sim::Attribute::List list;
  for (const std::int64_t number : numbers) list.push_back({number});
  return {std::move(list)};
}

}  // namespace

std::optional<std::string> ConvolutionType(const Node& node) {
  if (!IsConvolution(node)) return std::nullopt;
  if (node.name == kBackward) return "ConvBackward";
  if (IsTransposed(node)) return "ConvTranspose";
  const Tensor* image = ImageOf(node);
  const Tensor* filter = TensorOf(node, "weight");
  const std::size_t axes = filter != nullptr && filter->shape.size() > 2 ? filter->shape.size() - 2 : 2;
  const std::int64_t groups = NumberOf(node, "groups", 1);
  const bool is_depthwise = axes == 2 && groups > 1 && image != nullptr && filter != nullptr &&
                            image->shape.size() == 4 && groups == image->shape[1] && filter->shape[1] == 1;
  if (is_depthwise) return "DepthwiseConv2dNative";
  return axes == 1 ? "Conv1D" : axes == 3 ? "Conv3D" : "Conv2D";
}

sim::Attributes ConvolutionAttributes(const Node& node) {
  sim::Attributes attributes;
  if (!IsConvolution(node)) return attributes;
  const Tensor* filter = TensorOf(node, "weight");
  if (filter != nullptr && filter->shape.size() > 2)
    attributes.emplace_back("kernel", ListOf({filter->shape.begin() + 2, filter->shape.end()}));
  if (const auto strides = NumbersOf(node, "stride"); !strides.empty())
    attributes.emplace_back("strides", ListOf(strides));
  std::vector<std::int64_t> padding = NumbersOf(node, "padding");
  if (std::ranges::all_of(padding, [](std::int64_t one) { return one == 0; })) {
    attributes.emplace_back("padding", sim::Attribute{std::string("VALID")});
  } else {  // before and behind
    padding.insert(padding.end(), padding.begin(), padding.end());
    attributes.emplace_back("padding", ListOf(padding));
  }
  const auto dilations = NumbersOf(node, "dilation");
  if (std::ranges::any_of(dilations, [](std::int64_t one) { return one > 1; }))
    attributes.emplace_back("dilations", ListOf(dilations));
  if (const std::int64_t groups = NumberOf(node, "groups", 1); groups > 1)
    attributes.emplace_back("groups", sim::Attribute{groups});
  attributes.emplace_back("data_format", sim::Attribute{std::string("NCHW")});
  if (node.name != kBackward) return attributes;
  if (const auto mask = NumbersOf(node, "output_mask"); mask.size() == 3) {
    sim::Attribute::List made;
    for (const std::int64_t one : mask) made.push_back({one != 0});
    attributes.emplace_back("output_mask", sim::Attribute{std::move(made)});
  }
  if (IsTransposed(node)) attributes.emplace_back("transposed", sim::Attribute{true});
  return attributes;
}

}  // namespace stowplan::scenarios::trace
