// What the ONNX library takes as it comes: sizes, attributes and values of a node that do not fit together. For
// each rule a node that is right beside one that is wrong.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/error.h"
#include "tests/scenarios/onnx/model_maker.h"

namespace berth::scenarios {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Ints = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;
using Dims = std::vector<GraphMaker::Dim>;
using Attributes = std::vector<GraphMaker::Attribute>;
using onnx::TensorProto;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

// One node of the type that reads floating inputs of these shapes, and gives y.
GraphMaker Node(const std::string& type, const std::vector<Shape>& shapes,
                const Attributes& attributes = {}) {
  GraphMaker m;
  GraphMaker::Names names;
  for (const Shape& shape : shapes) {
    names.push_back("x" + std::to_string(names.size()));
    m.Input(names.back(), Dims(shape.begin(), shape.end()));
  }
  m.Node(type, names, {"y"}, attributes).Output("y");
  return m;
}

// The same with a last input of known whole numbers.
GraphMaker NodeWithInts(const std::string& type, const Shape& shape, const Ints& numbers,
                        const Attributes& attributes = {}) {
  GraphMaker m;
  m.Input("x0", Dims(shape.begin(), shape.end())).Ints("n", numbers);
  m.Node(type, {"x0", "n"}, {"y"}, attributes).Output("y");
  return m;
}

GraphMaker Resize(const std::vector<float>& scales) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(static_cast<std::int64_t>(scales.size()));
  for (const float scale : scales) tensor.add_float_data(scale);
  GraphMaker m;
  m.Input("x", {1, 8, 5, 5}).Node("Constant", {}, {"scales"}, {{"value", tensor}});
  m.Node("Resize", {"x", "", "scales"}, {"y"}).Output("y");
  return m;
}

GraphMaker ResizeTo(const Ints& sizes) {
  GraphMaker m;
  m.Input("x", {1, 8, 5, 5}).Ints("sizes", sizes).Node("Resize", {"x", "", "", "sizes"}, {"y"}).Output("y");
  return m;
}

GraphMaker Range(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  GraphMaker m;
  GraphMaker::Names names;
  for (const std::int64_t number : {start, limit, delta}) {
    names.push_back("n" + std::to_string(names.size()));
    m.Node("Constant", {}, {names.back()}, {{"value", IntTensor({number}, true)}});
  }
  m.Node("Range", names, {"r"})
      .Input("x", {1}, TensorProto::INT64)
      .Node("Add", {"x", "r"}, {"y"})
      .Output("y");
  return m;
}

GraphMaker ScatterNd(const Shape& data, const Shape& indices, const Shape& updates) {
  GraphMaker m;
  m.Input("d", Dims(data.begin(), data.end()))
      .Input("i", Dims(indices.begin(), indices.end()), TensorProto::INT64);
  m.Input("u", Dims(updates.begin(), updates.end())).Node("ScatterND", {"d", "i", "u"}, {"y"}).Output("y");
  return m;
}

GraphMaker GatherNd(const Shape& data, const Shape& indices, std::int64_t batch) {
  GraphMaker m;
  m.Input("d", Dims(data.begin(), data.end()))
      .Input("i", Dims(indices.begin(), indices.end()), TensorProto::INT64);
  m.Node("GatherND", {"d", "i"}, {"y"}, {{"batch_dims", batch}}).Output("y");
  return m;
}

GraphMaker GatherElements(const Shape& data, const Shape& indices) {
  GraphMaker m;
  m.Input("d", Dims(data.begin(), data.end()))
      .Input("i", Dims(indices.begin(), indices.end()), TensorProto::INT64);
  m.Node("GatherElements", {"d", "i"}, {"y"}).Output("y");
  return m;
}

GraphMaker Loss(const Shape& scores, const Shape& labels) {
  GraphMaker m;
  m.Input("s", Dims(scores.begin(), scores.end()))
      .Input("l", Dims(labels.begin(), labels.end()), TensorProto::INT64);
  m.Node("SoftmaxCrossEntropyLoss", {"s", "l"}, {"y"}).Output("y");
  return m;
}

GraphMaker Dequantise(const Shape& x, const Shape& scale, std::int64_t axis) {
  GraphMaker m;
  m.Input("x", Dims(x.begin(), x.end()), TensorProto::INT8).Input("s", Dims(scale.begin(), scale.end()));
  m.Node("DequantizeLinear", {"x", "s"}, {"y"}, {{"axis", axis}}).Output("y");
  return m;
}

// x [9 steps, 2 sequences, 3 numbers] through cells of 4 units.
GraphMaker Cells(const std::string& type, const std::vector<Shape>& weights,
                 const std::string& direction = "forward", std::int64_t units = 4) {
  std::vector<Shape> shapes = {{9, 2, 3}};
  shapes.insert(shapes.end(), weights.begin(), weights.end());
  return Node(type, shapes, {{"direction", direction}, {"hidden_size", units}});
}

GraphMaker Slice(std::int64_t step) {
  GraphMaker m;
  m.Input("x", {4}).Ints("from", {0}).Ints("to", {2}).Ints("axes", {0}).Ints("step", {step});
  m.Node("Slice", {"x", "from", "to", "axes", "step"}, {"y"}).Output("y");
  return m;
}

struct Case {
  std::string name;
  GraphMaker right;
  GraphMaker wrong;
  std::vector<std::string> says;  // in the refusal of the wrong one
  int opset = 14;
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.name;
}

std::vector<Case> Cases() {
  const Attributes two_groups = {{"group", std::int64_t{2}}};
  const Attributes stride = {{"strides", Ints{2, 2}}};
  const Shape image = {1, 4, 8, 8};
  const auto pool = [&](std::int64_t kernel, Attributes more) {
    more.push_back({"kernel_shape", Ints{kernel, kernel}});
    more.push_back({"strides", Ints{2, 2}});
    return Node("MaxPool", {{1, 4, 3, 3}}, more);
  };
  return {
      // ---- windows
      {"ConvChannels",
       Node("Conv", {image, {6, 4, 3, 3}}),
       Node("Conv", {image, {6, 7, 3, 3}}),
       {"node 'y' (Conv)", "4 channels", "[6,7,3,3] reads 7"}},
      {"ConvChannelsOfGroups",
       Node("Conv", {image, {6, 2, 3, 3}}, two_groups),
       Node("Conv", {image, {6, 4, 3, 3}}, two_groups),
       {"reads 4 in each of its groups, of which there are 2"}},
      {"ConvGroupsOfItsOutput",
       Node("Conv", {image, {6, 2, 3, 3}}, two_groups),
       Node("Conv", {image, {5, 2, 3, 3}}, two_groups),
       {"gives 5 channels", "multiple of its group 2"}},
      {"ConvBias",
       Node("Conv", {image, {6, 4, 3, 3}, {6}}),
       Node("Conv", {image, {6, 4, 3, 3}, {4}}),
       {"its bias has the shape [4], but must have [6]"}},
      {"ConvKernelShape",
       Node("Conv", {image, {6, 4, 3, 3}}, {{"kernel_shape", Ints{3, 3}}}),
       Node("Conv", {image, {6, 4, 3, 3}}, {{"kernel_shape", Ints{5, 3}}}),
       {"[5,3]", "filter's is [3,3]"}},
      {"ConvReach",
       Node("Conv", {{1, 4, 3, 3}, {6, 4, 3, 3}}, stride),
       Node("Conv", {{1, 4, 2, 2}, {6, 4, 3, 3}}, stride),
       {"reaches over 3 along axis 2", "has 2 there"}},
      {"ConvReachOfDilations",
       Node("Conv", {{1, 4, 5, 5}, {6, 4, 3, 3}}, {{"dilations", Ints{2, 2}}}),
       Node("Conv", {{1, 4, 5, 4}, {6, 4, 3, 3}}, {{"dilations", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
       {"reaches over 5 along axis 3"}},
      {"ConvReachWithPads",
       Node("Conv", {{1, 4, 1, 1}, {6, 4, 3, 3}}, {{"pads", Ints{1, 1, 1, 1}}}),
       Node("Conv", {{1, 4, 1, 1}, {6, 4, 3, 3}}, {{"pads", Ints{1, 1, 0, 1}}, {"strides", Ints{2, 2}}}),
       {"has 2 there with its pads"}},
      {"ConvReachSame",
       Node("Conv", {{1, 4, 2, 2}, {6, 4, 3, 3}}, {{"auto_pad", std::string("SAME_UPPER")}}),
       Node("Conv", {{1, 4, 2, 2}, {6, 4, 3, 3}}, {{"auto_pad", std::string("VALID")}}),
       {"reaches over 3"}},
      {"PoolReach", pool(4, {{"ceil_mode", std::int64_t{1}}}), pool(4, {}), {"node 'y' (MaxPool)", "over 4"}},
      {"ConvTransposeChannels",
       Node("ConvTranspose", {image, {4, 6, 3, 3}}),
       Node("ConvTranspose", {image, {6, 4, 3, 3}}),
       {"4 channels", "reads 6"}},
      {"ConvTransposeGroups",
       Node("ConvTranspose", {image, {4, 6, 3, 3}}, two_groups),
       Node("ConvTranspose", {{1, 5, 8, 8}, {5, 6, 3, 3}}, two_groups),
       {"5 channels", "its group 2"}},
      {"ConvTransposeBias",
       Node("ConvTranspose", {image, {4, 6, 3, 3}, {12}}, two_groups),
       Node("ConvTranspose", {image, {4, 6, 3, 3}, {6}}, two_groups),
       {"must have [12]"}},
      // ---- layers
      {"BatchNormalization",
       Node("BatchNormalization", {image, {4}, {4}, {4}, {4}}),
       Node("BatchNormalization", {image, {4}, {4}, {99}, {4}}),
       {"its input 3 has the shape [99]", "[4]"}},
      {"InstanceNormalization",
       Node("InstanceNormalization", {image, {4}, {4}}),
       Node("InstanceNormalization", {image, {4}, {8}}),
       {"its input 2 has the shape [8]"}},
      {"LayerNormalization",
       Node("LayerNormalization", {{2, 3, 6}, {6}, {6}}),
       Node("LayerNormalization", {{2, 3, 6}, {5}, {6}}),
       {"its scale [5]", "[6]"},
       17},
      {"LayerNormalizationAxis",
       Node("LayerNormalization", {{2, 6}, {2, 6}}, {{"axis", std::int64_t{-2}}}),
       Node("LayerNormalization", {{2, 6}, {6}}, {{"axis", std::int64_t{-3}}}),
       {"axis is -3", "-2 to 1"},
       17},
      {"GemmInner",
       Node("Gemm", {{2, 3}, {3, 5}}),
       Node("Gemm", {{2, 3}, {4, 5}}),
       {"3 columns and 4 rows must be equal"}},
      {"GemmTransposed",
       Node("Gemm", {{2, 3}, {5, 3}}, {{"transB", std::int64_t{1}}}),
       Node("Gemm", {{2, 3}, {3, 5}}, {{"transB", std::int64_t{1}}}),
       {"[3,5] (transposed)"}},
      {"GemmRanks", Node("Gemm", {{2, 3}, {3, 5}}), Node("Gemm", {{2, 2, 3}, {3, 5}}), {"of 2 axes"}},
      {"GemmBias",
       Node("Gemm", {{2, 3}, {3, 5}, {5}}),
       Node("Gemm", {{2, 3}, {3, 5}, {2}}),
       {"its bias [2]", "[2,5]"}},
      {"MatMulInner", Node("MatMul", {{7, 2, 3}, {3, 5}}), Node("MatMul", {{7, 2, 3}, {4, 5}}), {"(MatMul)"}},
      {"LstmWeights",
       Cells("LSTM", {{1, 16, 3}, {1, 16, 4}}),
       Cells("LSTM", {{1, 16, 5}, {1, 16, 4}}),
       {"its weights", "[1,16,3]"}},
      {"LstmGates",
       Cells("LSTM", {{1, 16, 3}, {1, 16, 4}}),
       Cells("LSTM", {{1, 12, 3}, {1, 12, 4}}),
       {"must have [1,16,3]"}},
      {"LstmUnits",
       Cells("LSTM", {{1, 16, 3}, {1, 16, 4}}),
       Cells("LSTM", {{1, 16, 3}, {1, 16, 4}}, "forward", 5),
       {"[1,20,3]"}},
      {"LstmDirections",
       Cells("LSTM", {{2, 16, 3}, {2, 16, 4}}, "bidirectional"),
       Cells("LSTM", {{2, 16, 3}, {2, 16, 4}}, "both"),
       {"forward, reverse or bidirectional"}},
      {"GruWeights",
       Cells("GRU", {{1, 12, 3}, {1, 12, 4}}),
       Cells("GRU", {{1, 16, 3}, {1, 16, 4}}),
       {"must have [1,12,3]"}},
      {"RnnBias",
       Cells("RNN", {{1, 4, 3}, {1, 4, 4}, {1, 8}}),
       Cells("RNN", {{1, 4, 3}, {1, 4, 4}, {1, 4}}),
       {"its bias", "[1,8]"}},
      {"Labels", Loss({8, 10, 3}, {8, 3}), Loss({8, 10, 3}, {8, 10}), {"labels", "must have [8,3]"}},
      {"Scales", Dequantise({4, 6}, {6}, 1), Dequantise({4, 6}, {5}, 1), {"its scale", "must have [6]"}},
      // ---- axes
      {"SqueezeAxis",
       NodeWithInts("Squeeze", {4, 1}, {1}),
       NodeWithInts("Squeeze", {4, 4}, {77}),
       {"axes is 77", "2 axes: -2 to 1"}},
      {"ConcatAxis",
       Node("Concat", {{4, 2}, {4, 3}}, {{"axis", std::int64_t{1}}}),
       Node("Concat", {{4, 2}, {4, 2}}, {{"axis", kLowest}}),
       {"axis is -9223372036854775808"}},
      {"GatherAxis", GatherElements({4, 5}, {4, 2}), GatherElements({4, 5}, {4}), {"as many axes"}},
      {"ReduceAxes",
       NodeWithInts("ReduceSum", {4, 6}, {-1}),
       NodeWithInts("ReduceSum", {4, 6}, {2}),
       {"axes is 2"}},
      {"SplitAxis",
       Node("Split", {{4, 6}}, {{"axis", std::int64_t{-1}}}),
       Node("Split", {{4, 6}}, {{"axis", std::int64_t{1} << 32}}),
       {"its axis is 4294967296"}},
      {"SplitSum", NodeWithInts("Split", {6}, {6}), NodeWithInts("Split", {6}, {5}), {"(Split)", "sum"}},
      {"SoftmaxAxis",
       Node("Softmax", {{4, 6}}),
       Node("Softmax", {{4, 6}}, {{"axis", std::int64_t{2}}}),
       {"its axis is 2"}},
      {"CumSumAxis", NodeWithInts("CumSum", {4, 6}, {1}), NodeWithInts("CumSum", {4, 6}, {9}), {"axis is 9"}},
      {"TransposePerm",
       Node("Transpose", {{4, 6, 2}}, {{"perm", Ints{2, 0, 1}}}),
       Node("Transpose", {{4, 6, 2}}, {{"perm", Ints{1, 0}}}),
       {"its perm [1,0]", "3 axes"}},
      // ---- movement
      {"ScatterNdUpdates",
       ScatterNd({4, 5}, {3, 1}, {3, 5}),
       ScatterNd({4, 5}, {3, 1}, {3, 4}),
       {"its updates", "must have [3,5]"}},
      {"ScatterNdIndices", ScatterNd({4, 5}, {3, 2}, {3}), ScatterNd({4, 5}, {3, 3}, {3}), {"name 3 axes"}},
      {"GatherNdBatch", GatherNd({4, 5}, {4, 1}, 1), GatherNd({4, 5}, {3, 1}, 1), {"batch_dims"}},
      {"RangeOfStepZero", Range(0, 6, 2), Range(0, 6, 0), {"node 'r' (Range)", "its delta is 0"}},
      {"RangeTooLong", Range(0, 6, 2), Range(kLowest, 1, 1), {"longer than 2^50"}},
      {"PadOverflow",
       NodeWithInts("Pad", {4}, {1, 1}),
       NodeWithInts("Pad", {4}, {std::int64_t{1} << 62, std::int64_t{1} << 62}),
       {"its pads", "2^50"}},
      {"ResizeByNothing", Resize({1, 1, 2, 2}), Resize({1, 1, 0, 2}), {"scale along axis 2 is 0", "above 0"}},
      {"ResizeByNaN",
       Resize({1, 1, 2, 2}),
       Resize({1, 1, 2, std::numeric_limits<float>::quiet_NaN()}),
       {"scale along axis 3 is", "nan"}},
      {"ResizeByTooMuch", Resize({1, 1, 2, 2}), Resize({1, 1, 3e38F, 2}), {"at most 2^50 places"}},
      {"ResizeAxes", Resize({1, 1, 2, 2}), Resize({2, 2}), {"2 numbers, but must be 4"}},
      {"ResizeToNegative", ResizeTo({1, 8, 7, 7}), ResizeTo({1, 8, -7, 7}), {"sizes is -7"}},
      {"TileNegative", NodeWithInts("Tile", {4}, {3}), NodeWithInts("Tile", {4}, {-3}), {"negative"}},
      {"SliceStepZero", Slice(1), Slice(0), {"(Slice)", "step"}},
      {"ExpandShape",
       NodeWithInts("Expand", {4, 1}, {4, 6}),
       NodeWithInts("Expand", {4, 1}, {5, 6}),
       {"(Expand)"}},
      // ---- before shapes were broadcast
      {"AddOfOldModels",
       Node("Add", {{4, 6}, {6}}, {{"broadcast", std::int64_t{1}}}),
       Node("Add", {{4, 6}, {6}}),
       {"must have [4,6]"},
       6},
      {"AddAtAnAxis",
       Node("Add", {{4, 6, 2}, {6}}, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}}),
       Node("Add", {{4, 6, 2}, {6}}, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{2}}}),
       {"cannot be laid over [4,6,2] at axis 2"},
       6},
      {"PReluSlope", Node("PRelu", {image, {4, 1, 1}}), Node("PRelu", {image, {5, 1, 1}}), {"slope [5,1,1]"}},
  };
}

class OnnxRules : public ::testing::TestWithParam<Case> {};

TEST_P(OnnxRules, WhatFitsIsReadAndWhatDoesNotIsRefused) {
  const Case& row = GetParam();
  EXPECT_EQ(RefusalOf(row.right, {}, row.opset), "no error");
  const std::string refusal = RefusalOf(row.wrong, {}, row.opset);
  EXPECT_THAT(refusal, AllOf(StartsWith("model.onnx: node "), HasSubstr("contradicts the rules of its op")));
  for (const std::string& text : row.says) EXPECT_THAT(refusal, HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(Nodes, OnnxRules, ::testing::ValuesIn(Cases()),
                         [](const auto& row) { return row.param.name; });

RC_GTEST_PROP(OnnxRulesProperty, AConvolutionIsReadWhereChannelsAreGroupsTimesThoseOfItsFilter, ()) {
  const auto groups = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto filter = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto channels = *rc::gen::inRange<std::int64_t>(1, 10);
  const auto outputs = *rc::gen::inRange<std::int64_t>(1, 10);
  const GraphMaker m =
      Node("Conv", {{2, channels, 5, 5}, {outputs, filter, 3, 3}}, {{"group", std::int64_t{groups}}});
  const bool fits = channels == groups * filter && outputs % groups == 0;
  RC_ASSERT((RefusalOf(m) == "no error") == fits);
}

// What a window gives is at least one place, and as many as the standard counts.
RC_GTEST_PROP(OnnxRulesProperty, AWindowThatIsReadHasAPlaceInItsImage, ()) {
  const auto image = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto kernel = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto dilation = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto pad = *rc::gen::inRange<std::int64_t>(0, 3);
  const GraphMaker m = Node("MaxPool", {{1, 1, image}},
                            {{"kernel_shape", Ints{kernel}},
                             {"strides", Ints{stride}},
                             {"dilations", Ints{dilation}},
                             {"pads", Ints{pad, pad}}});
  const std::int64_t spare = image + 2 * pad - ((kernel - 1) * dilation + 1);
  if (spare < 0) {
    RC_ASSERT(RefusalOf(m) != "no error");
  } else {
    RC_ASSERT(ShapeText(Import(m), "y") == "f32[1,1," + std::to_string(spare / stride + 1) + "]");
  }
}

}  // namespace
}  // namespace berth::scenarios
