#include "profiler/executor/op_tensors.h"

#include <algorithm>
#include <cmath>

namespace stowplan::profiler {
namespace {

bool IsView(const OpTensors& tensors) {
  const auto& outputs = tensors.op().outputs;
  return std::all_of(outputs.begin(), outputs.end(), [](const sim::Output& output) {
    return output.storage != sim::Output::Storage::kOwn || output.bytes == 0;
  });
}

bool IsPlain(const sim::Output& tensor) {
  return (tensor.dtype == "f32" || tensor.dtype == "i32") && ElementsOf(tensor.shape) * 4 == tensor.bytes;
}

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

std::optional<Product> FindProduct(Matrix a, Matrix b, Matrix result) {
  const auto [m, n] = result;
  if (a.rows == m && a.columns == b.rows && b.columns == n) return Product{1, m, n, a.columns, 'N', 'N'};
  if (a.rows == m && a.columns == b.columns && b.rows == n) return Product{1, m, n, a.columns, 'N', 'T'};
  if (a.columns == m && a.rows == b.rows && b.columns == n) return Product{1, m, n, a.rows, 'T', 'N'};
  return std::nullopt;
}

// Of the axes of `large` those that the smaller tensor has. False where what it lacks is not one piece.
bool SpreadOver(const std::vector<std::int64_t>& large, const std::vector<bool>& has, Spread* spread) {
  *spread = {};
  enum class Part : std::uint8_t { kOuter, kMiddle, kInner } part = Part::kOuter;
  for (std::size_t i = 0; i < large.size(); ++i) {
    if (large[i] == 1) continue;
    if (!has[i] && part == Part::kInner) return false;
    if (has[i] ? part == Part::kMiddle : part == Part::kOuter) part = has[i] ? Part::kInner : Part::kMiddle;
    auto& size = part == Part::kOuter    ? spread->outer
                 : part == Part::kMiddle ? spread->middle
                                         : spread->inner;
    size *= large[i];
  }
  // What is only outer is as well one inner piece.
  if (part == Part::kOuter) std::swap(spread->outer, spread->inner);
  return true;
}

// As arrays are broadcast: axes are matched from the last, an axis of 1 with any.
bool FindBroadcast(const std::vector<std::int64_t>& large, const std::vector<std::int64_t>& small,
                   Spread* spread) {
  if (small.size() > large.size()) return false;
  std::vector<bool> has(large.size());
  const std::size_t lacking = large.size() - small.size();
  for (std::size_t i = 0; i < small.size(); ++i) {
    has[lacking + i] = small[i] == large[lacking + i];
    if (!has[lacking + i] && small[i] != 1) return false;
  }
  return SpreadOver(large, has, spread);
}

// A number for each channel: the last axis, or the second.
bool FindBias(const sim::Op& op, const std::vector<std::int64_t>& large,
              const std::vector<std::int64_t>& small, Spread* spread) {
  const bool channels_first = sim::FindString(op.attributes, "data_format").value_or("") == "NCHW";
  if (large.empty() || (channels_first && large.size() < 2)) return false;
  const std::size_t axis = channels_first ? 1 : large.size() - 1;
  if (ElementsOf(small) != large[axis]) return false;
  std::vector<bool> has(large.size());
  has[axis] = true;
  return SpreadOver(large, has, spread);
}

// `large` without one piece of its axes is `small`, axes of 1 left out. Shapes may leave open which piece: then that
// which begins at `preferred`, else the last.
bool FindLacking(const std::vector<std::int64_t>& large, const std::vector<std::int64_t>& small,
                 std::size_t preferred, Spread* spread) {
  std::vector<std::int64_t> kept, dims;
  std::copy_if(small.begin(), small.end(), std::back_inserter(kept), [](auto dim) { return dim != 1; });
  std::copy_if(large.begin(), large.end(), std::back_inserter(dims), [](auto dim) { return dim != 1; });
  if (kept.size() > dims.size()) return false;
  const std::size_t lacking = dims.size() - kept.size();
  std::optional<std::size_t> found;
  for (std::size_t at = 0; at <= kept.size(); ++at) {
    const auto middle = static_cast<std::ptrdiff_t>(at);
    if (std::equal(kept.begin(), kept.begin() + middle, dims.begin()) &&
        std::equal(kept.begin() + middle, kept.end(),
                   dims.begin() + middle + static_cast<std::ptrdiff_t>(lacking)) &&
        found != preferred)
      found = at;
  }
  if (!found) return false;
  std::vector<bool> has(dims.size(), true);
  std::fill_n(has.begin() + static_cast<std::ptrdiff_t>(*found), lacking, false);
  return SpreadOver(dims, has, spread);
}

std::size_t AxisOf(const sim::Op& op) {
  return static_cast<std::size_t>(std::max(0.0, sim::FindNumber(op.attributes, "axis").value_or(0)));
}

std::optional<Parts> FindParts(const std::vector<std::int64_t>& whole, std::size_t axis,
                               const std::vector<std::int64_t>& elements) {
  if (axis >= whole.size()) return std::nullopt;
  Parts parts;
  for (std::size_t i = 0; i < axis; ++i) parts.outer *= whole[i];
  for (const auto count : elements) {
    if (parts.outer == 0 || count % parts.outer != 0) return std::nullopt;
    parts.widths.push_back(count / parts.outer);
  }
  if (parts.outer * parts.total() != ElementsOf(whole)) return std::nullopt;
  return parts;
}

}  // namespace

const std::vector<std::string_view>& TypesThatDoNothing() {
  static const std::vector<std::string_view> types = {
      "ControlTrigger", "ExpandDims",     "Flatten", "Group",        "Identity", "NoOp",
      "Reshape",        "ReadVariableOp", "Squeeze", "StopGradient", "Unsqueeze"};
  return types;
}

bool DoesNothing(const OpTensors& tensors) {
  if (tensors.op().IsSource()) return true;
  const auto& types = TypesThatDoNothing();
  return std::find(types.begin(), types.end(), tensors.op().type) != types.end() && IsView(tensors);
}

bool IsPlain(const OpTensors& tensors) {
  for (std::size_t i = 0; i < tensors.inputs(); ++i) {
    if (!IsPlain(tensors.input(i))) return false;
  }
  return std::all_of(tensors.op().outputs.begin(), tensors.op().outputs.end(),
                     [](const sim::Output& output) { return IsPlain(output); });
}

std::int64_t ElementsOf(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const auto dim : shape) elements *= dim;
  return elements;
}

bool FindSpread(const sim::Op& op, const std::vector<std::int64_t>& large,
                const std::vector<std::int64_t>& small, Spread* spread) {
  if (op.type == "BiasAdd" || op.type == "BiasAddGrad") return FindBias(op, large, small, spread);
  constexpr std::string_view kElementwise[] = {"Add", "AddV2", "Sub", "Mul"};
  if (std::ranges::find(kElementwise, op.type) != std::end(kElementwise) &&
      FindBroadcast(large, small, spread))
    return true;
  if (large.size() == small.size() && FindBroadcast(large, small, spread)) return true;  // kept as axes of 1
  const bool broadcast_gradient = op.type == "MulSum" || (op.type == "ReduceSum" && op.phase == "backward");
  const bool images = large.size() == 4 && small.size() == 2;
  return FindLacking(large, small, broadcast_gradient ? 0 : images ? 1 : small.size(), spread);
}

bool FindWindows(const sim::Op& op, const std::vector<std::int64_t>& large,
                 const std::vector<std::int64_t>& small, Windows* windows) {
  const auto pair = [&op](const char* key, std::array<std::int64_t, 2>* into) {
    const sim::Attribute* found = sim::FindAttribute(op.attributes, key);
    const auto* list = found == nullptr ? nullptr : std::get_if<sim::Attribute::List>(&found->value);
    if (list == nullptr || list->size() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* number = std::get_if<std::int64_t>(&(*list)[i].value);
      if (number == nullptr || *number < 1) return false;
      (*into)[i] = *number;
    }
    return true;
  };
  if (large.size() != 4 || small.size() != 4 || large[0] != small[0] || ElementsOf(small) == 0) return false;
  if (sim::FindAttribute(op.attributes, "dilations") != nullptr) return false;
  if (!pair("kernel", &windows->kernel) || !pair("strides", &windows->strides)) return false;
  windows->batch = large[0];
  windows->height = large[1];
  windows->width = large[2];
  windows->channels = large[3];
  windows->out_height = small[1];
  windows->out_width = small[2];
  const bool same = sim::FindString(op.attributes, "padding").value_or("VALID") == "SAME";
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = (small[i + 1] - 1) * windows->strides[i] + windows->kernel[i];
    const std::int64_t lacking = std::max<std::int64_t>(reach - large[i + 1], 0);
    if (lacking > 0 && !same) return false;
    windows->before[i] = lacking / 2;
    windows->after[i] = lacking - lacking / 2;
  }
  return true;
}

std::optional<ConvolutionShape> FindConvolution(const sim::Op& op, const std::vector<std::int64_t>& images,
                                                const std::vector<std::int64_t>& filter,
                                                const std::vector<std::int64_t>& results) {
  ConvolutionShape shape;
  if (filter.size() != 4 || !FindWindows(op, images, results, &shape.windows)) return std::nullopt;
  const Windows& w = shape.windows;
  shape.depthwise = op.type.starts_with("Depthwise");
  shape.results = results[3];
  if (filter[0] != w.kernel[0] || filter[1] != w.kernel[1] || filter[2] != w.channels) return std::nullopt;
  if (results[3] != (shape.depthwise ? w.channels * filter[3] : filter[3])) return std::nullopt;
  return shape;
}

std::optional<Product> FindMatMul(const OpTensors& t) {
  if (t.inputs() != 2 || t.outputs() != 1) return std::nullopt;
  const auto matrix = [](const std::vector<std::int64_t>& shape) {
    if (shape.empty() || shape.back() == 0) return Matrix{};
    return Matrix{ElementsOf(shape) / shape.back(), shape.back()};
  };
  const auto product = FindProduct(matrix(t.in_shape(0)), matrix(t.in_shape(1)), matrix(t.out_shape(0)));
  if (!product || product->m * product->n * product->k == 0) return std::nullopt;
  return product;
}

std::optional<Product> FindBatchMatMul(const OpTensors& t) {
  if (t.inputs() != 2 || t.outputs() != 1) return std::nullopt;
  std::int64_t count = 0;
  bool fits = true;
  const auto matrix = [&](const std::vector<std::int64_t>& shape) {
    Matrix made;
    const std::size_t axes = shape.size();
    if (axes < 2 || ElementsOf(shape) == 0) {
      fits = false;
      return made;
    }
    made = {axes == 2 ? 1 : shape[axes - 2], shape.back()};
    const std::int64_t products = ElementsOf(shape) / (made.rows * made.columns);
    fits = fits && (count == 0 || count == products);
    count = products;
    return made;
  };
  const Matrix a = matrix(t.in_shape(0)), b = matrix(t.in_shape(1)), result = matrix(t.out_shape(0));
  if (!fits) return std::nullopt;
  auto product = FindProduct(a, b, result);
  if (product) product->count = count;
  return product;
}

std::int64_t Parts::total() const {
  std::int64_t sum = 0;
  for (const auto width : widths) sum += width;
  return sum;
}

std::optional<Parts> FindJoin(const OpTensors& tensors) {
  if (tensors.outputs() != 1) return std::nullopt;
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < tensors.inputs(); ++i) elements.push_back(ElementsOf(tensors.in_shape(i)));
  return FindParts(tensors.out_shape(0), AxisOf(tensors.op()), elements);
}

std::optional<Parts> FindSplit(const OpTensors& tensors) {
  if (tensors.inputs() < 1) return std::nullopt;
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < tensors.outputs(); ++i) elements.push_back(ElementsOf(tensors.out_shape(i)));
  return FindParts(tensors.in_shape(0), AxisOf(tensors.op()), elements);
}

StandInWork FindStandInWork(const sim::Op& op) {
  constexpr double kLargest = 4096;  // several products of one size where a single one would be too large
  StandInWork work;
  work.side = static_cast<std::int64_t>(std::min(kLargest, std::round(std::cbrt(op.flops / 2))));
  if (work.side >= 1) {
    const double flops_of_one = 2.0 * std::pow(static_cast<double>(work.side), 3);
    work.products = std::max<std::int64_t>(1, std::llround(op.flops / flops_of_one));
  }
  return work;
}

}  // namespace stowplan::profiler
