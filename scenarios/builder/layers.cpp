#include "scenarios/builder/layers.h"

#include <utility>

#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

sim::Attribute Number(std::int64_t value) {
  return {value};
}
sim::Attribute Text(std::string value) {
  return {std::move(value)};
}

Tensor SameShape(GraphBuilder& b, const std::string& type, const std::string& name, Tensor x,
                 int in_place = -1) {
  return b.Append(
      {.type = type, .name = name, .inputs = {x}, .outputs = {{b.shape(x)}}, .in_place = in_place});
}

Tensor Pairwise(GraphBuilder& b, const std::string& type, const std::string& name, Tensor x, Tensor y) {
  const Tensor larger = Elements(b.shape(x)) >= Elements(b.shape(y)) ? x : y;
  return b.Append({.type = type, .name = name, .inputs = {x, y}, .outputs = {{b.shape(larger)}}});
}

// Sliding windows along one axis. SAME pads to ceil(size / stride) of them.
std::int64_t Windows(std::int64_t size, std::int64_t kernel, const Window& window) {
  if (window.same) return (size + window.stride - 1) / window.stride;
  const std::int64_t reach = (kernel - 1) * window.dilation + 1;
  STOWPLAN_CHECK_LE(reach, size);
  return (size - reach) / window.stride + 1;
}

Shape Slide(GraphBuilder& b, Tensor x, const Window& window, std::int64_t channels) {
  const Shape& image = b.shape(x);
  STOWPLAN_CHECK_EQ(image.size(), 4u);
  return {image[0], Windows(image[1], window.height, window), Windows(image[2], window.width, window),
          channels};
}

sim::Attributes Describe(const Window& window) {
  const auto both = [](std::int64_t value) {
    return sim::Attribute{sim::Attribute::List{Number(value), Number(value)}};
  };
  sim::Attributes attributes = {
      {"kernel", {sim::Attribute::List{Number(window.height), Number(window.width)}}},
      {"strides", both(window.stride)},
      {"padding", Text(window.same ? "SAME" : "VALID")}};
  if (window.dilation != 1) attributes.emplace_back("dilations", both(window.dilation));
  return attributes;
}

Tensor Pool(GraphBuilder& b, const std::string& type, const std::string& name, Tensor x,
            const Window& window) {
  return b.Append({.type = type,
                   .name = name,
                   .inputs = {x},
                   .outputs = {{Slide(b, x, window, b.shape(x)[3])}},
                   .attributes = Describe(window)});
}

}  // namespace

Tensor MatMul(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights, bool recurrent) {
  STOWPLAN_CHECK_EQ(b.shape(x).back(), b.shape(weights)[0]);
  Shape result = b.shape(x);
  result.back() = b.shape(weights)[1];
  const double multiply_adds =
      static_cast<double>(Elements(b.shape(x))) * static_cast<double>(b.shape(weights)[1]);
  OpSpec spec{.type = "MatMul",
              .name = name,
              .inputs = {x, weights},
              .outputs = {{result}},
              .flops = 2 * multiply_adds};
  if (recurrent) AddAttribute(spec.attributes, "recurrent", true);
  return b.Append(spec);
}

Tensor MatMulTransposed(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights) {
  STOWPLAN_CHECK_EQ(b.shape(x).back(), b.shape(weights)[1]);
  Shape result = b.shape(x);
  result.back() = b.shape(weights)[0];
  const double multiply_adds =
      static_cast<double>(Elements(b.shape(x))) * static_cast<double>(b.shape(weights)[0]);
  OpSpec spec{.type = "MatMul",
              .name = name,
              .inputs = {x, weights},
              .outputs = {{result}},
              .flops = 2 * multiply_adds};
  AddAttribute(spec.attributes, "transpose_b", true);
  return b.Append(spec);
}

Tensor BatchMatMul(GraphBuilder& b, const std::string& name, Tensor x, Tensor y, const std::string& equation,
                   const Shape& result, std::int64_t contracted) {
  const double multiply_adds = static_cast<double>(Elements(result)) * static_cast<double>(contracted);
  return b.Append({.type = "BatchMatMul",
                   .name = name,
                   .inputs = {x, y},
                   .outputs = {{result}},
                   .flops = 2 * multiply_adds,
                   .attributes = {{"equation", Text(equation)}}});
}

Tensor BiasAdd(GraphBuilder& b, const std::string& name, Tensor x, Tensor bias) {
  STOWPLAN_CHECK_EQ(b.shape(x).back(), b.shape(bias)[0]);
  return b.Append(
      {.type = "BiasAdd", .name = name, .inputs = {x, bias}, .outputs = {{b.shape(x)}}, .in_place = 0});
}

Tensor Relu(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Relu", name, x, 0);
}
Tensor Sigmoid(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Sigmoid", name, x);
}
Tensor Tanh(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Tanh", name, x);
}
Tensor Softmax(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Softmax", name, x);
}

Tensor Erf(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Erf", name, x);
}
Tensor Swish(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Swish", name, x);
}
Tensor Scale(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Scale", name, x, 0);
}
Tensor Shift(GraphBuilder& b, const std::string& name, Tensor x) {
  return SameShape(b, "Shift", name, x, 0);
}

Tensor Dropout(GraphBuilder& b, const std::string& name, Tensor x) {
  if (!b.training()) return x;
  return b.Append({.type = "Dropout", .name = name, .inputs = {x}, .outputs = {{b.shape(x)}, {b.shape(x)}}});
}

Tensor Add(GraphBuilder& b, const std::string& name, Tensor x, Tensor y) {
  return Pairwise(b, "Add", name, x, y);
}
Tensor Mul(GraphBuilder& b, const std::string& name, Tensor x, Tensor y) {
  return Pairwise(b, "Mul", name, x, y);
}

Tensor Sub(GraphBuilder& b, const std::string& name, Tensor x, Tensor y) {
  STOWPLAN_CHECK(b.shape(x) == b.shape(y));
  return Pairwise(b, "Sub", name, x, y);
}
Tensor AddMask(GraphBuilder& b, const std::string& name, Tensor x, Tensor mask) {
  return b.Append(
      {.type = "Add", .name = name, .inputs = {x, mask}, .outputs = {{b.shape(x)}}, .in_place = 0});
}

Tensor Concat(GraphBuilder& b, const std::string& name, const std::vector<Tensor>& parts, int axis) {
  Shape result = b.shape(parts.at(0));
  const auto along = static_cast<std::size_t>(axis);
  result[along] = 0;
  for (const Tensor part : parts) result[along] += b.shape(part)[along];
  return b.Append({.type = "ConcatV2",
                   .name = name,
                   .inputs = parts,
                   .outputs = {{result}},
                   .attributes = {{"axis", Number(axis)}}});
}

std::vector<Tensor> Split(GraphBuilder& b, const std::string& name, Tensor x, int axis, std::int64_t parts) {
  Shape part = b.shape(x);
  const auto along = static_cast<std::size_t>(axis);
  STOWPLAN_CHECK_EQ(part[along] % parts, 0);
  part[along] /= parts;
  OpSpec spec{
      .type = "Split", .name = name, .inputs = {x}, .outputs = {}, .attributes = {{"axis", Number(axis)}}};
  for (std::int64_t i = 0; i < parts; ++i) spec.outputs.push_back({part, b.dtype(x)});
  const Tensor made = b.Append(spec);
  std::vector<Tensor> result;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(parts); ++i) result.push_back({made.op, i});
  return result;
}

Tensor Pack(GraphBuilder& b, const std::string& name, const std::vector<Tensor>& parts, int axis) {
  Shape result = b.shape(parts.at(0));
  result.insert(result.begin() + axis, static_cast<std::int64_t>(parts.size()));
  return b.Append({.type = "Pack",
                   .name = name,
                   .inputs = parts,
                   .outputs = {{result}},
                   .attributes = {{"axis", Number(axis)}}});
}

Tensor Pad(GraphBuilder& b, const std::string& name, Tensor x, const Shape& shape) {
  return b.Append({.type = "Pad", .name = name, .inputs = {x}, .outputs = {{shape}}});
}

Tensor Slice(GraphBuilder& b, const std::string& name, Tensor x, const Shape& shape) {
  return b.Append({.type = "Slice", .name = name, .inputs = {x}, .outputs = {{shape}}});
}

Tensor Reshape(GraphBuilder& b, const std::string& name, Tensor x, const Shape& shape) {
  return b.Append({.type = "Reshape", .name = name, .inputs = {x}, .outputs = {{shape}}, .view_of = 0});
}

Tensor Transpose(GraphBuilder& b, const std::string& name, Tensor x, const std::vector<int>& permutation) {
  STOWPLAN_CHECK_EQ(permutation.size(), b.shape(x).size());
  Shape result;
  sim::Attribute::List axes;
  for (const int axis : permutation) {
    result.push_back(b.shape(x).at(static_cast<std::size_t>(axis)));
    axes.push_back(Number(axis));
  }
  return b.Append({.type = "Transpose",
                   .name = name,
                   .inputs = {x},
                   .outputs = {{result}},
                   .attributes = {{"permutation", {axes}}}});
}

Tensor Gather(GraphBuilder& b, const std::string& name, Tensor table, Tensor ids) {
  Shape result = b.shape(ids);
  result.push_back(b.shape(table)[1]);
  return b.Append({.type = "GatherV2", .name = name, .inputs = {table, ids}, .outputs = {{result}}});
}

Tensor Sum(GraphBuilder& b, const std::string& name, Tensor x, int axis) {
  Shape result = b.shape(x);
  result.erase(result.begin() + axis);
  return b.Append({.type = "ReduceSum",
                   .name = name,
                   .inputs = {x},
                   .outputs = {{result}},
                   .attributes = {{"axis", Number(axis)}}});
}

Tensor SpatialMean(GraphBuilder& b, const std::string& name, Tensor x) {
  const Shape& image = b.shape(x);
  return b.Append({.type = "Mean", .name = name, .inputs = {x}, .outputs = {{{image[0], image[3]}}}});
}

Tensor Predict(GraphBuilder& b, const std::string& name, Tensor logits, Tensor labels) {
  if (!b.training()) return Softmax(b, name, logits);
  const Shape& shape = b.shape(logits);
  const Tensor loss = b.Append({.type = "SoftmaxCrossEntropyWithLogits",
                                .name = name,
                                .inputs = {logits, labels},
                                .outputs = {{{shape[0]}}, {shape}}});
  b.Minimise(loss);
  return loss;
}

Tensor Conv2D(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights, const Window& window) {
  const Shape& kernel = b.shape(weights);
  STOWPLAN_CHECK_EQ(kernel[2], b.shape(x)[3]);
  const Shape result = Slide(b, x, window, kernel[3]);
  const double multiply_adds =
      static_cast<double>(Elements(result)) * static_cast<double>(kernel[0] * kernel[1] * kernel[2]);
  return b.Append({.type = "Conv2D",
                   .name = name,
                   .inputs = {x, weights},
                   .outputs = {{result}},
                   .flops = 2 * multiply_adds,
                   .attributes = Describe(window)});
}

Tensor DepthwiseConv2D(GraphBuilder& b, const std::string& name, Tensor x, Tensor weights,
                       const Window& window) {
  const Shape& kernel = b.shape(weights);
  STOWPLAN_CHECK_EQ(kernel[2], b.shape(x)[3]);
  const Shape result = Slide(b, x, window, kernel[2]);
  const double multiply_adds =
      static_cast<double>(Elements(result)) * static_cast<double>(kernel[0] * kernel[1]);
  return b.Append({.type = "DepthwiseConv2dNative",
                   .name = name,
                   .inputs = {x, weights},
                   .outputs = {{result}},
                   .flops = 2 * multiply_adds,
                   .attributes = Describe(window)});
}

Tensor MaxPool(GraphBuilder& b, const std::string& name, Tensor x, const Window& window) {
  return Pool(b, "MaxPool", name, x, window);
}

Tensor AvgPool(GraphBuilder& b, const std::string& name, Tensor x, const Window& window) {
  return Pool(b, "AvgPool", name, x, window);
}

Tensor BatchNorm(GraphBuilder& b, const std::string& name, Tensor x, bool scale) {
  const Shape per_channel = {b.shape(x).back()};
  std::vector<Tensor> inputs = {x};
  if (scale) inputs.push_back(b.Variable(name + "/gamma", per_channel));
  inputs.push_back(b.Variable(name + "/beta", per_channel));
  return b.Append({.type = "FusedBatchNorm", .name = name, .inputs = inputs, .outputs = {{b.shape(x)}}});
}

Tensor LayerNorm(GraphBuilder& b, const std::string& name, Tensor x) {
  const Shape last = {b.shape(x).back()};
  const Tensor gamma = b.Variable(name + "/gamma", last);
  const Tensor beta = b.Variable(name + "/beta", last);
  return b.Append({.type = "LayerNorm", .name = name, .inputs = {x, gamma, beta}, .outputs = {{b.shape(x)}}});
}

Tensor RmsNorm(GraphBuilder& b, const std::string& name, Tensor x) {
  const Tensor gamma = b.Variable(name + "/gamma", {b.shape(x).back()});
  return b.Append({.type = "RMSNorm", .name = name, .inputs = {x, gamma}, .outputs = {{b.shape(x)}}});
}

Tensor Dense(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t units) {
  const GraphBuilder::Scope scope(b, name);
  const Tensor weights = b.Variable("weights", {b.shape(x).back(), units});
  const Tensor bias = b.Variable("bias", {units});
  return BiasAdd(b, "bias_add", MatMul(b, "matmul", x, weights), bias);
}

Tensor DenseWithoutBias(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t units) {
  const GraphBuilder::Scope scope(b, name);
  const Tensor weights = b.Variable("weights", {b.shape(x).back(), units});
  return MatMul(b, "matmul", x, weights);
}

}  // namespace stowplan::scenarios
