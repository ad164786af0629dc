// Comparing gradients with finite differences, in double.
#pragma once

#include <ATen/ATen.h>

#include "agents/random_numbers.h"
#include "agents/rl/nn/tensors.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {

inline at::Tensor RandomTensor(at::IntArrayRef sizes, std::uint64_t seed, double range = 1) {
  Rng rng(seed, "test input");
  std::vector<double> values(static_cast<std::size_t>(c10::multiply_integers(sizes)));
  for (double& value : values) value = range * (2 * rng.Uniform() - 1);
  return at::tensor(values, at::kDouble).view(sizes);
}

// The largest of all elements.
inline double Difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// Biases start at zero, where ReLU has its corner for empty sums: move everything off it.
inline void Shake(const Tensors& parameters) {
  at::NoGradGuard no_grad;
  std::uint64_t seed = 11;
  for (const at::Tensor& parameter : parameters) parameter.add_(RandomTensor(parameter.sizes(), seed++, 0.2));
}

// Compares the gradient of `loss` with central differences, on up to `checks` elements of each tensor. Where
// a ReLU changes sides within the step, the two one-sided differences disagree; such elements say nothing and
// are skipped, but most must remain.
inline void ExpectGradient(const std::function<at::Tensor()>& loss, const Tensors& tensors,
                           std::int64_t checks) {
  const Tensors gradients = Gradients(loss(), tensors);
  at::NoGradGuard no_grad;
  const double step = 1e-6;
  int compared = 0, skipped = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor flat = tensors[i].view({-1});
    for (std::int64_t k = 0; k < flat.numel(); k += std::max<std::int64_t>(flat.numel() / checks, 1)) {
      const double value = flat[k].item<double>(), here = loss().item<double>();
      flat[k] = value + step;
      const double up = loss().item<double>();
      flat[k] = value - step;
      const double down = loss().item<double>();
      flat[k] = value;
      if (std::abs((up - here) - (here - down)) > 1e-9) {
        ++skipped;
        continue;
      }
      ++compared;
      const double expected = (up - down) / (2 * step);
      EXPECT_NEAR(gradients[i].view({-1})[k].item<double>(), expected,
                  1e-6 * std::max(1.0, std::abs(expected)))
          << "tensor " << i << ", element " << k;
    }
  }
  EXPECT_GT(compared, 9 * skipped);
}

}  // namespace stowplan::agents::rl
