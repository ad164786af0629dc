#include "agents/rl/nn/optimiser.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <torch/optim/adam.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

double GlobalNorm(const Tensors& gradients) {
  double squares = 0;
  for (const at::Tensor& gradient : gradients) {
    const double norm = gradient.norm().item<double>();
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

}  // namespace

struct Optimiser::Impl {
  explicit Impl(const Tensors& given) : parameters(given), adam(given, torch::optim::AdamOptions(1e-3)) {}

  torch::optim::AdamParamState* StateOf(const at::Tensor& parameter) {
    const auto found = adam.state().find(c10::guts::to_string(parameter.unsafeGetTensorImpl()));
    return found == adam.state().end() ? nullptr
                                       : &static_cast<torch::optim::AdamParamState&>(*found->second);
  }

  Tensors parameters;
  torch::optim::Adam adam;
};

Optimiser::Optimiser(const Tensors& parameters) : impl_(std::make_unique<Impl>(parameters)) {}
Optimiser::~Optimiser() = default;

double Optimiser::Step(const Tensors& gradients, double learning_rate, double clip) {
  STOWPLAN_CHECK_EQ(gradients.size(), impl_->parameters.size());
  const double norm = GlobalNorm(gradients);
  const double scale = 1.0 / std::max(norm / clip, 1.0);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    impl_->parameters[i].mutable_grad() = gradients[i] * scale;
  static_cast<torch::optim::AdamOptions&>(impl_->adam.param_groups().front().options()).lr(learning_rate);
  impl_->adam.step();
  return norm;
}

// Adam has no state for a parameter before its first step.
void Optimiser::Save(StateWriter& out) const {
  for (const at::Tensor& parameter : impl_->parameters) {
    const torch::optim::AdamParamState* state = impl_->StateOf(parameter);
    out.Put<std::int64_t>(state == nullptr ? 0 : state->step());
    if (state == nullptr) continue;
    SaveTensor(state->exp_avg(), out);
    SaveTensor(state->exp_avg_sq(), out);
  }
}

void Optimiser::Load(StateReader& in) {
  for (const at::Tensor& parameter : impl_->parameters) {
    const std::int64_t step = in.GetCount();
    const std::string key = c10::guts::to_string(parameter.unsafeGetTensorImpl());
    impl_->adam.state().erase(key);
    if (step == 0) continue;
    auto state = std::make_unique<torch::optim::AdamParamState>();
    at::Tensor mean = at::zeros_like(parameter).detach();
    at::Tensor square = at::zeros_like(parameter).detach();
    LoadTensor(in, mean);
    LoadTensor(in, square);
    state->step(step);
    state->exp_avg(mean);
    state->exp_avg_sq(square);
    impl_->adam.state()[key] = std::move(state);
  }
}

}  // namespace stowplan::agents::rl
