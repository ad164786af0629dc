// Axes, and what moves, picks, repeats or resizes.
#include <limits>

#include "tests/scenarios/onnx/rule_cases.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;
using Dims = std::vector<GraphMaker::Dim>;
using onnx::TensorProto;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

TensorProto FloatTensor(const std::vector<float>& numbers) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
  for (const float number : numbers) tensor.add_float_data(number);
  return tensor;
}

GraphMaker Resize(const std::vector<float>& scales) {
  GraphMaker m;
  m.Input("x", {1, 8, 5, 5}).Node("Constant", {}, {"scales"}, {{"value", FloatTensor(scales)}});
  m.Node("Resize", {"x", "", "scales"}, {"y"}).Output("y");
  return m;
}

GraphMaker Upsample(const std::vector<float>& scales) {
  GraphMaker m;
  m.Input("x", {1, 8, 5, 5}).Node("Constant", {}, {"scales"}, {{"value", FloatTensor(scales)}});
  m.Node("Upsample", {"x", "scales"}, {"y"}).Output("y");
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

GraphMaker Slice(std::int64_t step) {
  GraphMaker m;
  m.Input("x", {4}).Ints("from", {0}).Ints("to", {2}).Ints("axes", {0}).Ints("step", {step});
  m.Node("Slice", {"x", "from", "to", "axes", "step"}, {"y"}).Output("y");
  return m;
}

}  // namespace

std::vector<RuleCase> MovementRuleCases() {
  return {
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
      {"ReduceAxesTwice",
       Node("ReduceMean", {{4, 6}}, {{"axes", Ints{0, -1}}}),
       Node("ReduceMean", {{4, 6}}, {{"axes", Ints{0, 0, -2}}}),
       {"its axes [0,0,-2] name axis 0 twice"}},
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
      {"ScatterNdUpdates",
       ScatterNd({4, 5}, {3, 1}, {3, 5}),
       ScatterNd({4, 5}, {3, 1}, {3, 4}),
       {"its updates", "must have [3,5]"}},
      {"ScatterNdIndices", ScatterNd({4, 5}, {3, 2}, {3}), ScatterNd({4, 5}, {3, 3}, {3}), {"name 3 axes"}},
      {"GatherIndices",
       NodeWithInts("Gather", {6, 4}, {5, -6}),
       NodeWithInts("Gather", {6, 4}, {9}),
       {"indices is 9", "6 places along axis 0"}},
      {"GatherIndicesFromTheEnd",
       NodeWithInts("Gather", {4, 6}, {-6}, {{"axis", std::int64_t{1}}}),
       NodeWithInts("Gather", {4, 6}, {-7}, {{"axis", std::int64_t{1}}}),
       {"indices is -7", "along axis 1"}},
      {"GatherElementsIndices",
       NodeWithInts("GatherElements", {6}, {5}),
       NodeWithInts("GatherElements", {6}, {6}),
       {"indices is 6"}},
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
      {"UpsampleShrinks",
       Upsample({1, 1, 1, 1.5F}),
       Upsample({1, 1, 0.5F, 2}),
       {"scale along axis 2 is 0.5", "1 or more"},
       9},
      {"ResizeAxes", Resize({1, 1, 2, 2}), Resize({2, 2}), {"2 numbers, but must be 4"}},
      {"ResizeToNegative", ResizeTo({1, 8, 7, 7}), ResizeTo({1, 8, -7, 7}), {"sizes is -7"}},
      {"TileNegative", NodeWithInts("Tile", {4}, {3}), NodeWithInts("Tile", {4}, {-3}), {"negative"}},
      {"SliceStepZero", Slice(1), Slice(0), {"(Slice)", "step"}},
      {"ExpandShape",
       NodeWithInts("Expand", {4, 1}, {4, 6}),
       NodeWithInts("Expand", {4, 1}, {5, 6}),
       {"(Expand)"}},
  };
}

}  // namespace stowplan::scenarios
