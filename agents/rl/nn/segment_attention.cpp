#include "agents/rl/nn/segment_attention.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace stowplan::agents::rl {
namespace {

// One segment of a tensor of rows.
struct Segment {
  std::int64_t first, size;
  std::int64_t memory_first, memory_size;  // the segment before; 0 for the first one

  at::Tensor Own(const at::Tensor& rows) const { return rows.narrow(0, first, size); }
  at::Tensor Memory(const at::Tensor& rows) const { return rows.narrow(0, memory_first, memory_size); }
};

template <typename Body>
void ForSegments(std::int64_t rows, std::int64_t length, const Body& body) {
  for (std::int64_t first = 0; first < rows; first += length) {
    const std::int64_t memory = first == 0 ? 0 : length;
    body(Segment{first, std::min(length, rows - first), first - memory, memory});
  }
}

// [rows, heads * width] as [heads, rows, width], and back.
at::Tensor SplitHeads(const at::Tensor& rows, std::int64_t heads) {
  return rows.view({rows.size(0), heads, -1}).transpose(0, 1).contiguous();
}
at::Tensor JoinHeads(const at::Tensor& heads) {
  return heads.transpose(0, 1).reshape({heads.size(1), -1});
}

struct Heads {
  at::Tensor q, k, v;    // [heads, rows, width], keys and values of memory and segment together
  at::Tensor attention;  // [heads, rows, rows of k]
};

Heads Attend(const Segment& segment, const at::Tensor& queries, const at::Tensor& own,
             const at::Tensor& memory, std::int64_t heads, double scale) {
  const std::int64_t width = queries.size(1);
  const at::Tensor all = at::cat({segment.Memory(memory), segment.Own(own)}, 0);
  Heads h;
  h.q = SplitHeads(segment.Own(queries), heads) * scale;
  h.k = SplitHeads(all.narrow(1, 0, width).contiguous(), heads);
  h.v = SplitHeads(all.narrow(1, width, width).contiguous(), heads);
  h.attention = at::bmm(h.q, h.k.transpose(1, 2)).softmax(-1);
  return h;
}

struct SegmentAttentionFunction : torch::autograd::Function<SegmentAttentionFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& own, const at::Tensor& memory, std::int64_t heads,
                            std::int64_t length) {
    const double scale = 1 / std::sqrt(static_cast<double>(queries.size(1) / heads));
    at::Tensor mixtures = at::empty_like(queries);
    ForSegments(queries.size(0), length, [&](const Segment& segment) {
      const Heads h = Attend(segment, queries, own, memory, heads, scale);
      segment.Own(mixtures).copy_(JoinHeads(at::bmm(h.attention, h.v)));
    });
    context->save_for_backward({queries, own, memory, mixtures});
    context->saved_data["heads"] = heads;
    context->saved_data["length"] = length;
    return mixtures;
  }

  // With P = softmax(q k'), o = P v and g the gradient of o: dv = P' g, dP = g v', the gradient of the scores
  // is s = P (dP - o g summed over the width), dq = s k, dk = s' q.
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &queries = saved[0], &own = saved[1], &memory = saved[2], &mixtures = saved[3];
    const std::int64_t heads = context->saved_data["heads"].toInt();
    const std::int64_t length = context->saved_data["length"].toInt();
    const double scale = 1 / std::sqrt(static_cast<double>(queries.size(1) / heads));
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor d_queries = at::empty_like(queries), d_own = at::empty_like(own),
               d_memory = at::empty_like(memory);
    ForSegments(queries.size(0), length, [&](const Segment& segment) {
      const Heads h = Attend(segment, queries, own, memory, heads, scale);
      const at::Tensor g = SplitHeads(segment.Own(gradient), heads);
      const at::Tensor mixture = SplitHeads(segment.Own(mixtures), heads);
      at::Tensor scores = at::bmm(g, h.v.transpose(1, 2)).sub_((g * mixture).sum(-1, true));
      scores.mul_(h.attention);
      segment.Own(d_queries).copy_(JoinHeads(at::bmm(scores, h.k)).mul_(scale));
      const at::Tensor all = at::cat({JoinHeads(at::bmm(scores.transpose(1, 2), h.q)),
                                      JoinHeads(at::bmm(h.attention.transpose(1, 2), g))},
                                     1);
      segment.Memory(d_memory).copy_(all.narrow(0, 0, segment.memory_size));
      segment.Own(d_own).copy_(all.narrow(0, segment.memory_size, segment.size));
    });
    return {d_queries, d_own, d_memory, {}, {}};
  }
};

}  // namespace

std::int64_t MemoryRows(std::int64_t rows, std::int64_t segment) {
  return (rows - 1) / segment * segment;
}

at::Tensor SegmentAttention(const at::Tensor& queries, const at::Tensor& own, const at::Tensor& memory,
                            std::int64_t heads, std::int64_t segment) {
  return SegmentAttentionFunction::apply(queries.contiguous(), own.contiguous(), memory.contiguous(), heads,
                                         segment);
}

}  // namespace stowplan::agents::rl
