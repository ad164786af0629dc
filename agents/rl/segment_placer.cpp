#include "agents/rl/segment_placer.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "sim/error.h"

namespace berth::agents::rl {
namespace {

// [segments, 1, 1, 2 * length]: 0 where a segment may look, -1e9 at the memory of the first one and at
// padding.
at::Tensor MaskOf(std::int64_t items, std::int64_t segments, std::int64_t length, at::ScalarType type) {
  const at::Tensor absent = (at::arange(segments * length) >= items).view({segments, length});
  const at::Tensor before = at::cat({at::ones({1, length}, at::kBool), absent.narrow(0, 0, segments - 1)});
  return (at::cat({before, absent}, 1).to(type) * -1e9).view({segments, 1, 1, 2 * length});
}

}  // namespace

SegmentPlacer::SegmentPlacer(const Sizes& sizes, at::ScalarType type, Rng& init)
    : sizes_(sizes), output_({sizes.width, sizes.choices}, 1, type, init) {
  BERTH_CHECK_EQ(sizes.width % sizes.heads, 0);
  for (int i = 0; i < sizes.layers; ++i) blocks_.push_back(MakeBlock(type, init));
  for (const Block& block : blocks_) {
    for (const Mlp* part : {&block.query, &block.key_value, &block.mix, &block.feed})
      Append(parameters_, part->parameters());
    Append(parameters_, block.norms);
  }
  Append(parameters_, output_.parameters());
}

SegmentPlacer::Block SegmentPlacer::MakeBlock(at::ScalarType type, Rng& init) {
  const std::int64_t w = sizes_.width;
  Block block{Mlp({w, w}, 1, type, init),
              Mlp({w, 2 * w}, 1, type, init),
              Mlp({w, w}, 1, type, init),
              Mlp({w, 4 * w, w}, 1, type, init),
              {}};
  for (int norm = 0; norm < 2; ++norm) {
    block.norms.push_back(at::ones({w}, type).set_requires_grad(true));
    block.norms.push_back(at::zeros({w}, type).set_requires_grad(true));
  }
  return block;
}

// `x` [segments, length, width].
at::Tensor SegmentPlacer::Attend(const Block& block, const at::Tensor& x, const at::Tensor& mask) const {
  const std::int64_t segments = x.size(0), length = x.size(1), width = x.size(2);
  const at::Tensor before =
      at::cat({at::zeros({1, length, width}, x.options()), x.detach().narrow(0, 0, segments - 1)});
  const auto dense = [&](const Mlp& layer, const at::Tensor& in) {
    return layer.Forward(in.reshape({-1, width}))
        .view({segments, in.size(1), -1, sizes_.heads, width / sizes_.heads});
  };
  const at::Tensor query =
      dense(block.query, x).select(2, 0).transpose(1, 2);                   // [segments, heads, length, part]
  const at::Tensor both = dense(block.key_value, at::cat({before, x}, 1));  // [.., 2 length, 2, heads, part]
  const at::Tensor key = both.select(2, 0).transpose(1, 2), value = both.select(2, 1).transpose(1, 2);
  const double scale = 1 / std::sqrt(static_cast<double>(width / sizes_.heads));
  const at::Tensor weights = (query.matmul(key.transpose(2, 3)) * scale + mask).softmax(-1);
  const at::Tensor mixed = weights.matmul(value).transpose(1, 2).reshape({-1, width});
  return block.mix.Forward(mixed).view({segments, length, width});
}

at::Tensor SegmentPlacer::Forward(const at::Tensor& items) const {
  const std::int64_t count = items.size(0), width = sizes_.width;
  const std::int64_t length = std::min(sizes_.segment, count);
  const std::int64_t segments = (count + length - 1) / length;
  const at::Tensor mask = MaskOf(count, segments, length, items.scalar_type());
  const at::Tensor padding =
      at::zeros({segments * length - count, width}, items.options().requires_grad(false));
  at::Tensor x = at::cat({items, padding}).view({segments, length, width});
  for (const Block& block : blocks_) {
    x = at::layer_norm(x + Attend(block, x, mask), {width}, block.norms[0], block.norms[1]);
    const at::Tensor fed = block.feed.Forward(x.reshape({-1, width})).view(x.sizes());
    x = at::layer_norm(x + fed, {width}, block.norms[2], block.norms[3]);
  }
  return output_.Forward(x.reshape({-1, width}).narrow(0, 0, count));
}

}  // namespace berth::agents::rl
