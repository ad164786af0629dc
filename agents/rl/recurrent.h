// Long short-term memory (Hochreiter, Schmidhuber 1997) over a sequence, in one direction or in both.
#pragma once

#include <cstdint>
#include <utility>

#include "agents/random.h"
#include "agents/rl/tensors.h"

namespace berth::agents::rl {

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
  struct Weights {
    at::Tensor input, hidden, bias;  // [input, 4 width], [width, 4 width], [4 width]
  };
  // An Lstm of one direction step by step, with the weights of the moment in which it was made and without gradients.
  class Walk {
   public:
    // What the inputs [rows, input] alone say to the gates, [rows, 4 width]: rows that come again need it once.
    at::Tensor Sums(const at::Tensor& inputs) const;
    State Step(const at::Tensor& sums, const State& state) const;

   private:
    friend class Lstm;
    explicit Walk(Weights weights) : weights_(std::move(weights)) {}
    Weights weights_;
  };

  // `width` is that of the output: with both directions each has half of it. Glorot weights over all gates.
  Lstm(std::int64_t input, std::int64_t width, bool both_directions, Bias bias, at::ScalarType type,
       Rng& init);

  // `inputs` [steps, batch, input]. The first state is zero where none is given (one direction only).
  Output Forward(const at::Tensor& inputs, const State* first = nullptr) const;
  Walk Start() const;

  const Tensors& parameters() const { return parameters_; }

 private:
  Tensors Biases() const;  // of each direction: [4 hidden], in torch's order of the gates

  std::int64_t hidden_, directions_;
  Bias bias_;
  Tensors parameters_;  // [4 hidden, input] and [4 hidden, hidden] for each direction, then the biases
};

}  // namespace berth::agents::rl
