#include "agents/rl/nn/categorical.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <ATen/ATen.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

// First index at which the running sum of the probabilities passes `uniform`; the last one against rounding.
std::int64_t IndexAt(const double* log_probabilities, std::int64_t choices, double uniform) {
  std::int64_t index = 0;
  for (double sum = std::exp(log_probabilities[0]); sum <= uniform && index + 1 < choices;) {
    sum += std::exp(log_probabilities[++index]);
  }
  return index;
}

}  // namespace

DrawnActions DrawActions(const at::Tensor& logits, Rng* rng) {
  std::vector<double> uniforms;
  if (rng != nullptr) {
    uniforms.resize(static_cast<std::size_t>(logits.size(0)));
    for (double& uniform : uniforms) uniform = rng->Uniform();
  }
  return DrawActions(logits, uniforms);
}

DrawnActions DrawActions(const at::Tensor& logits, std::span<const double> uniforms) {
  const at::NoGradGuard no_grad;
  const at::Tensor all = logits.to(at::kDouble).log_softmax(-1).contiguous();
  const std::int64_t rows = all.size(0), choices = all.size(1);
  STOWPLAN_CHECK(uniforms.empty() || static_cast<std::int64_t>(uniforms.size()) == rows);
  DrawnActions drawn{at::empty({rows}, at::kLong), at::empty({rows}, at::kDouble)};
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const first = all.data_ptr<double>() + row * choices;
    const std::int64_t action = uniforms.empty()
                                    ? std::max_element(first, first + choices) - first
                                    : IndexAt(first, choices, uniforms[static_cast<std::size_t>(row)]);
    drawn.actions.data_ptr<std::int64_t>()[row] = action;
    drawn.log_probability.data_ptr<double>()[row] = first[action];
  }
  return drawn;
}

at::Tensor DrawNormal(at::IntArrayRef sizes, at::ScalarType type, Rng& rng) {
  at::Tensor values = at::empty(sizes, at::kDouble);
  double* const data = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - rng.Uniform()));
    const double angle = 2 * std::numbers::pi * rng.Uniform();
    data[i] = radius * std::cos(angle);
    if (i + 1 < values.numel()) data[i + 1] = radius * std::sin(angle);
  }
  return values.to(type);
}

void CheckFinite(const at::Tensor& values, const std::string& agent, std::int64_t updates) {
  // A loop, because three ops of torch cost more than the few numbers of a draw.
  const at::Tensor numbers = values.to(at::kDouble).contiguous();
  const std::span all(numbers.data_ptr<double>(), static_cast<std::size_t>(numbers.numel()));
  if (std::all_of(all.begin(), all.end(), [](double number) { return std::isfinite(number); })) return;
  throw RunError(agent + ": the policy gives no finite number after " + std::to_string(updates) +
                 " updates; a lower lr or a smaller network keeps it in range");
}

}  // namespace stowplan::agents::rl
