#include "agents/rl/segment_placer.h"

#include <ATen/ATen.h>

#include "agents/rl/nn/layers.h"
#include "agents/rl/nn/segment_attention.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr double kFirstLogits = 0.01;  // of Glorot's: the first policy is uniform

// The gate is on the rows of the weight, which is the same as on the input and much smaller.
at::Tensor Gated(const at::Tensor& weight, const at::Tensor& gate, const at::Tensor& mean) {
  return gate.defined() ? weight * (1 + mean.matmul(gate)).unsqueeze(1) : weight;
}

}  // namespace

SegmentPlacer::SegmentPlacer(const Sizes& sizes, at::ScalarType type, Rng& init) : sizes_(sizes) {
  STOWPLAN_CHECK_EQ(sizes.width % sizes.heads, 0);
  const std::int64_t width = sizes.width;
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    Layer layer;
    layer.attend = MakeDense(width, 3 * width, width, type, init);
    layer.join = MakeDense(width, width, width, type, init);
    layer.after_attention = MakeNorm(type);
    layer.widen = MakeDense(width, 4 * width, 4 * width, type, init);
    layer.narrow = MakeDense(4 * width, width, width, type, init);
    layer.after_dense = MakeNorm(type);
    layers_.push_back(std::move(layer));
  }
  output_ = MakeDense(width, sizes.choices, sizes.choices, type, init);
  {
    // What comes out of a norm is of length sqrt(width): with Glorot's weights a fresh policy would already be nearly
    // sure, and of the same device for nodes that look alike.
    const at::NoGradGuard no_grad;
    output_.weight.mul_(kFirstLogits);
  }
  if (sizes.passes > 1) {
    feedback_ = GlorotMatrix(sizes.choices, width, type, init);
    parameters_.push_back(feedback_);
  }
}

SegmentPlacer::Dense SegmentPlacer::MakeDense(std::int64_t in, std::int64_t out, std::int64_t fan_out,
                                              at::ScalarType type, Rng& init) {
  Dense dense;
  dense.weight = GlorotMatrix(in, out, type, init, in, fan_out);
  dense.bias = at::zeros({out}, type).set_requires_grad(true);
  Append(parameters_, {dense.weight, dense.bias});
  if (sizes_.superposition) {
    dense.gate = at::zeros({sizes_.width, in}, type).set_requires_grad(true);
    parameters_.push_back(dense.gate);
  }
  return dense;
}

SegmentPlacer::Norm SegmentPlacer::MakeNorm(at::ScalarType type) {
  Norm norm{at::ones({sizes_.width}, type).set_requires_grad(true),
            at::zeros({sizes_.width}, type).set_requires_grad(true)};
  Append(parameters_, {norm.scale, norm.shift});
  return norm;
}

at::Tensor SegmentPlacer::Apply(const Dense& dense, const at::Tensor& x, const at::Tensor& mean) const {
  return at::addmm(dense.bias, x, Gated(dense.weight, dense.gate, mean));
}

at::Tensor SegmentPlacer::Attention(const Dense& attend, const at::Tensor& x, const at::Tensor& mean) const {
  const std::int64_t width = sizes_.width;
  const at::Tensor weight = Gated(attend.weight, attend.gate, mean);
  const at::Tensor all = at::addmm(attend.bias, x, weight);
  const at::Tensor before = x.detach().narrow(0, 0, MemoryRows(x.size(0), sizes_.segment));
  const at::Tensor memory =
      at::addmm(attend.bias.narrow(0, width, 2 * width), before, weight.narrow(1, width, 2 * width));
  return SegmentAttention(all.narrow(1, 0, width), all.narrow(1, width, 2 * width), memory, sizes_.heads,
                          sizes_.segment);
}

at::Tensor SegmentPlacer::Pass(const at::Tensor& nodes, const at::Tensor& mean) const {
  const auto normed = [this](const Norm& norm, const at::Tensor& x) {
    return at::layer_norm(x, {sizes_.width}, norm.scale, norm.shift);
  };
  at::Tensor x = nodes;
  for (const Layer& layer : layers_) {
    x = normed(layer.after_attention, x + Apply(layer.join, Attention(layer.attend, x, mean), mean));
    const at::Tensor wide = Apply(layer.widen, x, mean).relu();
    x = normed(layer.after_dense, x + Apply(layer.narrow, wide, mean));
  }
  return Apply(output_, sizes_.centred ? x - x.mean(0, true) : x, mean);
}

at::Tensor SegmentPlacer::Logits(const at::Tensor& nodes) const {
  const at::Tensor mean = nodes.mean(0);
  at::Tensor logits = Pass(nodes, mean);
  for (int pass = 1; pass < sizes_.passes; ++pass) {
    const double equal = 1 / static_cast<double>(sizes_.choices);
    logits = Pass(nodes + (logits.softmax(-1) - equal).matmul(feedback_), mean);
  }
  return logits;
}

}  // namespace stowplan::agents::rl
