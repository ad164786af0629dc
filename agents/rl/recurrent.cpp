#include "agents/rl/recurrent.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "agents/rl/layers.h"
#include "sim/error.h"

namespace berth::agents::rl {
namespace {

// Torch's own layer spends a dozen small ops on a step, and learning adds a product to the gradient of the weights in
// each. Here a step is a product, two tanh and two loops, and the weights get one product over all steps: an `rnn`
// search over 160 units takes two thirds of the time.

// Gates stand in torch's order: input, forget, cell, output. One tanh serves all four: sigmoid(x) = (1 + tanh(x / 2)) / 2,
// so what makes the three others is halved.
Lstm::Weights Halved(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& bias) {
  const std::int64_t width = hidden.size(1);
  at::Tensor scale = at::full({4 * width}, 0.5, hidden.options().requires_grad(false));
  scale.narrow(0, 2 * width, width).fill_(1);
  return {(input * scale.unsqueeze(1)).t(), (hidden * scale.unsqueeze(1)).t(), bias * scale};
}

// Sizes of one step, and the steps in the order in which they are read.
struct Sweep {
  std::int64_t steps, rows, hidden;
  bool backwards;

  std::int64_t At(std::int64_t i) const { return backwards ? steps - 1 - i : i; }
  std::int64_t state_size() const { return rows * hidden; }
};

// `gates` [rows, 4 hidden]: tanh of the (halved) sums in, the gates out; `after` is the new cell.
template <typename T>
void OpenGates(const Sweep& sweep, T* gates, const T* before, T* after) {
  const std::int64_t hidden = sweep.hidden;
  for (std::int64_t row = 0; row < sweep.rows;
       ++row, gates += 4 * hidden, before += hidden, after += hidden) {
    T *const in = gates, *const forget = in + hidden, *const cell = forget + hidden,
             *const out = cell + hidden;
    for (std::int64_t k = 0; k < hidden; ++k) {
      in[k] = (1 + in[k]) / 2;
      forget[k] = (1 + forget[k]) / 2;
      out[k] = (1 + out[k]) / 2;
      after[k] = forget[k] * before[k] + in[k] * cell[k];
    }
  }
}

// h = output gate * tanh(cell).
template <typename T>
void Emit(const Sweep& sweep, const T* gates, const T* tanh_cell, T* h) {
  const std::int64_t hidden = sweep.hidden;
  for (std::int64_t row = 0; row < sweep.rows; ++row, gates += 4 * hidden, tanh_cell += hidden, h += hidden) {
    for (std::int64_t k = 0; k < hidden; ++k) h[k] = gates[3 * hidden + k] * tanh_cell[k];
  }
}

// Of one step: from the gradients of h, which come from outside (`d_h`) and from the step behind (`d_next`), and of the
// cell (`d_cell`, becomes that of the cell before) to those of the sums, `d_sums` [rows, 4 hidden].
template <typename T>
void GradientsOfStep(const Sweep& sweep, const T* gates, const T* tanh_cell, const T* before, const T* d_h,
                     const T* d_next, T* d_cell, T* d_sums) {
  const std::int64_t hidden = sweep.hidden;
  for (std::int64_t row = 0; row < sweep.rows; ++row) {
    const T *const in = gates, *const forget = in + hidden, *const cell = forget + hidden,
                   *const out = cell + hidden;
    for (std::int64_t k = 0; k < hidden; ++k) {
      const T dh = d_h[k] + d_next[k];
      const T dc = d_cell[k] + dh * out[k] * (1 - tanh_cell[k] * tanh_cell[k]);
      d_sums[k] = dc * cell[k] * in[k] * (1 - in[k]);
      d_sums[hidden + k] = dc * before[k] * forget[k] * (1 - forget[k]);
      d_sums[2 * hidden + k] = dc * in[k] * (1 - cell[k] * cell[k]);
      d_sums[3 * hidden + k] = dh * tanh_cell[k] * out[k] * (1 - out[k]);
      d_cell[k] = dc * forget[k];
    }
    gates += 4 * hidden, d_sums += 4 * hidden;
    tanh_cell += hidden, before += hidden, d_h += hidden, d_next += hidden, d_cell += hidden;
  }
}

// What a sweep leaves: [steps, rows, 4 hidden], then [steps, rows, hidden] each.
struct Trace {
  at::Tensor gates, cells, tanh_cells, h;
};

// `sums` [steps, rows, 4 hidden] become the gates.
template <typename T>
Trace SweepForwardAs(const Sweep& sweep, const at::Tensor& sums, const at::Tensor& hidden_weights,
                     at::Tensor h, const at::Tensor& first_cell) {
  const at::Tensor cells = at::empty({sweep.steps, sweep.rows, sweep.hidden}, sums.options());
  Trace trace{sums, cells, at::empty_like(cells), at::empty_like(cells)};
  const T* before = first_cell.data_ptr<T>();
  for (std::int64_t i = 0; i < sweep.steps; ++i) {
    const std::int64_t t = sweep.At(i);
    at::Tensor gates = sums.select(0, t), tanh_cell = trace.tanh_cells.select(0, t);
    gates.addmm_(h, hidden_weights).tanh_();
    T* const cell = cells.data_ptr<T>() + t * sweep.state_size();
    OpenGates(sweep, gates.data_ptr<T>(), before, cell);
    at::tanh_out(tanh_cell, cells.select(0, t));
    h = trace.h.select(0, t);
    Emit(sweep, gates.data_ptr<T>(), tanh_cell.data_ptr<T>(), h.data_ptr<T>());
    before = cell;
  }
  return trace;
}

Trace SweepForward(const Sweep& sweep, const at::Tensor& sums, const at::Tensor& hidden_weights,
                   const at::Tensor& first_h, const at::Tensor& first_cell) {
  return sums.scalar_type() == at::kFloat
             ? SweepForwardAs<float>(sweep, sums, hidden_weights, first_h, first_cell)
             : SweepForwardAs<double>(sweep, sums, hidden_weights, first_h, first_cell);
}

struct SweepGradients {
  at::Tensor sums, first_h, first_cell;
};

template <typename T>
SweepGradients SweepBack(const Sweep& sweep, const Trace& trace, const at::Tensor& hidden_weights,
                         const at::Tensor& first_cell, const at::Tensor& d_h, const at::Tensor& d_last_cell) {
  SweepGradients d{at::empty_like(trace.gates), at::zeros_like(first_cell), d_last_cell.clone()};
  const auto step_of = [&](const at::Tensor& all, std::int64_t t) {
    return all.data_ptr<T>() + t * sweep.state_size();
  };
  for (std::int64_t i = sweep.steps - 1; i >= 0; --i) {
    const std::int64_t t = sweep.At(i);
    const at::Tensor d_sums = d.sums.select(0, t);
    GradientsOfStep<T>(sweep, step_of(trace.gates, 4 * t), step_of(trace.tanh_cells, t),
                       i == 0 ? first_cell.data_ptr<T>() : step_of(trace.cells, sweep.At(i - 1)),
                       step_of(d_h, t), d.first_h.data_ptr<T>(), d.first_cell.data_ptr<T>(),
                       d_sums.data_ptr<T>());
    at::mm_out(d.first_h, d_sums, hidden_weights);
  }
  return d;
}

// One direction of a layer: inputs [steps, rows, in], first h and cell [rows, hidden], weights [4 hidden, in] and [4
// hidden, hidden], bias [4 hidden] -> h [steps, rows, hidden] and the last cell.
struct LstmFunction : torch::autograd::Function<LstmFunction> {
  static torch::autograd::tensor_list forward(torch::autograd::AutogradContext* context,
                                              const at::Tensor& given, const at::Tensor& first_h,
                                              const at::Tensor& first, const at::Tensor& input_weights,
                                              const at::Tensor& hidden_weights, const at::Tensor& bias,
                                              bool backwards) {
    const at::Tensor inputs = given.contiguous(), first_cell = first.contiguous();
    const Sweep sweep{inputs.size(0), inputs.size(1), hidden_weights.size(1), backwards};
    const Lstm::Weights weights = Halved(input_weights, hidden_weights, bias);
    const at::Tensor sums =
        at::addmm(weights.bias, inputs.view({sweep.steps * sweep.rows, -1}), weights.input);
    const Trace trace =
        SweepForward(sweep, sums.view({sweep.steps, sweep.rows, -1}), weights.hidden, first_h, first_cell);
    context->save_for_backward({inputs, first_h, first_cell, input_weights, hidden_weights, trace.gates,
                                trace.cells, trace.tanh_cells, trace.h});
    context->saved_data["backwards"] = backwards;
    context->saved_data["inputs learn"] = given.requires_grad();
    return {trace.h, trace.cells.select(0, sweep.At(sweep.steps - 1)).clone()};
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &inputs = saved[0], &first_h = saved[1], &first_cell = saved[2],
                     &input_weights = saved[3], &hidden_weights = saved[4];
    const Trace trace{saved[5], saved[6], saved[7], saved[8]};
    const Sweep sweep{inputs.size(0), inputs.size(1), hidden_weights.size(1),
                      context->saved_data["backwards"].toBool()};
    const at::Tensor d_h = gradients[0].contiguous(), d_last = gradients[1].contiguous();
    const SweepGradients d = d_h.scalar_type() == at::kFloat
                                 ? SweepBack<float>(sweep, trace, hidden_weights, first_cell, d_h, d_last)
                                 : SweepBack<double>(sweep, trace, hidden_weights, first_cell, d_h, d_last);
    const std::int64_t rest = sweep.steps - 1;
    const at::Tensor before = sweep.backwards ? at::cat({trace.h.narrow(0, 1, rest), first_h.unsqueeze(0)})
                                              : at::cat({first_h.unsqueeze(0), trace.h.narrow(0, 0, rest)});
    const at::Tensor d_sums = d.sums.view({sweep.steps * sweep.rows, -1});
    const auto flat = [&](const at::Tensor& all) { return all.view({sweep.steps * sweep.rows, -1}); };
    at::Tensor d_inputs;
    if (context->saved_data["inputs learn"].toBool())
      d_inputs = d_sums.mm(input_weights).view(inputs.sizes());
    return {
        d_inputs,      d.first_h,   d.first_cell, d_sums.t().mm(flat(inputs)), d_sums.t().mm(flat(before)),
        d_sums.sum(0), at::Tensor()};
  }
};

}  // namespace

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
  BERTH_CHECK(first == nullptr || directions_ == 1);
  const at::Tensor zeros =
      at::zeros({inputs.size(1), hidden_}, parameters_[0].options().requires_grad(false));
  const Tensors biases = Biases();
  Tensors all, last_h, last_c;
  for (std::size_t d = 0; d < static_cast<std::size_t>(directions_); ++d) {
    const bool backwards = d == 1;
    const Tensors out =
        LstmFunction::apply(inputs, first == nullptr ? zeros : first->h, first == nullptr ? zeros : first->c,
                            parameters_[2 * d], parameters_[2 * d + 1], biases[d], backwards);
    all.push_back(out[0]);
    last_h.push_back(out[0].select(0, backwards ? 0 : inputs.size(0) - 1));
    last_c.push_back(out[1]);
  }
  if (directions_ == 1) return {all[0], {last_h[0], last_c[0]}};
  return {at::cat(all, 2), {at::cat(last_h, 1), at::cat(last_c, 1)}};
}

Lstm::Walk Lstm::Start() const {
  BERTH_CHECK_EQ(directions_, 1);
  const at::NoGradGuard no_grad;
  return Walk(Halved(parameters_[0], parameters_[1], Biases()[0]));
}

at::Tensor Lstm::Walk::Sums(const at::Tensor& inputs) const {
  const at::NoGradGuard no_grad;
  return at::addmm(weights_.bias, inputs, weights_.input);
}

Lstm::State Lstm::Walk::Step(const at::Tensor& sums, const State& state) const {
  const at::NoGradGuard no_grad;
  const Sweep sweep{1, sums.size(0), weights_.hidden.size(0), false};
  const at::Tensor gates = sums.clone().unsqueeze(0);
  const Trace trace = SweepForward(sweep, gates, weights_.hidden, state.h, state.c.contiguous());
  return {trace.h[0], trace.cells[0]};
}

}  // namespace berth::agents::rl
