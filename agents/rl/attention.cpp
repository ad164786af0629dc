#include "agents/rl/attention.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "agents/rl/layers.h"

namespace berth::agents::rl {
namespace {

// Numbers in one block of pairs: it stays in the cache of a core.
constexpr std::int64_t kBlock = 1 << 16;

// body(memory index, first query, queries) for blocks of queries against all rows of one memory.
template <typename Body>
void ForBlocks(const at::Tensor& queries, const at::Tensor& memory, const Body& body) {
  const std::int64_t most = std::max<std::int64_t>(kBlock / std::max<std::int64_t>(memory[0].numel(), 1), 1);
  for (std::int64_t b = 0; b < queries.size(0); ++b) {
    for (std::int64_t first = 0; first < queries.size(1); first += most) {
      body(b, first, std::min(most, queries.size(1) - first));
    }
  }
}

at::Tensor TanhOfPairs(const at::Tensor& queries, const at::Tensor& memory) {
  return (queries.unsqueeze(1) + memory.unsqueeze(0)).tanh_();  // [queries, rows, width]
}

struct AdditiveScoresFunction : torch::autograd::Function<AdditiveScoresFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& memory, const at::Tensor& v) {
    context->save_for_backward({queries, memory, v});
    at::Tensor scores = at::empty({queries.size(0), queries.size(1), memory.size(1)}, queries.options());
    ForBlocks(queries, memory, [&](std::int64_t b, std::int64_t first, std::int64_t count) {
      const at::Tensor pairs = TanhOfPairs(queries[b].narrow(0, first, count), memory[b]);
      scores[b].narrow(0, first, count).copy_(pairs.matmul(v));
    });
    return scores;
  }

  // With t = tanh(q + m) and g the gradient of the scores: dv = sum g t, dq = sum over m of g v (1 - t^2), dm the
  // same over q.
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &queries = saved[0], &memory = saved[1], &v = saved[2];
    at::Tensor d_queries = at::empty_like(queries), d_memory = at::zeros_like(memory),
               d_v = at::zeros_like(v);
    ForBlocks(queries, memory, [&](std::int64_t b, std::int64_t first, std::int64_t count) {
      const at::Tensor g = gradients[0][b].narrow(0, first, count).contiguous();  // [count, rows]
      at::Tensor t = TanhOfPairs(queries[b].narrow(0, first, count), memory[b]);
      d_v.add_(t.view({-1, v.size(0)}).t().mv(g.view({-1})));
      t.mul_(t).neg_().add_(1);
      d_queries[b].narrow(0, first, count).copy_(at::bmm(g.unsqueeze(1), t).squeeze(1).mul_(v));
      d_memory[b].add_(t.mul_(g.unsqueeze(-1)).sum(0).mul_(v));
    });
    return {d_queries, d_memory, d_v};
  }
};

}  // namespace

at::Tensor AdditiveScores(const at::Tensor& queries, const at::Tensor& memory, const at::Tensor& v) {
  return AdditiveScoresFunction::apply(queries.contiguous(), memory.contiguous(), v);
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

}  // namespace berth::agents::rl
