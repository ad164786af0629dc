// Attention over a long sequence in segments (after Transformer-XL, Dai et al., ACL 2019; as recalled of GDP,
// PAPERS 4): an item attends to its own segment and to the previous one, whose numbers are those of the layer
// below with stopped gradient. No positions: a graph network has told the items apart. Choices are
// independent given the items.
//
// Because the memory is the layer below, all segments run as one batch. A block is multi-head attention and
// two dense layers (4 x width, ReLU), each added to its input and normalised after it.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/rl/layers.h"

namespace berth::agents::rl {

class SegmentPlacer {
 public:
  struct Sizes {
    std::int64_t width = 64;  // of the items; a multiple of `heads`
    std::int64_t choices = 2;
    int layers = 2;
    int heads = 4;
    std::int64_t segment = 128;
  };
  SegmentPlacer(const Sizes& sizes, at::ScalarType type, Rng& init);

  // [items, width] -> logits [items, choices].
  at::Tensor Forward(const at::Tensor& items) const;

  const Tensors& parameters() const { return parameters_; }

 private:
  struct Block {
    Mlp query, key_value, mix, feed;
    Tensors norms;  // gain and bias after attention, gain and bias after the dense layers
  };
  Block MakeBlock(at::ScalarType type, Rng& init);
  at::Tensor Attend(const Block& block, const at::Tensor& x, const at::Tensor& mask) const;

  Sizes sizes_;
  std::vector<Block> blocks_;
  Mlp output_;
  Tensors parameters_;
};

}  // namespace berth::agents::rl
