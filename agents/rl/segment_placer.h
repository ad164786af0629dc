// A sequence of nodes in, a choice for each of them out, in one shot: attention in segments with the segment
// before as memory (Transformer-XL without positions), and gates by which one set of weights serves several
// graphs.
//
// As GDP and its successors describe it; recalled, not read (docs/protocol_rules.md#sgdp). A layer is
//   x <- norm(x + attention(x)), x <- norm(x + ReLU(x A + a) B + b)
// and its memory is what the segment before gave the layer, with stopped gradient. Since nothing is drawn in
// between, all segments of a layer are computed before the next layer. Assumptions: keys and values of the
// memory go through the weights of today, which learn from it; the order of norm and sum.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/random_numbers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

class SegmentPlacer {
 public:
  struct Sizes {
    std::int64_t width = 64;  // a multiple of heads
    std::int64_t layers = 2;
    std::int64_t heads = 4;
    std::int64_t segment = 128;
    std::int64_t choices = 2;  // devices
    bool centred = false;      // what the nodes have in common speaks through the output's bias alone
    int passes = 1;            // beyond the first, a pass also sees the probabilities of the one before (GO)
    bool superposition =
        true;  // the input of each dense layer is multiplied by 1 + mean over nodes times a weight
               // that starts at 0
  };
  SegmentPlacer(const Sizes& sizes, at::ScalarType type, Rng& init);

  // `nodes` [nodes, width] in the order in which they stand in segments -> [nodes, choices].
  at::Tensor Logits(const at::Tensor& nodes) const;

  const Tensors& parameters() const { return parameters_; }

 private:
  struct Dense {
    at::Tensor weight, bias;  // [in, out], [out]
    at::Tensor gate;          // [width, in]; undefined without superposition
  };
  struct Norm {
    at::Tensor scale, shift;
  };
  struct Layer {
    Dense attend;  // to queries, keys and values
    Dense join;
    Norm after_attention;
    Dense widen, narrow;
    Norm after_dense;
  };

  Dense MakeDense(std::int64_t in, std::int64_t out, std::int64_t fan_out, at::ScalarType type, Rng& init);
  Norm MakeNorm(at::ScalarType type);

  at::Tensor Apply(const Dense& dense, const at::Tensor& x, const at::Tensor& mean) const;
  at::Tensor Attention(const Dense& attend, const at::Tensor& x, const at::Tensor& mean) const;
  at::Tensor Pass(const at::Tensor& nodes, const at::Tensor& mean) const;

  Sizes sizes_;
  std::vector<Layer> layers_;
  Dense output_;
  at::Tensor feedback_;  // [choices, width]; undefined with one pass
  Tensors parameters_;
};

}  // namespace stowplan::agents::rl
