#include "agents/rl/nn/layers.h"

#include <cmath>

#include <ATen/ATen.h>

namespace stowplan::agents::rl {
namespace {

at::Tensor GlorotUniform(std::int64_t copies, std::int64_t in, std::int64_t out, std::int64_t fans,
                         at::ScalarType type, Rng& init) {
  const double range = std::sqrt(6.0 / static_cast<double>(fans));
  std::vector<double> values(static_cast<std::size_t>(copies * in * out));
  for (double& value : values) value = range * (2 * init.Uniform() - 1);
  return at::tensor(values, at::kDouble).view({copies, in, out}).to(type);
}

}  // namespace

at::Tensor GlorotMatrix(std::int64_t in, std::int64_t out, at::ScalarType type, Rng& init,
                        std::int64_t fan_in, std::int64_t fan_out) {
  const std::int64_t fans = fan_in + fan_out > 0 ? fan_in + fan_out : in + out;
  return GlorotUniform(1, in, out, fans, type, init)[0].clone().set_requires_grad(true);
}

Mlp::Mlp(const std::vector<std::int64_t>& sizes, std::int64_t copies, at::ScalarType type, Rng& init) {
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    parameters_.push_back(GlorotUniform(copies, sizes[i], sizes[i + 1], sizes[i] + sizes[i + 1], type, init));
    parameters_.push_back(at::zeros({copies, 1, sizes[i + 1]}, type));
  }
  for (at::Tensor& parameter : parameters_) parameter.set_requires_grad(true);
}

at::Tensor Mlp::Forward(const at::Tensor& input) const {
  at::Tensor x = input;
  const bool flat = input.dim() == 2;
  for (std::size_t i = 0; i < parameters_.size(); i += 2) {
    if (i > 0) x = x.relu();
    x = flat ? at::addmm(parameters_[i + 1][0], x, parameters_[i][0])
             : at::baddbmm(parameters_[i + 1], x, parameters_[i]);
  }
  return x;
}

}  // namespace stowplan::agents::rl
