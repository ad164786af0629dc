#include "agents/rl/nn/attention.h"

#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "agents/rl/nn/layers.h"

namespace stowplan::agents::rl {
namespace {

// tanh(q + m) = 1 - 2 / (1 + exp(2 q) exp(2 m)): the exponentials are taken once for each query and each row,
// a pair costs one product and one division. Up to this size of q and m the product of two exponentials is
// finite.
template <typename T>
constexpr double kLargest = sizeof(T) == 4 ? 21 : 170;

at::Tensor Exponentials(const at::Tensor& x) {
  const double limit = x.scalar_type() == at::kFloat ? kLargest<float> : kLargest<double>;
  return (2 * x).clamp(-2 * limit, 2 * limit).exp().contiguous();
}

// sum over h of v[h] / (1 + q[h] m[h]), in eight running sums that the compiler keeps in vectors.
template <typename T>
T SumOfParts(const T* q, const T* m, const T* v, std::int64_t width) {
  constexpr std::int64_t kLanes = 8;
  T sums[kLanes] = {};
  std::int64_t h = 0;
  for (; h + kLanes <= width; h += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += v[h + lane] / (1 + q[h + lane] * m[h + lane]);
  }
  for (; h < width; ++h) sums[0] += v[h] / (1 + q[h] * m[h]);
  T sum = 0;
  for (const T lane : sums) sum += lane;
  return sum;
}

template <typename T>
at::Tensor Scores(const at::Tensor& queries, const at::Tensor& memory, const at::Tensor& v) {
  const std::int64_t count = queries.size(1), rows = memory.size(1), width = memory.size(2);
  at::Tensor scores = at::empty({queries.size(0), count, rows}, queries.options());
  const T *q = queries.data_ptr<T>(), *m = memory.data_ptr<T>(), *weight = v.data_ptr<T>();
  const T sum_v = v.sum().item<T>();
  T* out = scores.data_ptr<T>();
  for (std::int64_t i = 0; i < queries.size(0) * count; ++i) {
    const T* const first = m + i / count * rows * width;
    for (std::int64_t row = 0; row < rows; ++row) {
      *out++ = sum_v - 2 * SumOfParts(q + i * width, first + row * width, weight, width);
    }
  }
  return scores;
}

struct ScoreGradients {
  at::Tensor queries, memory, v;
};

// With t = tanh(q + m), r = 1 / (1 + exp(2 q) exp(2 m)) and g the gradient of the scores: t = 1 - 2 r, dv =
// sum g t, and 1 - t^2 = 4 r (1 - r), so dq = 4 v sum over m of g r (1 - r), dm the same over q.
template <typename T>
ScoreGradients GradientsOfScores(const at::Tensor& queries, const at::Tensor& memory, const at::Tensor& v,
                                 const at::Tensor& gradient) {
  const std::int64_t count = queries.size(1), rows = memory.size(1), width = memory.size(2);
  ScoreGradients d{at::zeros_like(queries), at::zeros_like(memory), at::zeros_like(v)};
  const T *q = queries.data_ptr<T>(), *m = memory.data_ptr<T>(), *g = gradient.data_ptr<T>();
  T *dq = d.queries.data_ptr<T>(), *dm = d.memory.data_ptr<T>(), *sum_r = d.v.data_ptr<T>();
  for (std::int64_t i = 0; i < queries.size(0) * count; ++i) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t pair = (i / count * rows + row) * width;
      const T weight = g[i * rows + row];
      for (std::int64_t h = 0; h < width; ++h) {
        const T r = 1 / (1 + q[i * width + h] * m[pair + h]);
        const T part = weight * r;
        sum_r[h] += part;
        dq[i * width + h] += part * (1 - r);
        dm[pair + h] += part * (1 - r);
      }
    }
  }
  d.queries.mul_(4 * v);
  d.memory.mul_(4 * v);
  d.v.mul_(-2).add_(gradient.sum());
  return d;
}

struct AdditiveScoresFunction : torch::autograd::Function<AdditiveScoresFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& memory, const at::Tensor& v) {
    const at::Tensor q = Exponentials(queries), m = Exponentials(memory), weight = v.contiguous();
    context->save_for_backward({q, m, weight});
    return q.scalar_type() == at::kFloat ? Scores<float>(q, m, weight) : Scores<double>(q, m, weight);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous();
    const ScoreGradients d = gradient.scalar_type() == at::kFloat
                                 ? GradientsOfScores<float>(saved[0], saved[1], saved[2], gradient)
                                 : GradientsOfScores<double>(saved[0], saved[1], saved[2], gradient);
    return {d.queries, d.memory, d.v};
  }
};

bool IsWithin(const at::Tensor& x, double limit) {
  return x.numel() == 0 || x.abs().max().item<double>() <= limit;
}

}  // namespace

at::Tensor AdditiveScores(const at::Tensor& queries, const at::Tensor& memory, const at::Tensor& v) {
  const double limit = kLargest<float>;
  if (queries.scalar_type() == at::kFloat && !(IsWithin(queries, limit) && IsWithin(memory, limit))) {
    return AdditiveScores(queries.to(at::kDouble), memory.to(at::kDouble), v.to(at::kDouble)).to(at::kFloat);
  }
  return AdditiveScoresFunction::apply(queries, memory, v);
}

Attention::Attention(Kind kind, std::int64_t width, at::ScalarType type, Rng& init) : kind_(kind) {
  parameters_ = {GlorotMatrix(width, width, type, init), GlorotMatrix(width, width, type, init)};
  if (kind == Kind::kAdditive) parameters_.push_back(GlorotMatrix(width, 1, type, init));
}

at::Tensor Attention::Memory(const at::Tensor& encoded) const {
  return encoded.matmul(parameters_[0]);
}

at::Tensor Attention::Mix(const at::Tensor& queries, const at::Tensor& memory) const {
  const at::Tensor projected = queries.matmul(parameters_[1]);
  const at::Tensor scores =
      kind_ == Kind::kAdditive
          ? AdditiveScores(projected, memory, parameters_[2].squeeze(-1))
          : at::bmm(projected, memory.transpose(1, 2)) / std::sqrt(static_cast<double>(memory.size(2)));
  return at::bmm(scores.softmax(-1), memory);
}

}  // namespace stowplan::agents::rl
