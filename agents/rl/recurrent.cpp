#include "agents/rl/recurrent.h"

#include <ATen/ATen.h>

#include "agents/rl/layers.h"
#include "sim/error.h"

namespace berth::agents::rl {

Lstm::Lstm(std::int64_t input, std::int64_t width, bool both_directions, Bias bias, at::ScalarType type,
           Rng& init)
    : hidden_(both_directions ? width / 2 : width), directions_(both_directions ? 2 : 1), bias_(bias) {
  BERTH_CHECK_EQ(hidden_ * directions_, width);
  for (std::int64_t d = 0; d < directions_; ++d) {
    for (const std::int64_t in : {input, hidden_}) {
      parameters_.push_back(GlorotMatrix(4 * hidden_, in, type, init, input + hidden_, 4 * hidden_));
    }
  }
  const at::TensorOptions options = at::TensorOptions().dtype(type);
  if (bias_ == Bias::kForget) parameters_.push_back(at::ones({1}, options));
  for (std::int64_t d = 0; bias_ == Bias::kGates && d < directions_; ++d) {
    at::Tensor gates = at::zeros({4 * hidden_}, options);
    gates.slice(0, hidden_, 2 * hidden_).fill_(1);
    parameters_.push_back(gates);
  }
  for (at::Tensor& parameter : parameters_) parameter.set_requires_grad(true);
}

// Torch adds two biases, of the input and of the hidden state; ours is the first.
Tensors Lstm::Biases() const {
  Tensors biases;
  const auto first = static_cast<std::size_t>(2 * directions_);
  for (std::size_t d = 0; d < static_cast<std::size_t>(directions_); ++d) {
    if (bias_ == Bias::kGates) {
      biases.push_back(parameters_[first + d]);
    } else {
      const at::Tensor zeros = at::zeros({hidden_}, parameters_[first].options().requires_grad(false));
      biases.push_back(at::cat({zeros, parameters_[first].expand({hidden_}), zeros, zeros}));
    }
  }
  return biases;
}

Lstm::Output Lstm::Forward(const at::Tensor& inputs, const State* first) const {
  const std::int64_t batch = inputs.size(1);
  at::Tensor h, c;
  if (first == nullptr) {
    h = c = at::zeros({directions_, batch, hidden_}, parameters_[0].options().requires_grad(false));
  } else {
    BERTH_CHECK_EQ(directions_, 1);
    h = first->h.unsqueeze(0);
    c = first->c.unsqueeze(0);
  }
  const Tensors biases = Biases();
  Tensors weights;
  for (std::size_t d = 0; d < static_cast<std::size_t>(directions_); ++d) {
    Append(weights, {parameters_[2 * d], parameters_[2 * d + 1], biases[d], at::zeros_like(biases[d])});
  }
  const auto [all, last_h, last_c] =
      at::lstm(inputs, {h, c}, weights, /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0,
               /*train=*/false, /*bidirectional=*/directions_ == 2, /*batch_first=*/false);
  const auto joined = [batch](const at::Tensor& state) { return state.transpose(0, 1).reshape({batch, -1}); };
  return {all, {joined(last_h), joined(last_c)}};
}

Lstm::State Lstm::Step(const at::Tensor& input, const State& state) const {
  BERTH_CHECK_EQ(directions_, 1);
  const at::Tensor bias = Biases()[0];
  const auto [h, c] =
      at::lstm_cell(input, {state.h, state.c}, parameters_[0], parameters_[1], bias, at::zeros_like(bias));
  return {h, c};
}

}  // namespace berth::agents::rl
