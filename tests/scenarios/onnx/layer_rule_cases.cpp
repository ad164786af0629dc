// Products, normalisations, cells, losses.
#include "tests/scenarios/onnx/rule_cases.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;
using Dims = std::vector<GraphMaker::Dim>;
using onnx::TensorProto;

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

}  // namespace

std::vector<RuleCase> LayerRuleCases() {
  const Shape image = {1, 4, 8, 8};
  return {
      {"BatchNormalization",
       Node("BatchNormalization", {image, {4}, {4}, {4}, {4}}),
       Node("BatchNormalization", {image, {4}, {4}, {99}, {4}}),
       {"its input 3 has the shape [99]", "[4]"}},
      {"BatchNormalizationOfAVector",
       Node("BatchNormalization", {{4}, {1}, {1}, {1}, {1}}),
       Node("BatchNormalization", {{4}, {4}, {4}, {4}, {4}}),
       {"its input 1 has the shape [4]", "[1]"}},
      {"InstanceNormalization",
       Node("InstanceNormalization", {image, {4}, {4}}),
       Node("InstanceNormalization", {image, {4}, {8}}),
       {"its input 2 has the shape [8]"}},
      {"LayerNormalization",
       Node("LayerNormalization", {{2, 3, 6}, {6}, {6}}),
       Node("LayerNormalization", {{2, 3, 6}, {5}, {6}}),
       {"its scale [5]", "[2,3,6]"},
       17},
      {"LayerNormalizationScaleOfAllAxes",
       Node("LayerNormalization", {{2, 4, 8}, {1, 1, 8}, {4, 8}}),
       Node("LayerNormalization", {{2, 4, 8}, {1, 1, 8}, {3, 8}}),
       {"its shift [3,8]", "[2,4,8]"},
       17},
      {"LayerNormalizationScaleOfAnInnerAxis",
       Node("LayerNormalization", {{2, 4, 8}, {1, 4, 8}}, {{"axis", std::int64_t{1}}}),
       Node("LayerNormalization", {{2, 4, 8}, {1, 2, 4, 8}}, {{"axis", std::int64_t{1}}}),
       {"its scale [1,2,4,8]"},
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
      {"GemmBiasOfOldModels",
       Node("Gemm", {{2, 3}, {3, 5}, {5}}, {{"broadcast", std::int64_t{1}}}),
       Node("Gemm", {{2, 3}, {3, 5}, {5}}),
       {"its bias has the shape [5], but must have [2,5]", "broadcast is not set"},
       6},
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
  };
}

}  // namespace stowplan::scenarios
