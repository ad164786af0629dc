// Long short-term memory (Hochreiter, Schmidhuber 1997) over a sequence, in one direction or in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "agents/random_numbers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

class Lstm {
 public:
  enum class Bias : std::uint8_t {
    kGates,   // one for each gate and cell; those of the forget gates start at 1, the others at 0
    kForget,  // one number, started at 1, for all forget gates of both directions: TensorFlow's planner
  };
  struct State {
    at::Tensor h, c;  // [batch, width]
  };
  struct Output {
    at::Tensor h;  // [steps, batch, width]
    State last;    // of each direction where it ends
  };
  // Steps one by one, with the weights of the moment in which it was made and without gradients.
  class Walk {
   public:
    State Step(const at::Tensor& sums, const State& state) const;  // sums [batch, 4 width]

   private:
    friend class Lstm;
    Walk(at::Tensor halved, at::Tensor scale) : halved_(std::move(halved)), scale_(std::move(scale)) {}

    at::Tensor halved_;  // [width, 4 width], those of the hidden state as the steps want them
    at::Tensor scale_;   // [4 width], what the sums must be multiplied with
  };

  // `width` is that of the output: with both directions each has half of it. Glorot weights over all gates.
  Lstm(std::int64_t input, std::int64_t width, bool both_directions, Bias bias, at::ScalarType type,
       Rng& init);

  // From zeros on: `inputs` [steps, batch, input].
  Output Forward(const at::Tensor& inputs) const;

  // The rest is for one direction. What inputs [..., input] say to the gates, [..., 4 width]; rows that come again need
  // it once.
  at::Tensor GateSums(const at::Tensor& inputs) const;
  // The same in two parts, which sum up to it, where each part comes again in other company: of the first columns of the
  // inputs, with the bias, and of the last ones, without.
  at::Tensor GateSumsOfFirst(const at::Tensor& columns) const;
  at::Tensor GateSumsOfLast(const at::Tensor& columns) const;
  // From a state on: `sums` [steps, batch, 4 width].
  Output Continue(const at::Tensor& sums, const State& from) const;
  Walk StartWalk() const;

  const Tensors& parameters() const { return parameters_; }

 private:
  at::Tensor GateSums(const at::Tensor& inputs, std::size_t direction) const;
  // Of each direction: [4 hidden], in torch's order of the gates: input, forget, cell, output.
  Tensors Biases() const;

  std::int64_t hidden_, directions_;
  Bias bias_;
  Tensors parameters_;  // [4 hidden, input] and [4 hidden, hidden] for each direction, then the biases
};

}  // namespace stowplan::agents::rl
