#include "sim/analysis/product_flops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stowplan::sim {
namespace {

using Shape = std::vector<std::int64_t>;

double ElementsOf(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t dimension : shape) elements *= static_cast<double>(dimension);
  return elements;
}

bool IsTold(const Output& output) {
  return !output.shape.empty() || !output.dtype.empty();
}

// The one that all readings agree on.
class Readings {
 public:
  void Add(std::optional<double> flops) {
    if (!flops) return;
    is_ambiguous_ = is_ambiguous_ || (found_ && *found_ != *flops);
    found_ = flops;
  }
  std::optional<double> Agreed() const { return is_ambiguous_ ? std::nullopt : found_; }

 private:
  std::optional<double> found_;
  bool is_ambiguous_ = false;
};

// ---- products of matrices

// Two factors and their product, in which of the three each index of the sum stands.
using Three = std::array<const Shape*, 3>;

// n products of m x k by k x n, whichever of the two are transposed: every index stands in two of the three sizes.
std::optional<double> FromSizes(const Three& three, double count) {
  const double a = ElementsOf(*three[0]) / count, b = ElementsOf(*three[1]) / count,
               c = ElementsOf(*three[2]) / count;
  const double rows = std::round(std::sqrt(a / b * c)), columns = std::round(std::sqrt(b / a * c)),
               depth = std::round(std::sqrt(a / c * b));
  if (rows * depth != a || depth * columns != b || rows * columns != c) return std::nullopt;
  return 2 * count * rows * columns * depth;
}

// What counts products stands before the last two dimensions, from the first on or back from these.
std::optional<double> MatrixFlops(const Three& three) {
  if (std::ranges::any_of(three, [](const Shape* shape) { return ElementsOf(*shape) == 0; })) return 0;
  std::size_t rank = SIZE_MAX;
  for (const Shape* shape : three) rank = std::min(rank, shape->size());
  const std::size_t leading = rank > 2 ? rank - 2 : 0;
  Readings readings;
  for (const bool from_first : {true, false}) {
    double count = 1;
    bool fits = true;
    for (std::size_t i = 0; i < leading && fits; ++i) {
      std::array<std::int64_t, 3> sizes{};
      for (std::size_t t = 0; t < 3; ++t)
        sizes[t] = (*three[t])[from_first ? i : three[t]->size() - 2 - leading + i];
      const std::int64_t most = *std::ranges::max_element(sizes);
      fits = std::ranges::all_of(sizes, [&](std::int64_t size) { return size == most || size == 1; });
      if (std::ranges::count(sizes, most) == 3) count *= static_cast<double>(most);
    }
    if (fits) readings.Add(FromSizes(three, count));
  }
  return readings.Agreed();
}

// Every index of the sum once, where the letters fit the shapes.
std::optional<double> FromLetters(const std::array<std::string_view, 3>& letters, const Three& three) {
  std::map<char, std::int64_t> sizes;
  for (std::size_t t = 0; t < 3; ++t) {
    if (letters[t].size() != three[t]->size()) return std::nullopt;
    for (std::size_t i = 0; i < letters[t].size(); ++i) {
      std::int64_t& size = sizes.emplace(letters[t][i], (*three[t])[i]).first->second;
      if (size != (*three[t])[i] && size != 1 && (*three[t])[i] != 1) return std::nullopt;
      size = size == 1 ? (*three[t])[i] : size;
    }
  }
  double flops = 2;
  for (const auto& [letter, size] : sizes) flops *= static_cast<double>(size);
  return flops;
}

// "bij,bjk->bik". Its gradients bear it, too, with the product in the place of a factor.
std::optional<double> EquationFlops(std::string equation, const Three& three) {
  std::erase(equation, ' ');
  const std::string_view text = equation;
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || comma > arrow ||
      text.find(',', comma + 1) != std::string_view::npos || text.find('.') != std::string_view::npos)
    return std::nullopt;
  const auto a = text.substr(0, comma), b = text.substr(comma + 1, arrow - comma - 1),
             c = text.substr(arrow + 2);
  Readings readings;
  for (const auto& letters : {std::array{a, b, c}, std::array{c, b, a}, std::array{a, c, b}})
    readings.Add(FromLetters(letters, three));
  return readings.Agreed();
}

// Rows of one matrix, in groups that are not told, each with a matrix of its own; or the gradient by these.
std::optional<double> GroupedFlops(const Three& three) {
  const Shape &a = *three[0], &b = *three[1];
  if (a.size() == 2 && b.size() >= 2) return 2 * ElementsOf(a) * static_cast<double>(b.back());
  if (a.size() == 3 && b.size() == 2) return 2 * static_cast<double>(a[1]) * ElementsOf(b);
  return MatrixFlops(three);
}

// ---- convolutions

// The axes of images and filters: [batch, channels, ...] and [outputs, inputs / groups, ...], or [batch, ..., channels] and
// [..., inputs / groups, outputs], where a depthwise filter has [..., inputs, outputs of each].
struct Layout {
  bool channels_first;
  bool is_depthwise;

  std::int64_t Channels(const Shape& image) const { return channels_first ? image[1] : image.back(); }
  std::int64_t Outputs(const Shape& filter) const {
    if (channels_first) return filter[0];
    return filter.back() * (is_depthwise ? filter[filter.size() - 2] : 1);
  }
  std::int64_t Inputs(const Shape& filter) const {
    if (channels_first) return filter[1];
    return is_depthwise ? 1 : filter[filter.size() - 2];
  }
};

// The image that the filter reads, the one that it makes.
struct Convolution {
  const Shape& read;
  const Shape& made;
  const Shape& filter;
};

// Those that an op may have, the likelier first: last channels where nothing is said, as in TensorFlow.
std::vector<Layout> LayoutsOf(const Op& op) {
  const bool is_depthwise = op.type.starts_with("Depthwise");
  const auto format = FindString(op.attributes, "data_format");
  if (op.type == "Conv" || op.type == "ConvTranspose") return {{true, is_depthwise}};  // ONNX has no other
  if (format) return {{format->starts_with("NC"), is_depthwise}};
  return {{false, is_depthwise}, {true, is_depthwise}};
}

// Every element that is made takes the weights of its channel; padding counts as if it were there.
std::optional<double> ConvolutionFlops(const Op& op, const Convolution& of, const Layout& layout) {
  const std::size_t rank = of.filter.size();
  if (rank < 3 || of.read.size() != rank || of.made.size() != rank || of.read[0] != of.made[0])
    return std::nullopt;
  const auto groups = FindNumber(op.attributes, "groups");
  const std::int64_t outputs = layout.Outputs(of.filter), inputs = layout.Inputs(of.filter);
  const std::int64_t channels = layout.Channels(of.read);
  if (layout.Channels(of.made) != outputs) return std::nullopt;
  if (groups && static_cast<double>(inputs) * *groups != static_cast<double>(channels)) return std::nullopt;
  if (inputs != channels && (inputs == 0 || channels % inputs != 0)) return std::nullopt;
  if (outputs == 0) return 0;
  return 2 * ElementsOf(of.made) * (ElementsOf(of.filter) / static_cast<double>(outputs));
}

std::optional<double> ConvolutionFlops(const Op& op, const Convolution& of) {
  for (const Layout& layout : LayoutsOf(op)) {
    if (const auto flops = ConvolutionFlops(op, of, layout)) return flops;
  }
  return std::nullopt;
}

// A gradient of a convolution, or of a transposed one, which reads what the other makes.
std::optional<double> EitherWay(const Op& op, const Convolution& of) {
  const Convolution turned{of.made, of.read, of.filter};
  if (const auto transposed = FindBool(op.attributes, "transposed"))
    return ConvolutionFlops(op, *transposed ? turned : of);
  for (const Layout& layout : LayoutsOf(op)) {
    const auto straight = ConvolutionFlops(op, of, layout), other = ConvolutionFlops(op, turned, layout);
    if (!straight && !other) continue;
    if (!straight) return other;
    // With as many channels on both sides nothing but the sizes tells: what is made is seldom larger.
    const bool is_ambiguous = other && *other != *straight && ElementsOf(of.made) > ElementsOf(of.read);
    return is_ambiguous ? std::nullopt : straight;
  }
  return std::nullopt;
}

// Gradients of image and filter are products, that of the bias is none.
double ProductsMade(const Op& op) {
  const Attribute* mask = FindAttribute(op.attributes, "output_mask");
  const auto* made = mask != nullptr ? std::get_if<Attribute::List>(&mask->value) : nullptr;
  double products = 0;
  if (made == nullptr) {
    for (const Output& output : op.outputs) products += output.shape.size() > 1 ? 1 : 0;
    return products;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(made->size(), 2); ++i) {
    const bool* is_made = std::get_if<bool>(&(*made)[i].value);
    products += is_made != nullptr && *is_made ? 1 : 0;
  }
  return products;
}

// ---- attention

// Scores of all pairs, and their product with the values; [batch, heads, positions, size].
std::optional<double> AttentionFlops(const Shape& query, const Shape& key, const Shape& value,
                                     bool is_backward) {
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || query[0] != key[0] || key[0] != value[0] ||
      query[3] != key[3] || key[2] != value[2])
    return std::nullopt;
  const Shape scores = {query[0], query[1], query[2], key[2]};
  // Backward the scores are worked out again, and each of them and of the values has two gradients.
  const std::int64_t depths = is_backward ? 3 * query[3] + 2 * value[3] : query[3] + value[3];
  return 2 * ElementsOf(scores) * static_cast<double>(depths);
}

// ---- recurrent layers of torch

// Each weight that is a matrix meets each step of each sequence, which stands first. Behind it stand the weights, cuDNN's of all
// layers or four of one, and then states.
std::optional<double> RecurrentFlops(std::string_view type, std::span<const Output> inputs) {
  if (inputs.empty() || inputs[0].shape.empty()) return std::nullopt;
  double elements = 0;
  for (const Output& weight :
       inputs.first(type.starts_with("RNN") ? std::min<std::size_t>(inputs.size(), 5) : inputs.size())
           .subspan(1)) {
    if (weight.shape.size() > 2) break;
    elements += weight.shape.size() == 2 ? ElementsOf(weight.shape) : 0;
  }
  const bool is_backward = type == "RNNGrad" || type == "CudnnRNNBackprop";
  return (is_backward ? 4 : 2) * ElementsOf({inputs[0].shape.begin(), inputs[0].shape.end() - 1}) * elements;
}

}  // namespace

std::optional<double> ProductFlops(const Op& op, std::span<const Output> inputs) {
  const std::string_view type = op.type;
  const auto has = [&](std::size_t wanted) {
    return inputs.size() >= wanted && !op.outputs.empty() && IsTold(op.outputs[0]) &&
           std::ranges::all_of(inputs.first(wanted), IsTold);
  };
  const auto input = [&](std::size_t i) -> const Shape& { return inputs[i].shape; };
  if (type == "MatMul" || type == "Gemm" || type == "Linear" || type == "BatchMatMul" ||
      type == "BatchMatMulV2" || type == "Einsum" || type == "GroupedMatMul") {
    if (!has(2)) return std::nullopt;
    const Three three = {&input(0), &input(1), &op.outputs[0].shape};
    if (const auto equation = FindString(op.attributes, "equation")) return EquationFlops(*equation, three);
    if (type == "Einsum") return std::nullopt;
    return type == "GroupedMatMul" ? GroupedFlops(three) : MatrixFlops(three);
  }
  if (type == "ConvTranspose") {
    if (!has(2)) return std::nullopt;
    return ConvolutionFlops(op, {op.outputs[0].shape, input(0), input(1)});
  }
  if (type == "ConvBackward") {
    if (!has(3)) return std::nullopt;
    const auto one = EitherWay(op, {input(1), input(0), input(2)});
    return one ? std::optional(ProductsMade(op) * *one) : std::nullopt;
  }
  if (type.starts_with("Conv") || type.starts_with("DepthwiseConv")) {
    const bool is_input = type.ends_with("BackpropInput"), is_filter = type.ends_with("BackpropFilter");
    const bool is_forward = type == "Conv" || type.ends_with("1D") || type.ends_with("2D") ||
                            type.ends_with("3D") || type.ends_with("Native");
    if (!has(2) || (!is_input && !is_filter && !is_forward)) return std::nullopt;
    const Shape& made = op.outputs[0].shape;
    if (is_input) return ConvolutionFlops(op, {made, input(0), input(1)});
    if (is_filter) return EitherWay(op, {input(0), input(1), made});
    return ConvolutionFlops(op, {input(0), made, input(1)});
  }
  // What an attention of ONNX has cached stands behind its mask and is no input of torch's.
  const bool is_torch = FindString(op.attributes, "torch_op").has_value();
  if (type == "Attention") {
    if (!has(3) || (!is_torch && inputs.size() > 4)) return std::nullopt;
    return AttentionFlops(input(0), input(1), input(2), false);
  }
  if (type == "AttentionGrad") {
    const std::size_t first = is_torch ? 1 : 2;  // behind the output's gradient, and the output
    if (!has(first + 3) || (!is_torch && inputs.size() > first + 4)) return std::nullopt;
    return AttentionFlops(input(first), input(first + 1), input(first + 2), true);
  }
  if (is_torch && (type.starts_with("CudnnRNN") || type == "RNN" || type == "RNNGrad"))
    return RecurrentFlops(type, inputs);
  return std::nullopt;
}

std::optional<double> ProductFlops(const OpGraph& graph, OpIndex index) {
  const Op& op = graph.ops[static_cast<std::size_t>(index)];
  std::vector<Output> inputs;
  for (const TensorRef& input : op.inputs)
    inputs.push_back(
        graph.ops[static_cast<std::size_t>(input.op)].outputs[static_cast<std::size_t>(input.output)]);
  return ProductFlops(op, inputs);
}

}  // namespace stowplan::sim
