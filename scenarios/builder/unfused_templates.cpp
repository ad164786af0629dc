// The helpers of each op type, as tf.gradients and the layers of TensorFlow 1.x make them when shapes are
// known. To add a type, add a row.
#include <algorithm>
#include <unordered_map>

#include "scenarios/builder/unfused.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

using enum HelperSize;

constexpr const char* kConst = "Const";

HelperRow ShapeRow(const char* name) {
  return {name, kConst, kAxes};
}

// Which axes of two factors were broadcast, and what the gradient of each is summed over.
std::vector<HelperRow> Broadcast() {
  return {ShapeRow("Shape"),
          ShapeRow("Shape_1"),
          {"BroadcastGradientArgs", "BroadcastGradientArgs", kAxes, {"Shape", "Shape_1"}}};
}

// math_ops.reduced_shape, and how often the gradient of a sum is repeated along each axis.
std::vector<HelperRow> ReducedShape() {
  return {
      ShapeRow("Shape"),
      {"Size", kConst},
      {"reduction_indices", kConst},
      {"add", "Add", kNumber, {"reduction_indices", "Size"}},
      {"mod", "FloorMod", kNumber, {"add", "Size"}},
      {"Shape_1", kConst},
      {"range/start", kConst},
      {"range/delta", kConst},
      {"range", "Range", kAxes, {"range/start", "Size", "range/delta"}},
      {"Fill/value", kConst},
      {"Fill", "Fill", kNumber, {"Shape_1", "Fill/value"}},
      {"DynamicStitch", "DynamicStitch", kAxes, {"range", "mod", "Shape", "Fill"}},
      {"Maximum/y", kConst},
      {"Maximum", "Maximum", kAxes, {"DynamicStitch", "Maximum/y"}},
      {"floordiv", "FloorDiv", kAxes, {"Shape", "Maximum"}},
  };
}

const std::vector<UnfusedTemplate>& Templates() {
  static const std::vector<UnfusedTemplate> rows = {
      {"AvgPoolGrad", "backward", {ShapeRow("Shape")}, {"Shape"}},
      {"ConcatV2", "forward", {{"axis", kConst}}, {"axis"}},
      {"ConcatV2", "backward", {{"axis", kConst}}, {"axis"}},
      {"Conv2DBackpropFilter", "backward", {ShapeRow("Shape_1")}, {"Shape_1"}},
      {"Conv2DBackpropInput", "backward", {ShapeRow("Shape")}, {"Shape"}},
      {"DepthwiseConv2dNativeBackpropFilter", "backward", {ShapeRow("Shape_1")}, {"Shape_1"}},
      {"DepthwiseConv2dNativeBackpropInput", "backward", {ShapeRow("Shape")}, {"Shape"}},
      // The random numbers and the two products are the fused op.
      {"Dropout",
       "forward",
       {{"keep_prob", kConst},
        ShapeRow("Shape"),
        {"random_uniform/min", kConst},
        {"random_uniform/max", kConst},
        {"random_uniform/sub", "Sub", kNumber, {"random_uniform/max", "random_uniform/min"}}},
       {"keep_prob", "Shape", "random_uniform/sub", "random_uniform/min"}},
      // Training takes an empty mean and variance (inference those that training kept: not modelled).
      {"FusedBatchNorm",
       "forward",
       {{"Const", kConst, kNothing}, {"Const_1", kConst, kNothing}},
       {"Const", "Const_1"}},
      // Rows and their indices as one list: shape [ids, width].
      {"GatherGrad",
       "backward",
       {ShapeRow("Shape"),
        {"Size", kConst},
        {"ExpandDims/dim", kConst},
        {"ExpandDims", "ExpandDims", kNumber, {"Size", "ExpandDims/dim"}},
        {"strided_slice/stack", kConst},
        {"strided_slice/stack_1", kConst},
        {"strided_slice/stack_2", kConst},
        {"strided_slice",
         "StridedSlice",
         kNumber,
         {"Shape", "strided_slice/stack", "strided_slice/stack_1", "strided_slice/stack_2"}},
        {"concat/axis", kConst},
        {"concat", "ConcatV2", kAxes, {"ExpandDims", "strided_slice", "concat/axis"}}},
       {"concat"}},
      {"GatherV2", "forward", {{"axis", kConst}}, {"axis"}},
      {"Mean", "forward", {{"reduction_indices", kConst}}, {"reduction_indices"}},
      // A Sum over no axes hands its input on.
      {"Mul",
       "backward",
       Broadcast(),
       {},
       {},
       {{"Sum", "Identity", kNothing, {"BroadcastGradientArgs"}},
        {"Reshape", "Reshape", kNothing, {"Shape"}}}},
      {"MulSum",
       "backward",
       Broadcast(),
       {"BroadcastGradientArgs"},
       {},
       {{"Reshape", "Reshape", kNothing, {"Shape_1"}}}},
      {"Pad", "forward", {{"paddings", kConst, kAxes}}, {"paddings"}},
      // SliceGrad: zeros before and after the part.
      {"Pad",
       "backward",
       {{"Rank", kConst},
        ShapeRow("Shape"),
        {"stack/1", kConst},
        {"stack", "Pack", kAxes, {"Rank", "stack/1"}},
        {"begin", kConst, kAxes},
        {"Reshape", "Reshape", kAxes, {"begin", "stack"}},
        ShapeRow("Shape_1"),
        {"sub", "Sub", kAxes, {"Shape_1", "Shape"}},
        {"sub_1", "Sub", kAxes, {"sub", "begin"}},
        {"Reshape_1", "Reshape", kAxes, {"sub_1", "stack"}},
        {"concat/axis", kConst},
        {"concat", "ConcatV2", kAxes, {"Reshape", "Reshape_1", "concat/axis"}}},
       {"concat"}},
      {"ReduceSum", "forward", {{"reduction_indices", kConst}}, {"reduction_indices"}},
      {"ReduceSum",
       "backward",
       Broadcast(),
       {"BroadcastGradientArgs"},
       {},
       {{"Reshape", "Reshape", kNothing, {"Shape_1"}}}},
      {"Reshape", "forward", {ShapeRow("shape")}, {"shape"}},
      {"Reshape", "backward", {ShapeRow("Shape")}, {"Shape"}},
      {"Slice", "forward", {{"begin", kConst, kAxes}, {"size", kConst, kAxes}}, {"begin", "size"}},
      // PadGrad: from where the padding ends.
      {"Slice",
       "backward",
       {{"Rank", kConst},
        {"stack/1", kConst},
        {"stack", "Pack", kAxes, {"Rank", "stack/1"}},
        {"paddings", kConst, kAxes},
        {"Slice/begin", kConst, kAxes},
        {"Slice", "Slice", kAxes, {"paddings", "Slice/begin", "stack"}},
        {"Reshape/shape", kConst},
        {"Reshape", "Reshape", kAxes, {"Slice", "Reshape/shape"}},
        ShapeRow("Shape")},
       {"Reshape", "Shape"}},
      {"Scale", "forward", {{"y", kConst}}, {"y"}},
      {"Scale", "backward", {{"y", kConst}}, {"y"}},
      {"Shift", "forward", {{"x", kConst}}, {"x"}},
      {"SoftmaxCrossEntropyWithLogits", "forward", {ShapeRow("Shape")}, {"Shape"}},
      {"SoftmaxGrad",
       "backward",
       {{"Sum/reduction_indices", kConst}, {"Reshape/shape", kConst, kAxes}},
       {"Sum/reduction_indices", "Reshape/shape"}},
      {"Split", "forward", {{"split_dim", kConst}}, {"split_dim"}},
      // ConcatGrad: where each part begins.
      {"Split",
       "backward",
       {{"axis", kConst},
        {"Rank", kConst},
        {"mod", "FloorMod", kNumber, {"axis", "Rank"}},
        {"Shape", kConst, kAxes, {}, true},
        {"ConcatOffset", "ConcatOffset", kAxes, {"mod", "Shape"}}},
       {"ConcatOffset"}},
      // The gradient of a sum: a length of 1 where axes were summed, then repeated.
      {"Tile",
       "backward",
       ReducedShape(),
       {"floordiv"},
       {{"Reshape", "Reshape", kNothing, {"DynamicStitch"}}},
       {}},
      {"TopK", "forward", {{"k", kConst}}, {"k"}},
      {"Transpose", "forward", {{"perm", kConst, kAxes}}, {"perm"}},
      {"Transpose",
       "backward",
       {{"perm", kConst, kAxes}, {"InvertPermutation", "InvertPermutation", kAxes, {"perm"}}},
       {"InvertPermutation"}},
  };
  return rows;
}

}  // namespace

const UnfusedTemplate* FindUnfusedTemplate(std::string_view type, std::string_view phase) {
  static const auto index = [] {
    std::unordered_map<std::string_view, std::vector<const UnfusedTemplate*>> by_type;
    for (const UnfusedTemplate& row : Templates()) by_type[row.type].push_back(&row);
    return by_type;
  }();
  const auto found = index.find(type);
  if (found == index.end()) return nullptr;
  const auto row =
      std::ranges::find_if(found->second, [&](const UnfusedTemplate* r) { return r->phase == phase; });
  return row == found->second.end() ? nullptr : *row;
}

const std::vector<const char*>& OptimizerRates(std::string_view optimizer) {
  static const std::unordered_map<std::string_view, std::vector<const char*>> rates = {
      {"GradientDescent", {"learning_rate"}},
      {"Momentum", {"learning_rate", "momentum"}},
      {"Adam", {"learning_rate", "beta1", "beta2", "epsilon"}},
      {"RMSProp", {"learning_rate", "decay", "momentum", "epsilon"}},
  };
  const auto found = rates.find(optimizer);
  STOWPLAN_CHECK(found != rates.end());
  return found->second;
}

}  // namespace stowplan::scenarios
