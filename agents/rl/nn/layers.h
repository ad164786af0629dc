// Layers with parameters of their own. Glorot-uniform weights, zero biases.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/random_numbers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// A weight [in, out], Glorot-uniform over `fan_in` + `fan_out` (default: its own sizes), that learns.
at::Tensor GlorotMatrix(std::int64_t in, std::int64_t out, at::ScalarType type, Rng& init,
                        std::int64_t fan_in = 0, std::int64_t fan_out = 0);

// Fully connected layers with ReLU between them and none after the last. `copies` independent networks of one
// shape stand side by side and run as one batched product: small products cost their overhead, not their
// arithmetic.
class Mlp {
 public:
  // sizes: input, hidden…, output.
  Mlp(const std::vector<std::int64_t>& sizes, std::int64_t copies, at::ScalarType type, Rng& init);

  // [copies, rows, input] -> [copies, rows, output]; with one copy also [rows, input] -> [rows, output].
  at::Tensor Forward(const at::Tensor& input) const;

  // Weights [copies, input, output] and biases [copies, 1, output], layer by layer.
  const Tensors& parameters() const { return parameters_; }

 private:
  Tensors parameters_;
};

}  // namespace stowplan::agents::rl
