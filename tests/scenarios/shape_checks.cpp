#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/graph_view.h"

namespace stowplan::scenarios {
namespace {

using Shape = std::vector<std::int64_t>;

class Checker : public GraphView {
 public:
  using GraphView::GraphView;

  static std::int64_t Elements(const Shape& shape) {
    std::int64_t product = 1;
    for (const auto dim : shape) product *= dim;
    return product;
  }

  bool ShapesFit(const sim::Op& op) const;

 private:
  bool MatMulFits(const sim::Op& op) const;
  bool EquationFits(const sim::Op& op) const;
  bool PermutationFits(const sim::Op& op) const;
  bool ExpertsFit(const sim::Op& op) const;
  bool ConvolutionFits(const sim::Op& op) const;
  bool PartsFit(const sim::Op& op, bool parts_are_inputs) const;
  bool PairFits(const sim::Op& op) const;
  bool SpatialFits(const Shape& from, const Shape& to, const sim::Op& op) const;
};

// x [.., k], w [k, n] -> [.., n]; the gradient of x contracts the last axes, that of w all the others. With
// transpose_b w is [n, k].
bool Checker::MatMulFits(const sim::Op& op) const {
  const bool transposed = sim::FindAttribute(op.attributes, "transpose_b") != nullptr;
  const auto of_weights = [&](const Shape& w) { return transposed ? Shape{w[1], w[0]} : w; };  // [k, n]
  const Shape& a = In(op, 0);
  const Shape& result = op.outputs[0].shape;
  const std::int64_t rows = Elements(a) / a.back();
  if (op.phase == "forward") {
    const Shape w = of_weights(In(op, 1));
    return a.back() == w[0] && result.back() == w[1] && rows == Elements(result) / result.back() &&
           op.flops == 2.0 * static_cast<double>(Elements(a) * w[1]);
  }
  if (op.name.ends_with("/input")) {  // dy [.., n], w
    const Shape w = of_weights(In(op, 1));
    return a.back() == w[1] && result.back() == w[0] && Elements(result) == rows * w[0] &&
           op.flops == 2.0 * static_cast<double>(rows * w[0] * w[1]);
  }
  const Shape& b = In(op, 1);  // x [.., k], dy [.., n]
  return of_weights(result) == Shape{a.back(), b.back()} && rows == Elements(b) / b.back() &&
         op.flops == 2.0 * static_cast<double>(rows * a.back() * b.back());
}

// A letter of the equation is one length everywhere; FLOPs are twice the product of all lengths. The gradient
// of x is made from dy and y, that of y from x and dy.
bool Checker::EquationFits(const sim::Op& op) const {
  const std::string equation = *sim::FindString(op.attributes, "equation");
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  const std::string x = equation.substr(0, comma);
  const std::string y = equation.substr(comma + 1, arrow - comma - 1);
  const std::string z = equation.substr(arrow + 2);
  std::array<std::string, 3> letters = {x, y, z};  // of the inputs and the output
  if (op.phase == "backward")
    letters = op.name.ends_with("/input") ? std::array{z, y, x} : std::array{x, z, y};
  std::map<char, std::int64_t> length;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const Shape& shape = i < 2 ? In(op, i) : op.outputs[0].shape;
    if (shape.size() != letters[i].size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (length.emplace(letters[i][axis], shape[axis]).first->second != shape[axis]) return false;
    }
  }
  double flops = 2;
  for (const auto& [letter, size] : length) flops *= static_cast<double>(size);
  return op.flops == flops;
}

// Axis i of the result is axis permutation[i] of the other; backward it is turned back.
bool Checker::PermutationFits(const sim::Op& op) const {
  const auto permutation =
      std::get<sim::Attribute::List>(sim::FindAttribute(op.attributes, "permutation")->value);
  const bool forward = op.phase == "forward";
  const Shape& from = forward ? In(op, 0) : op.outputs[0].shape;
  const Shape& to = forward ? op.outputs[0].shape : In(op, 0);
  if (from.size() != permutation.size() || to.size() != permutation.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] != from.at(static_cast<std::size_t>(std::get<std::int64_t>(permutation[i].value))))
      return false;
  }
  return true;
}

bool Checker::SpatialFits(const Shape& from, const Shape& to, const sim::Op& op) const {
  const auto list = [&](const char* key) {
    return std::get<sim::Attribute::List>(sim::FindAttribute(op.attributes, key)->value);
  };
  const bool same = sim::FindString(op.attributes, "padding") == "SAME";
  for (const std::size_t axis : {0u, 1u}) {
    const bool dilated = sim::FindAttribute(op.attributes, "dilations") != nullptr;
    const auto dilation = dilated ? std::get<std::int64_t>(list("dilations")[axis].value) : 1;
    const auto kernel = (std::get<std::int64_t>(list("kernel")[axis].value) - 1) * dilation + 1;
    const auto stride = std::get<std::int64_t>(list("strides")[axis].value);
    const std::int64_t size = from[axis + 1];
    const std::int64_t windows = same ? (size + stride - 1) / stride : (size - kernel + stride) / stride;
    if (to[axis + 1] != windows) return false;
  }
  return from[0] == to[0];
}

// Forward: x, w -> y. Input gradient: dy, w -> dx. Weight gradient: x, dy -> dw.
bool Checker::ConvolutionFits(const sim::Op& op) const {
  const bool to_input = op.type.ends_with("BackpropInput");
  const bool to_weights = op.type.ends_with("BackpropFilter");
  const Shape& result = op.outputs[0].shape;
  const Shape& x = to_input ? result : In(op, 0);
  const Shape& w = to_weights ? result : In(op, 1);
  const Shape& y = to_input ? In(op, 0) : to_weights ? In(op, 1) : result;
  const bool depthwise = op.type.starts_with("Depthwise");
  const std::int64_t depth = depthwise ? 1 : w[2];
  return SpatialFits(x, y, op) && x[3] == w[2] && y[3] == (depthwise ? w[2] * w[3] : w[3]) &&
         op.flops == 2.0 * static_cast<double>(Elements(y) * w[0] * w[1] * depth);
}

// Parts along the axis make up the whole.
bool Checker::PartsFit(const sim::Op& op, bool parts_are_inputs) const {
  std::vector<Shape> parts;
  if (parts_are_inputs) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) parts.push_back(In(op, i));
  } else {
    for (const auto& output : op.outputs) parts.push_back(output.shape);
  }
  const Shape& whole = parts_are_inputs ? op.outputs[0].shape : In(op, 0);
  const auto axis = static_cast<std::size_t>(*sim::FindNumber(op.attributes, "axis"));
  std::int64_t along = 0;
  for (const Shape& part : parts) {
    if (part.size() + 1 == whole.size()) {  // of Pack: a new axis
      ++along;
      Shape widened = part;
      widened.insert(widened.begin() + static_cast<std::ptrdiff_t>(axis), whole[axis]);
      if (widened != whole) return false;
      continue;
    }
    along += part[axis];
    Shape widened = part;
    widened[axis] = whole[axis];
    if (widened != whole) return false;
  }
  return along == whole[axis];
}

// Equal shapes, or one broadcast into the other by missing or leading axes.
bool Checker::PairFits(const sim::Op& op) const {
  const std::int64_t larger = std::max(Elements(In(op, 0)), Elements(In(op, 1)));
  const std::int64_t smaller = std::min(Elements(In(op, 0)), Elements(In(op, 1)));
  return Elements(op.outputs[0].shape) == larger && larger % smaller == 0;
}

// Tokens are handed out whole: [T, n] to experts' [C, n], by their experts [T, k]; and back by weights [T, k].
bool Checker::ExpertsFit(const sim::Op& op) const {
  const auto rows_of_width = [](const Shape& shape, std::int64_t width) {
    return shape.size() == 2 && shape[1] == width;
  };
  const bool dispatch = op.type.starts_with("ExpertDispatch");
  const bool backward = op.type.ends_with("Grad");
  if (dispatch && backward) {
    const std::int64_t width = op.outputs[0].shape[1];
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (!rows_of_width(In(op, i), width)) return false;
    }
    return In(op, 0)[0] == op.outputs[0].shape[0];
  }
  if (dispatch) {
    return std::all_of(op.outputs.begin(), op.outputs.end(),
                       [&](const auto& part) { return rows_of_width(part.shape, In(op, 0)[1]); }) &&
           In(op, 1)[0] == In(op, 0)[0];
  }
  // Parts, weights, experts; backward the gradient of the result as well.
  const std::size_t parts = op.inputs.size() - (backward ? 3 : 2);
  const Shape& whole = backward ? In(op, parts + 2) : op.outputs[0].shape;
  for (std::size_t i = 0; i < parts; ++i) {
    if (!rows_of_width(In(op, i), whole[1]) || (backward && op.outputs[i].shape != In(op, i))) return false;
  }
  return In(op, parts) == In(op, parts + 1) && In(op, parts)[0] == whole[0] &&
         (!backward || op.outputs[parts].shape == In(op, parts));
}

bool Checker::ShapesFit(const sim::Op& op) const {
  const std::string& type = op.type;
  const auto one_of = [&](std::initializer_list<const char*> types) {
    return std::any_of(types.begin(), types.end(), [&](const char* t) { return type == t; });
  };
  const auto out = [&](std::size_t i) -> const Shape& { return op.outputs.at(i).shape; };
  if (op.IsSource()) return op.inputs.empty();
  if (type == "MatMul") return MatMulFits(op);
  if (type.starts_with("Conv2D") || type.starts_with("DepthwiseConv2d")) return ConvolutionFits(op);
  if (type == "BatchMatMul") return EquationFits(op);
  if (op.flops != 0) return false;
  if (one_of({"Relu", "Sigmoid", "Tanh", "Softmax", "Erf", "Gelu", "Swish", "Scale", "Shift"}))
    return out(0) == In(op, 0);
  if (one_of({"ReluGrad", "SigmoidGrad", "TanhGrad", "SoftmaxGrad", "ErfGrad", "GeluGrad", "SwishGrad"}))
    return out(0) == In(op, 0) && out(0) == In(op, 1);
  if (type == "BiasAdd") return out(0) == In(op, 0) && In(op, 1) == Shape{out(0).back()};
  if (type == "BiasAddGrad") return out(0) == Shape{In(op, 0).back()};
  if (type == "FusedBatchNorm") {
    const Shape channels = {out(0).back()};
    return out(0) == In(op, 0) && In(op, 1) == channels && In(op, op.inputs.size() - 1) == channels;
  }
  if (type == "FusedBatchNormGrad")
    return out(0) == In(op, 0) && out(0) == In(op, 1) && out(1) == Shape{out(0).back()};
  if (one_of({"LayerNorm", "RMSNorm"})) {
    const Shape last = {out(0).back()};
    return out(0) == In(op, 0) && In(op, 1) == last && In(op, op.inputs.size() - 1) == last;
  }
  if (one_of({"LayerNormGrad", "RMSNormGrad"})) {
    const Shape last = {out(0).back()};
    return out(0) == In(op, 0) && out(0) == In(op, 1) && out(1) == last && In(op, 2) == last;
  }
  if (type == "Transpose") return PermutationFits(op);
  // Angles: sine and cosine for each position and half of the width, before the heads' last two axes.
  if (one_of({"RotaryEmbedding", "RotaryEmbeddingGrad"})) {
    const Shape& x = out(0);
    return x == In(op, 0) && In(op, 1) == Shape{2, x[x.size() - 2], x.back() / 2};
  }
  if (type == "CacheWrite") return out(0) == In(op, 0) && out(0).size() == In(op, 1).size();
  if (type == "TopK") return out(0) == out(1) && out(0)[0] == In(op, 0)[0] && out(0)[1] <= In(op, 0)[1];
  if (type == "TopKGrad") return In(op, 0) == In(op, 1) && out(0)[0] == In(op, 0)[0];
  if (type.starts_with("Expert")) return ExpertsFit(op);
  if (one_of({"Add", "Mul"})) return PairFits(op);
  if (type == "Sub") return In(op, 0) == In(op, 1) && out(0) == In(op, 0);
  if (type == "Neg") return out(0) == In(op, 0);
  if (type == "AddN") {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      // Rows of a table that is multiplied with as well are added where they belong.
      const bool rows = At(op.inputs[i].op).type == "GatherGrad" && In(op, i).back() == out(0).back();
      if (In(op, i) != out(0) && !rows) return false;
    }
    return op.inputs.size() >= 2;
  }
  if (type == "MulSum") return In(op, 0) == In(op, 1) && Elements(In(op, 0)) % Elements(out(0)) == 0;
  if (one_of({"ReduceSum", "Mean"}))
    return Elements(In(op, 0)) % Elements(out(0)) == 0 && out(0).size() < In(op, 0).size();
  if (type == "Tile") return Elements(out(0)) % Elements(In(op, 0)) == 0;
  if (one_of({"ConcatV2", "Pack"})) return PartsFit(op, true);
  if (one_of({"Split", "Unpack"})) return PartsFit(op, false);
  if (one_of({"Pad", "Slice"})) {
    const bool grows = type == "Pad";
    return std::equal(out(0).begin(), out(0).end(), In(op, 0).begin(), In(op, 0).end(),
                      [grows](auto to, auto from) { return grows ? to >= from : to <= from; });
  }
  if (type == "Reshape") return Elements(out(0)) == Elements(In(op, 0));
  if (type == "GatherV2")
    return out(0).back() == In(op, 0)[1] && Elements(out(0)) == Elements(In(op, 1)) * In(op, 0)[1];
  if (type == "GatherGrad")
    return out(0) == In(op, 0) && Elements(In(op, 1)) == Elements(out(0)) / out(0).back();
  if (one_of({"MaxPool", "AvgPool"})) return SpatialFits(In(op, 0), out(0), op) && out(0)[3] == In(op, 0)[3];
  if (type == "MaxPoolGrad")
    return out(0) == In(op, 0) && In(op, 1) == In(op, 2) && SpatialFits(out(0), In(op, 1), op);
  if (type == "AvgPoolGrad") return SpatialFits(out(0), In(op, 0), op);
  if (type == "Dropout") return out(0) == In(op, 0) && out(1) == In(op, 0);
  if (type == "SoftmaxCrossEntropyWithLogits")
    return out(1) == In(op, 0) && out(0) == In(op, 1) && In(op, 1)[0] == out(1)[0];
  if (type == "SoftmaxCrossEntropyGrad") return out(0) == In(op, 0);
  return type.starts_with("Apply") && op.outputs.empty() && op.inputs.size() == 2;
}

}  // namespace

std::string FaultInShapes(const sim::OpGraph& graph) {
  const Checker check(graph);
  for (const sim::Op& op : graph.ops) {
    if (!check.ShapesFit(op))
      return op.type + " '" + op.name + "' has shapes or FLOPs that do not fit together";
    for (const sim::Output& output : op.outputs) {
      if (output.dtype.empty() || output.bytes != 4 * Checker::Elements(output.shape) || output.bytes <= 0) {
        return op.type + " '" + op.name + "' has an output whose bytes are not those of its shape";
      }
    }
  }
  return "";
}

}  // namespace stowplan::scenarios
