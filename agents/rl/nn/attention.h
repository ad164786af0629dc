// Content-based attention: a query gets the mixture of a memory's rows whose scores it gives.
#pragma once

#include <cstdint>

#include "agents/random_numbers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

class Attention {
 public:
  enum class Kind : std::uint8_t {
    kAdditive,  // v tanh(W q + m) (Bahdanau et al. 2015), as in all published sequence models of the field
    kDot,       // (W q) m / sqrt(width): 2.5 to 7 times cheaper to learn
  };
  Attention(Kind kind, std::int64_t width, at::ScalarType type, Rng& init);

  // Rows to be kept for many queries: `encoded` [memories, rows, width] times a weight.
  at::Tensor Memory(const at::Tensor& encoded) const;
  // `queries` [memories, queries, width] -> mixtures of the same sizes.
  at::Tensor Mix(const at::Tensor& queries, const at::Tensor& memory) const;

  const Tensors& parameters() const { return parameters_; }

 private:
  Kind kind_;
  Tensors parameters_;  // weights of memory and query; additive: v [width]
};

// scores[b, q, m] = sum over h of v[h] tanh(queries[b, q, h] + memory[b, m, h]), in float or double. The tanh
// of all pairs is never stored: learning computes it again. Numbers beyond +-170 count as +-170; there tanh
// is 1 in any case but that of two such numbers of opposite signs.
at::Tensor AdditiveScores(const at::Tensor& queries, const at::Tensor& memory, const at::Tensor& v);

}  // namespace stowplan::agents::rl
