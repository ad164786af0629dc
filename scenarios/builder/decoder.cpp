#include "scenarios/builder/decoder.h"

#include "scenarios/builder/transformer.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

class Decoder {
 public:
  Decoder(GraphBuilder& builder, const DecoderSizes& sizes, const FeedForward& feed_forward)
      : b_(builder), sizes_(sizes), feed_forward_(feed_forward) {}

  void Build() {
    b_.SetLocation({0, -1, "embedding"});
    const Tensor words = b_.Placeholder("words", {sizes_.tokens()}, "i32");
    Tensor x =
        Gather(b_, "embedding", b_.Variable("embedding/weights", {sizes_.vocabulary, sizes_.hidden}), words);
    // Sine and cosine by position.
    angles_ = b_.Constant("angles", {2, sizes_.new_positions(), sizes_.head_width() / 2});
    // One new position may see all others.
    if (!sizes_.decode) mask_ = b_.Constant("mask", {sizes_.sequence, sizes_.sequence});
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      const std::string name = "layer" + std::to_string(layer);
      b_.SetLocation({layer, -1, name});
      const GraphBuilder::Scope scope(b_, name);
      x = Add(b_, "attention/add", x, Attention(RmsNorm(b_, "attention/norm", x)));
      x = Add(b_, "feed_forward/add", x, feed_forward_(RmsNorm(b_, "feed_forward/norm", x)));
    }
    b_.SetLocation({sizes_.layers - 1, -1, "softmax"});
    const Tensor labels = b_.Placeholder("softmax/labels", {sizes_.tokens()}, "i32");
    const Tensor logits = DenseWithoutBias(b_, "softmax", RmsNorm(b_, "softmax/norm", x), sizes_.vocabulary);
    Predict(b_, "softmax/loss", logits, labels);
  }

 private:
  // [B * S, n] -> [B, kv heads, queries to a key, S, d]
  Tensor Queries(Tensor x) {
    const Tensor rows = DenseWithoutBias(b_, "query", x, sizes_.hidden);
    const Shape split = {sizes_.batch, sizes_.new_positions(), sizes_.kv_heads,
                         sizes_.heads / sizes_.kv_heads, sizes_.head_width()};
    const Tensor heads = Reshape(b_, "query/heads", rows, split);
    return Transpose(b_, "query/transpose", heads, {0, 2, 3, 1, 4});
  }

  // [B * S, n] -> [B, kv heads, S, d]
  Tensor KeysOrValues(const std::string& name, Tensor x) {
    const Tensor rows = DenseWithoutBias(b_, name, x, sizes_.kv_heads * sizes_.head_width());
    return SplitHeads(b_, name, rows, sizes_.batch, sizes_.kv_heads);
  }

  Tensor Rotate(const std::string& name, Tensor x) {
    return b_.Append(
        {.type = "RotaryEmbedding", .name = name, .inputs = {x, angles_}, .outputs = {{b_.shape(x)}}});
  }

  // What the cache holds once `fresh` is in it: the cache itself, so readers see it only after the write.
  Tensor Cached(const std::string& name, Tensor fresh) {
    if (b_.training()) return fresh;
    Shape all = b_.shape(fresh);
    all[2] = sizes_.sequence;
    const Tensor cache = b_.State(name, all);
    return b_.Append({.type = "CacheWrite",
                      .name = name + "/write",
                      .inputs = {cache, fresh},
                      .outputs = {{all}},
                      .view_of = 0,
                      .colocate_with = 0});
  }

  Tensor Attention(Tensor x) {
    const GraphBuilder::Scope scope(b_, "attention");
    const Tensor query = Rotate("query/rotate", Queries(x));
    const Tensor key = Cached("key/cache", Rotate("key/rotate", KeysOrValues("key", x)));
    const Tensor value = Cached("value/cache", KeysOrValues("value", x));
    Shape result = b_.shape(query);
    Shape square = result;
    square.back() = sizes_.sequence;
    const Tensor scores =
        BatchMatMul(b_, "scores", query, key, "bgrsd,bgtd->bgrst", square, sizes_.head_width());
    const Tensor shares = Probabilities(b_, scores, mask_, false);
    const Tensor found =
        BatchMatMul(b_, "found", shares, value, "bgrst,bgtd->bgrsd", result, sizes_.sequence);
    const Tensor turned = Transpose(b_, "found/transpose", found, {0, 3, 1, 2, 4});
    return DenseWithoutBias(
        b_, "output", Reshape(b_, "found/merge", turned, {sizes_.tokens(), sizes_.hidden}), sizes_.hidden);
  }

  GraphBuilder& b_;
  const DecoderSizes& sizes_;
  const FeedForward& feed_forward_;
  Tensor angles_, mask_;
};

}  // namespace

DecoderSizes ReadDecoderSizes(const Settings& read, const ModelOptions& options) {
  DecoderSizes sizes;
  sizes.batch = options.batch;
  sizes.layers = static_cast<int>(read.Int("layers"));
  sizes.hidden = read.Int("hidden");
  sizes.heads = read.Int("heads");
  sizes.kv_heads = read.Int("kv_heads");
  sizes.feed_forward = read.Int("feed_forward");
  sizes.sequence = read.Int("sequence");
  sizes.vocabulary = read.Int("vocabulary");
  sizes.decode = read.Is("pass", "decode");
  CheckMultiple(read.name(), "hidden", sizes.hidden, "heads", sizes.heads);
  if (sizes.head_width() % 2 != 0) {
    throw InputError(
        read.name() + ": hidden=" + std::to_string(sizes.hidden) + ", heads=" + std::to_string(sizes.heads) +
        " makes heads of " + std::to_string(sizes.head_width()) +
        " numbers, which rotary positions cannot turn in pairs; write a hidden that is a multiple of "
        "2 x heads, for example hidden=" +
        std::to_string(sizes.hidden + sizes.heads));
  }
  CheckMultiple(read.name(), "heads", sizes.heads, "kv_heads", sizes.kv_heads);
  if (sizes.decode && options.builder.training) {
    throw InputError(read.name() + ": pass=decode is a step of inference; write mode=inference,pass=decode");
  }
  return sizes;
}

void BuildDecoder(GraphBuilder& b, const DecoderSizes& sizes, const FeedForward& feed_forward) {
  Decoder(b, sizes, feed_forward).Build();
}

Tensor SwiGlu(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t width) {
  const GraphBuilder::Scope scope(b, name);
  const std::int64_t n = b.shape(x).back();
  const Tensor gate = Swish(b, "swish", DenseWithoutBias(b, "gate", x, width));
  return DenseWithoutBias(b, "down", Mul(b, "mul", gate, DenseWithoutBias(b, "up", x, width)), n);
}

}  // namespace stowplan::scenarios
