// Attention as one kernel that never writes the scores down (Dao et al., FlashAttention, 2022): its sizes, arithmetic and bytes.
#pragma once

#include <optional>
#include <string_view>

#include "sim/op_graph.h"

namespace stowplan::cost_models {

// Kernels of earlier libraries. Rows are of the libraries of 2025, so that kCurrent takes what they say.
enum class AttentionKernel { kCurrent, kFlash2, kFlash1Triton };

struct AttentionShape {
  double batch = 1;
  double heads = 1;      // of queries
  double key_heads = 1;  // of keys and values; divides heads
  double queries = 1;    // of a sequence
  double keys = 1;       // of a sequence, those of a cache with them
  double size = 64;      // of a head's queries and keys
  double value_size = 64;
  double window = 0;       // keys that a query sees at most; 0 = all
  bool is_causal = false;  // the last query sees all keys, each one before it one less
  AttentionKernel kernel = AttentionKernel::kCurrent;

  // Keys that queries see, over one head of one sequence.
  double Pairs() const;
  double Flops() const { return 2 * batch * heads * Pairs() * (size + value_size); }
  // Queries and results, and the keys and values that some query sees.
  double ElementsOfQueries() const { return batch * heads * queries * (size + value_size); }
  double ElementsOfKeys() const;
};

// Of an op Attention (inputs: queries, keys, values) or AttentionGrad (first outputs: the gradients of these), each [batch,
// heads, length, size]. Other layouts are told by the attributes `heads` and `key_heads` ([batch, length, heads x size]) and
// `past`, keys of a cache that are no input's. Attributes `causal` and `window` say what is skipped. Empty where shapes do
// not make an attention. `kernel` is flash_2, flash_1_triton or current; throws InputError for another name.
std::optional<AttentionShape> AttentionOf(const sim::OpGraph& graph, const sim::Op& op);

// Times of the current kernel that this one takes, where queries are of a prompt. FlashAttention-3 is 1.5 to 2 times faster than
// FlashAttention-2 on a GH100 (Shah et al., arXiv:2407.08608, section 1; assumed of a GB100, too), and FlashAttention-2 is 1.3 to
// 2.5 times faster than FlashAttention in Triton (Dao, arXiv:2307.08691, section 4). Taken are the geometric middles.
double SlownessOf(AttentionKernel kernel, std::string_view chip);

}  // namespace stowplan::cost_models
