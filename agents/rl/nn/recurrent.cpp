#include "agents/rl/nn/recurrent.h"

#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "agents/rl/nn/layers.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

// Torch's own layer spends a dozen small ops on a step, and learning adds a product to the gradient of the weights in
// each. Here a step is a product, two tanh and two loops, and the weights get one product over all steps.

// One tanh serves all four gates: sigmoid(x) = (1 + tanh(x / 2)) / 2, so what makes the three others is halved. In float a
// gate below 1e-7 is 0, and so is its gradient.
at::Tensor GateScale(const at::Tensor& hidden_weights) {
  const std::int64_t hidden = hidden_weights.size(1);
  at::Tensor scale = at::full({4 * hidden}, 0.5, hidden_weights.options().requires_grad(false));
  scale.narrow(0, 2 * hidden, hidden).fill_(1);
  return scale;
}

at::Tensor Halved(const at::Tensor& hidden_weights) {
  return (hidden_weights * GateScale(hidden_weights).unsqueeze(1)).t();
}

// Sizes of a step, and the steps in the order in which they are read.
struct Sweep {
  std::int64_t steps, rows, hidden;
  bool backwards;

  std::int64_t At(std::int64_t i) const { return backwards ? steps - 1 - i : i; }
  std::int64_t state_size() const { return rows * hidden; }
};

// `gates` [rows, 4 hidden]: tanh of the halved sums in, the gates out. `before` and `after`: cells [rows, hidden].
template <typename T>
void OpenGates(const Sweep& sweep, T* gates, const T* before, T* after) {
  const std::int64_t hidden = sweep.hidden;
  for (std::int64_t row = 0; row < sweep.rows; ++row) {
    T* in = gates + 4 * row * hidden;
    T *forget = in + hidden, *cell = in + 2 * hidden, *out = in + 3 * hidden;
    const T* old = before + row * hidden;
    T* next = after + row * hidden;
    for (std::int64_t k = 0; k < hidden; ++k) {
      in[k] = (1 + in[k]) / 2;
      forget[k] = (1 + forget[k]) / 2;
      out[k] = (1 + out[k]) / 2;
      next[k] = forget[k] * old[k] + in[k] * cell[k];
    }
  }
}

// h = output gate * tanh(cell).
template <typename T>
void Emit(const Sweep& sweep, const T* gates, const T* tanh_cell, T* h) {
  const std::int64_t hidden = sweep.hidden;
  for (std::int64_t row = 0; row < sweep.rows; ++row) {
    const T *out = gates + (4 * row + 3) * hidden, *state = tanh_cell + row * hidden;
    T* emitted = h + row * hidden;
    for (std::int64_t k = 0; k < hidden; ++k) emitted[k] = out[k] * state[k];
  }
}

// What a step left: gates [rows, 4 hidden], tanh of its cell and the cell before [rows, hidden].
template <typename T>
struct StepDone {
  const T *gates, *tanh_cell, *before;
};

// From the gradients of h and of the cell, which becomes that of the cell before, to those of the sums, `d_sums` [rows, 4
// hidden].
template <typename T>
void GradientsOfStep(const Sweep& sweep, const StepDone<T>& step, const T* d_h, T* d_cell, T* d_sums) {
  const std::int64_t hidden = sweep.hidden;
  for (std::int64_t row = 0; row < sweep.rows; ++row) {
    const T* in = step.gates + 4 * row * hidden;
    const T *forget = in + hidden, *cell = in + 2 * hidden, *out = in + 3 * hidden;
    const T *tanh_cell = step.tanh_cell + row * hidden, *before = step.before + row * hidden;
    const T* dh = d_h + row * hidden;
    T* dc = d_cell + row * hidden;
    T* d_in = d_sums + 4 * row * hidden;
    T *d_forget = d_in + hidden, *d_new = d_in + 2 * hidden, *d_out = d_in + 3 * hidden;
    for (std::int64_t k = 0; k < hidden; ++k) {
      const T d = dc[k] + dh[k] * out[k] * (1 - tanh_cell[k] * tanh_cell[k]);
      d_in[k] = d * cell[k] * in[k] * (1 - in[k]);
      d_forget[k] = d * before[k] * forget[k] * (1 - forget[k]);
      d_new[k] = d * in[k] * (1 - cell[k] * cell[k]);
      d_out[k] = dh[k] * tanh_cell[k] * out[k] * (1 - out[k]);
      dc[k] = d * forget[k];
    }
  }
}

// Of all steps: [steps, rows, 4 hidden], then [steps, rows, hidden] each.
struct Trace {
  at::Tensor gates, cells, tanh_cells, h;
};

// `halved` [hidden, 4 hidden]; `sums` [steps, rows, 4 hidden], halved too, become the gates.
template <typename T>
Trace SweepForwardAs(const Sweep& sweep, at::Tensor sums, const at::Tensor& halved, at::Tensor h,
                     const at::Tensor& first_c) {
  const at::Tensor cells = at::empty({sweep.steps, sweep.rows, sweep.hidden}, sums.options());
  Trace trace{std::move(sums), cells, at::empty_like(cells), at::empty_like(cells)};
  const T* before = first_c.data_ptr<T>();
  for (std::int64_t i = 0; i < sweep.steps; ++i) {
    const std::int64_t t = sweep.At(i);
    at::Tensor gates = trace.gates.select(0, t), tanh_cell = trace.tanh_cells.select(0, t);
    gates.addmm_(h, halved).tanh_();
    T* const cell = cells.data_ptr<T>() + t * sweep.state_size();
    OpenGates(sweep, gates.data_ptr<T>(), before, cell);
    at::tanh_out(tanh_cell, cells.select(0, t));
    h = trace.h.select(0, t);
    Emit(sweep, gates.data_ptr<T>(), tanh_cell.data_ptr<T>(), h.data_ptr<T>());
    before = cell;
  }
  return trace;
}

Trace SweepForward(const Sweep& sweep, at::Tensor sums, const at::Tensor& halved, const at::Tensor& first_h,
                   const at::Tensor& first_c) {
  return sums.scalar_type() == at::kFloat
             ? SweepForwardAs<float>(sweep, std::move(sums), halved, first_h, first_c)
             : SweepForwardAs<double>(sweep, std::move(sums), halved, first_h, first_c);
}

struct SweepGradients {
  at::Tensor sums, first_h, first_c;
};

// `d_h` [steps, rows, hidden] is what comes from outside; each step adds what comes from the one behind it.
template <typename T>
SweepGradients SweepBack(const Sweep& sweep, const Trace& trace, const at::Tensor& hidden_weights,
                         const at::Tensor& first_c, const at::Tensor& d_h, const at::Tensor& d_last_c) {
  SweepGradients d{at::empty_like(trace.gates), d_h.select(0, sweep.At(sweep.steps - 1)), d_last_c.clone()};
  const auto state_at = [&](const at::Tensor& all, std::int64_t t) {
    return all.data_ptr<T>() + t * sweep.state_size();
  };
  for (std::int64_t i = sweep.steps - 1; i >= 0; --i) {
    const std::int64_t t = sweep.At(i);
    const at::Tensor d_sums = d.sums.select(0, t);
    const T* const before = i == 0 ? first_c.data_ptr<T>() : state_at(trace.cells, sweep.At(i - 1));
    GradientsOfStep<T>(sweep, {state_at(trace.gates, 4 * t), state_at(trace.tanh_cells, t), before},
                       d.first_h.data_ptr<T>(), d.first_c.data_ptr<T>(), d_sums.data_ptr<T>());
    d.first_h = i == 0 ? d_sums.mm(hidden_weights)
                       : at::addmm(d_h.select(0, sweep.At(i - 1)), d_sums, hidden_weights);
  }
  return d;
}

// One direction: what the inputs say to the gates [steps, rows, 4 hidden], first h and cell [rows, hidden], weights [4
// hidden, hidden] -> h [steps, rows, hidden] and the last cell.
struct LstmFunction : torch::autograd::Function<LstmFunction> {
  static torch::autograd::tensor_list forward(torch::autograd::AutogradContext* context,
                                              const at::Tensor& sums, const at::Tensor& first_h,
                                              const at::Tensor& first_c, const at::Tensor& hidden_weights,
                                              bool backwards) {
    const at::Tensor first_cell = first_c.contiguous();
    const Sweep sweep{sums.size(0), sums.size(1), hidden_weights.size(1), backwards};
    const Trace trace = SweepForward(sweep, (sums * GateScale(hidden_weights)).contiguous(),
                                     Halved(hidden_weights), first_h, first_cell);
    context->save_for_backward(
        {first_h, first_cell, hidden_weights, trace.gates, trace.cells, trace.tanh_cells, trace.h});
    context->saved_data["backwards"] = backwards;
    return {trace.h, trace.cells.select(0, sweep.At(sweep.steps - 1)).clone()};
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &first_h = saved[0], &first_c = saved[1], &hidden_weights = saved[2];
    const Trace trace{saved[3], saved[4], saved[5], saved[6]};
    const Sweep sweep{trace.h.size(0), trace.h.size(1), trace.h.size(2),
                      context->saved_data["backwards"].toBool()};
    const at::Tensor d_h = gradients[0].contiguous(), d_last = gradients[1].contiguous();
    const SweepGradients d = d_h.scalar_type() == at::kFloat
                                 ? SweepBack<float>(sweep, trace, hidden_weights, first_c, d_h, d_last)
                                 : SweepBack<double>(sweep, trace, hidden_weights, first_c, d_h, d_last);
    const std::int64_t rest = sweep.steps - 1;
    const at::Tensor before = sweep.backwards ? at::cat({trace.h.narrow(0, 1, rest), first_h.unsqueeze(0)})
                                              : at::cat({first_h.unsqueeze(0), trace.h.narrow(0, 0, rest)});
    const at::Tensor d_hidden_weights =
        d.sums.view({-1, 4 * sweep.hidden}).t().mm(before.view({-1, sweep.hidden}));
    return {d.sums, d.first_h, d.first_c, d_hidden_weights, at::Tensor()};
  }
};

}  // namespace

Lstm::Lstm(std::int64_t input, std::int64_t width, bool both_directions, Bias bias, at::ScalarType type,
           Rng& init)
    : hidden_(both_directions ? width / 2 : width), directions_(both_directions ? 2 : 1), bias_(bias) {
  STOWPLAN_CHECK_EQ(hidden_ * directions_, width);
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

at::Tensor Lstm::GateSums(const at::Tensor& inputs, std::size_t direction) const {
  const at::Tensor rows = inputs.reshape({-1, inputs.size(-1)});
  std::vector<std::int64_t> sizes = inputs.sizes().vec();
  sizes.back() = 4 * hidden_;
  return at::addmm(Biases()[direction], rows, parameters_[2 * direction].t()).view(sizes);
}

at::Tensor Lstm::GateSums(const at::Tensor& inputs) const {
  STOWPLAN_CHECK_EQ(directions_, 1);
  return GateSums(inputs, 0);
}

at::Tensor Lstm::GateSumsOfFirst(const at::Tensor& columns) const {
  STOWPLAN_CHECK_EQ(directions_, 1);
  return columns.matmul(parameters_[0].narrow(1, 0, columns.size(-1)).t()) + Biases()[0];
}

at::Tensor Lstm::GateSumsOfLast(const at::Tensor& columns) const {
  STOWPLAN_CHECK_EQ(directions_, 1);
  const std::int64_t count = columns.size(-1);
  return columns.matmul(parameters_[0].narrow(1, parameters_[0].size(1) - count, count).t());
}

Lstm::Output Lstm::Forward(const at::Tensor& inputs) const {
  const at::Tensor zeros =
      at::zeros({inputs.size(1), hidden_}, parameters_[0].options().requires_grad(false));
  const auto read = [&](std::size_t direction) {
    return LstmFunction::apply(GateSums(inputs, direction), zeros, zeros, parameters_[2 * direction + 1],
                               /*backwards=*/direction == 1);
  };
  const Tensors there = read(0);
  const State last{there[0].select(0, inputs.size(0) - 1), there[1]};
  if (directions_ == 1) return {there[0], last};
  const Tensors back = read(1);
  return {at::cat({there[0], back[0]}, 2),
          {at::cat({last.h, back[0].select(0, 0)}, 1), at::cat({last.c, back[1]}, 1)}};
}

Lstm::Output Lstm::Continue(const at::Tensor& sums, const State& from) const {
  STOWPLAN_CHECK_EQ(directions_, 1);
  const Tensors out = LstmFunction::apply(sums, from.h, from.c, parameters_[1], /*backwards=*/false);
  return {out[0], {out[0].select(0, sums.size(0) - 1), out[1]}};
}

Lstm::Walk Lstm::StartWalk() const {
  STOWPLAN_CHECK_EQ(directions_, 1);
  const at::NoGradGuard no_grad;
  return {Halved(parameters_[1]), GateScale(parameters_[1])};
}

Lstm::State Lstm::Walk::Step(const at::Tensor& sums, const State& state) const {
  const at::NoGradGuard no_grad;
  const Sweep sweep{1, sums.size(0), halved_.size(0), false};
  const Trace trace =
      SweepForward(sweep, (sums * scale_).unsqueeze(0), halved_, state.h, state.c.contiguous());
  return {trace.h[0], trace.cells[0]};
}

}  // namespace stowplan::agents::rl
