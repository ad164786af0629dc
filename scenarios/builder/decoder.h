// Decoders of today's language models (Touvron et al. 2023): RMSNorm before each block, rotary positions, attention
// with groups of queries to a key, and a feed-forward block that the workload brings along.
//
//   pass=whole: all positions at once (training; prefill with mode=inference)
//   pass=decode: one more position of each item, mode=inference only
//
// Inference keeps keys and values of all `sequence` positions in a cache: state that lives on its device from
// step to step (persistent, no parameter), written in place. A decode step writes one position and attends to
// all. Everything is f32, where such models run in 16 bits, and scores are whole tensors, where frameworks
// run flash attention: assumptions that make memory larger.
#pragma once

#include <functional>
#include <string>

#include "scenarios/builder/workload_options.h"

namespace stowplan::scenarios {

struct DecoderSizes {
  std::int64_t batch = 0;
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // keys and values; heads / kv_heads queries share one
  std::int64_t feed_forward = 0;
  std::int64_t sequence = 0;
  std::int64_t vocabulary = 0;
  bool decode = false;

  std::int64_t new_positions() const { return decode ? 1 : sequence; }
  std::int64_t tokens() const { return batch * new_positions(); }
  std::int64_t head_width() const { return hidden / heads; }
};

// Reads layers, hidden, heads, kv_heads, feed_forward, sequence, vocabulary and pass. Throws InputError for widths that do not divide, an odd width of a head and a decode step in training.
DecoderSizes ReadDecoderSizes(const Settings& read, const ModelOptions& options);

// Normed tokens [T, n] -> what is added to them, [T, n]. Names are under the layer's scope.
using FeedForward = std::function<Tensor(Tensor x)>;
// A stage is a layer; the embedding goes with the first, the softmax with the last.
void BuildDecoder(GraphBuilder& b, const DecoderSizes& sizes, const FeedForward& feed_forward);

// [T, n] -> [T, n] through `width`: swish(x gate) * (x up), down. Three products without bias.
Tensor SwiGlu(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t width);

}  // namespace stowplan::scenarios
