// FLOPs of products (sim/analysis/product_flops.h) against loops that count every multiply-add.
#include "sim/analysis/product_flops.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/testing.h"

namespace stowplan::sim {
namespace {

// RapidCheck draws from this seed (and prints it) unless the environment says otherwise.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261128", 0);

using Shape = std::vector<std::int64_t>;

Output Of(const Shape& shape) {
  Output output;
  output.dtype = "f32";
  output.shape = shape;
  return output;
}

std::optional<double> Count(const std::string& type, const std::vector<Shape>& inputs,
                            const std::vector<Shape>& outputs, const Attributes& attributes = {}) {
  Op op;
  op.type = type;
  op.attributes = attributes;
  for (const Shape& shape : outputs) op.outputs.push_back(Of(shape));
  std::vector<Output> read;
  for (const Shape& shape : inputs) read.push_back(Of(shape));
  return ProductFlops(op, read);
}

// A convolution of one axis or more, all of the same length, kernel, stride, dilation and padding.
struct Window {
  std::int64_t batch, groups, in_each, out_each, size, kernel, stride, dilation, padding;
  int axes;

  std::int64_t made() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  Shape Image(std::int64_t channels, std::int64_t length, bool channels_first) const {
    Shape shape(static_cast<std::size_t>(axes), length);
    shape.insert(channels_first ? shape.begin() : shape.end(), channels);
    shape.insert(shape.begin(), batch);
    return shape;
  }
  Shape Read(bool channels_first = true) const { return Image(groups * in_each, size, channels_first); }
  Shape Made(bool channels_first = true) const { return Image(groups * out_each, made(), channels_first); }
  Shape Filter() const {
    Shape shape(static_cast<std::size_t>(axes), kernel);
    shape.insert(shape.begin(), {groups * out_each, in_each});
    return shape;
  }
  Attributes Told() const { return {{"data_format", {std::string("NCHW")}}, {"groups", {groups}}}; }

  // One by one: which weight meets which element.
  double Flops() const {
    double meetings = 0;
    std::int64_t positions = 1, taps = 1;
    for (int axis = 0; axis < axes; ++axis) {
      positions *= made();
      taps *= kernel;
    }
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t out = 0; out < groups * out_each; ++out)
        for (std::int64_t in = 0; in < groups * in_each; ++in) {
          if (out / out_each != in / in_each) continue;
          for (std::int64_t position = 0; position < positions; ++position)
            for (std::int64_t tap = 0; tap < taps; ++tap) ++meetings;
        }
    return 2 * meetings;
  }
};

Window AnyWindow() {
  Window window{};
  window.batch = *rc::gen::inRange<std::int64_t>(1, 4);
  window.groups = *rc::gen::inRange<std::int64_t>(1, 4);
  window.in_each = *rc::gen::inRange<std::int64_t>(1, 4);
  window.out_each = *rc::gen::inRange<std::int64_t>(1, 4);
  window.kernel = *rc::gen::inRange<std::int64_t>(1, 4);
  window.dilation = *rc::gen::inRange<std::int64_t>(1, 3);
  window.padding = *rc::gen::inRange<std::int64_t>(0, window.kernel);
  window.size = window.dilation * (window.kernel - 1) + *rc::gen::inRange<std::int64_t>(1, 5);
  window.stride = *rc::gen::inRange<std::int64_t>(1, 4);
  window.axes = *rc::gen::inRange(1, 4);
  return window;
}

std::string Named(const char* before, int axes, const char* behind = "") {
  return before + std::to_string(axes) + "D" + behind;
}

RC_GTEST_PROP(ProductFlops, OfConvolutionsAreEveryMultiplyAdd, ()) {
  const Window w = AnyWindow();
  const Attributes told = w.Told();
  const auto forward = Count(Named("Conv", w.axes), {w.Read(), w.Filter()}, {w.Made()}, told);
  RC_ASSERT(forward.has_value());
  RC_ASSERT(*forward == w.Flops());
  RC_ASSERT(Count(Named("Conv", w.axes, "BackpropInput"), {w.Made(), w.Filter()}, {w.Read()}, told) ==
            forward);
  // What a transposed one makes is what the other reads.
  RC_ASSERT(Count("ConvTranspose", {w.Made(), w.Filter()}, {w.Read()}, told) == forward);
  // Of the filter: never something else, and nothing only where the sizes tell two things.
  const auto filter =
      Count(Named("Conv", w.axes, "BackpropFilter"), {w.Read(), w.Made()}, {w.Filter()}, told);
  RC_ASSERT(filter == forward || (!filter && w.in_each == w.out_each && w.made() > w.size));
}

// Each product where its output is made, and no more; whose forward op is transposed the attribute says, or the shapes.
RC_GTEST_PROP(ProductFlops, OfConvBackwardAreThoseOfItsOutputs, ()) {
  const Window w = AnyWindow();
  for (const bool transposed : {false, true}) {
    const Shape dy = transposed ? w.Read() : w.Made(), x = transposed ? w.Made() : w.Read();
    for (int mask = 1; mask < 8; ++mask) {
      Attributes told = w.Told();
      Attribute::List made;
      std::vector<Shape> outputs;
      for (int i = 0; i < 3; ++i) {
        const bool is_made = ((mask >> i) & 1) != 0;
        made.push_back({is_made});
        if (is_made) outputs.push_back(i == 0 ? x : i == 1 ? w.Filter() : Shape{dy[1]});
      }
      told.emplace_back("output_mask", Attribute{made});
      const double products = (mask & 1) + ((mask >> 1) & 1);
      if (transposed) told.emplace_back("transposed", Attribute{true});
      const auto flops = Count("ConvBackward", {dy, x, w.Filter()}, outputs, told);
      const bool is_clear = transposed || w.in_each != w.out_each || w.made() <= w.size;
      RC_ASSERT(flops == products * w.Flops() || (!flops && !is_clear));
    }
  }
}

// With the channels last, as TensorFlow and our workloads write them, and no word of that.
TEST(ProductFlops, OfConvolutionsWithChannelsLast) {
  const Window w{2, 1, 3, 8, 9, 3, 2, 1, 0, 2};
  const Shape filter = {3, 3, 3, 8};
  EXPECT_EQ(Count("Conv2D", {w.Read(false), filter}, {w.Made(false)}), w.Flops());
  EXPECT_EQ(Count("Conv2DBackpropInput", {w.Made(false), filter}, {w.Read(false)}), w.Flops());
  EXPECT_EQ(Count("Conv2DBackpropFilter", {w.Read(false), w.Made(false)}, {filter}), w.Flops());
  const Window each{2, 6, 1, 2, 9, 3, 2, 1, 0, 2};
  const Shape depthwise = {3, 3, 6, 2};
  EXPECT_EQ(Count("DepthwiseConv2dNative", {each.Read(false), depthwise}, {each.Made(false)}), each.Flops());
  EXPECT_EQ(Count("DepthwiseConv2dNativeBackpropInput", {each.Made(false), depthwise}, {each.Read(false)}),
            each.Flops());
  EXPECT_EQ(Count("DepthwiseConv2dNativeBackpropFilter", {each.Read(false), each.Made(false)}, {depthwise}),
            each.Flops());
  EXPECT_EQ(Count("DepthwiseConv2dNative", {each.Read(), each.Filter()}, {each.Made()}, each.Told()),
            each.Flops());
}

Shape With(Shape leading, std::int64_t rows, std::int64_t columns, bool turned) {
  leading.push_back(turned ? columns : rows);
  leading.push_back(turned ? rows : columns);
  return leading;
}

// Whatever is transposed, whichever of the three is the product, one or many.
RC_GTEST_PROP(ProductFlops, OfMatricesAreEveryMultiplyAdd, ()) {
  const Shape leading = *rc::gen::element(Shape{}, Shape{3}, Shape{2, 5}, Shape{4, 1, 2});
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 20); };
  const std::int64_t m = size(), k = size(), n = size();
  const bool left = *rc::gen::arbitrary<bool>(), right = *rc::gen::arbitrary<bool>();
  const Shape a = With(leading, m, k, left), b = With(leading, k, n, right), c = With(leading, m, n, false);
  double meetings = 0, count = 1;
  for (const std::int64_t dimension : leading) count *= static_cast<double>(dimension);
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t column = 0; column < n; ++column) meetings += static_cast<double>(k);
  const char* type = leading.empty() ? "Gemm" : "BatchMatMul";
  RC_ASSERT(Count(type, {a, b}, {c}) == 2 * count * meetings);
  RC_ASSERT(Count(type, {c, b}, {a}) == 2 * count * meetings);
  RC_ASSERT(Count(type, {a, c}, {b}) == 2 * count * meetings);
  // One matrix for all.
  if (leading.empty()) return;
  RC_ASSERT(Count("MatMul", {With(leading, m, k, false), {k, n}}, {c}) == 2 * count * meetings);
  RC_ASSERT(Count("MatMul", {c, {k, n}}, {With(leading, m, k, false)}) == 2 * count * meetings);
}

TEST(ProductFlops, OfEquationsAreEveryIndexOnce) {
  const Attributes told = {{"equation", {std::string("bgrsd,bgtd->bgrst")}}};
  const Shape query = {2, 3, 4, 5, 6}, key = {2, 3, 7, 6}, scores = {2, 3, 4, 5, 7};
  const double flops = 2 * 2 * 3 * 4 * 5 * 6 * 7;
  EXPECT_EQ(Count("BatchMatMul", {query, key}, {scores}, told), flops);
  EXPECT_EQ(Count("BatchMatMul", {scores, key}, {query}, told), flops) << "the gradient bears it, too";
  EXPECT_EQ(Count("BatchMatMul", {scores, query}, {key}), flops) << "as the sizes tell without it";
  EXPECT_EQ(Count("Einsum", {query, key}, {scores}), std::nullopt);
}

// Rows of experts: each row meets one matrix, however many there are.
TEST(ProductFlops, OfGroupsAreThoseOfTheRows) {
  EXPECT_EQ(Count("GroupedMatMul", {{64, 8}, {4, 8, 16}}, {{64, 16}}), 2 * 64 * 8 * 16);
  EXPECT_EQ(Count("GroupedMatMul", {{8, 64}, {64, 16}}, {{4, 8, 16}}), 2 * 64 * 8 * 16);
  EXPECT_EQ(Count("GroupedMatMul", {{4, 16, 8}, {8, 64}}, {{16, 64}}), 2 * 64 * 8 * 16);
}

TEST(ProductFlops, OfAttentionAreThoseOfItsProducts) {
  const Shape query = {2, 8, 10, 16}, key = {2, 4, 12, 16}, value = {2, 4, 12, 24}, made = {2, 8, 10, 24};
  const double pairs = 2 * 8 * 10 * 12;
  EXPECT_EQ(Count("Attention", {query, key, value}, {made}), 2 * pairs * 16 + 2 * pairs * 24);
  const Attributes torch = {{"torch_op", {std::string("aten._scaled_dot_product_flash_attention_backward")}}};
  EXPECT_EQ(Count("AttentionGrad", {made, query, key, value, made}, {query, key, value}, torch),
            2 * pairs * (3 * 16 + 2 * 24));
  EXPECT_EQ(Count("AttentionGrad", {made, made, query, key, value}, {query, key, value}),
            2 * pairs * (3 * 16 + 2 * 24));
}

// Each gate of each step reads what comes in and what was hidden: two layers of 5 and four gates over 4 steps of 2 sequences of 3.
TEST(ProductFlops, OfRecurrentLayersOfTorchAreThoseOfTheirWeights) {
  const Attributes torch = {{"torch_op", {std::string("aten.layer")}}};
  const Shape sequence = {4, 2, 3}, bias = {20}, states = {2, 2, 5}, state = {2, 5}, in = {20, 3},
              hidden = {20, 5};
  const double first = 2.0 * 4 * 2 * (20 * 3 + 20 * 5), second = 2.0 * 4 * 2 * (20 * 5 + 20 * 5);
  const std::vector<Shape> read = {sequence, in,   hidden, bias,   bias,  hidden,
                                   hidden,   bias, bias,   states, states};
  EXPECT_EQ(Count("CudnnRNN", read, {{4, 2, 5}}, torch), first + second);
  EXPECT_EQ(Count("CudnnRNNBackprop", read, {sequence}, torch), 2 * (first + second));
  EXPECT_EQ(Count("CudnnRNN", {{8, 3}, in, hidden, bias, bias, states}, {{8, 5}}, torch), first) << "packed";
  const std::vector<Shape> layer = {sequence, in, hidden, bias, bias, state, state};
  EXPECT_EQ(Count("RNN", layer, {{4, 2, 5}}, torch), first);
  EXPECT_EQ(Count("RNNGrad", layer, {sequence}, torch), 2 * first);
  EXPECT_EQ(Count("RNN", layer, {{4, 2, 5}}), std::nullopt) << "of another framework";
}

TEST(ProductFlops, OfNothingAreNone) {
  EXPECT_EQ(Count("MatMul", {{4, 0}, {0, 8}}, {{4, 8}}), 0.0);
  EXPECT_EQ(Count("BatchMatMul", {{0, 4, 2}, {0, 2, 8}}, {{0, 4, 8}}), 0.0);
  const Attributes told = {{"data_format", {std::string("NCHW")}}};
  EXPECT_EQ(Count("Conv2D", {{0, 3, 8, 8}, {4, 3, 3, 3}}, {{0, 4, 6, 6}}, told), 0.0);
  EXPECT_EQ(Count("Conv2D", {{2, 3, 8, 8}, {0, 3, 3, 3}}, {{2, 0, 6, 6}}, told), 0.0);
  EXPECT_EQ(Count("Conv2D", {{2, 0, 8, 8}, {4, 0, 3, 3}}, {{2, 4, 6, 6}}, told), 0.0);
  EXPECT_EQ(Count("Relu", {{4, 8}}, {{4, 8}}), std::nullopt);
  EXPECT_EQ(Count("MatMul", {{4, 7}, {3, 8}}, {{4, 8}}), std::nullopt) << "do not go together";
  Op op;
  op.type = "MatMul";
  op.outputs.resize(1);
  EXPECT_EQ(ProductFlops(op, std::vector<Output>(2)), std::nullopt) << "no shapes";
}

}  // namespace
}  // namespace stowplan::sim
