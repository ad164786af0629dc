// Transformer-XL: a language model whose layers attend to the last segment as well (Dai et al. 2019, as in
// kimiyoung/transformer-xl: base model of WikiText-103, with a full softmax in place of the adaptive one). What
// was placed is an assumption (docs/protocol_rules.md#sizes). Checked: 115.2 / 120.3 / 130.6 / 151.1 M weights with
// 2 / 4 / 8 / 16 layers; the last is the published number.
//
//   batch=15   layers=2   hidden=410   heads=10   feed_forward=2100   segment=150: positions of a step
//   memory=150: of the last ones   vocabulary=267735   optimizer=adam
//
// The memory of each layer, what it read in the segments before, is fed in and the new one is cut out of what the
// layer reads: segments recur without gradient. Positions are relative; each layer has its own two biases.
//
// A stage is a layer. Table and softmax share their weights, so the look-up goes with the softmax to the last
// layer: on the way to the first one rows move, not the table.
#include "scenarios/builder/transformer.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

struct TransformerXlSizes {
  std::int64_t batch;
  int layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t feed_forward;
  std::int64_t segment;
  std::int64_t memory;
  std::int64_t vocabulary;
  std::int64_t seen() const { return memory + segment; }
  std::int64_t head_width() const { return hidden / heads; }
};

class TransformerXl {
 public:
  TransformerXl(GraphBuilder& builder, const TransformerXlSizes& sizes) : b_(builder), sizes_(sizes) {}

  // Time first, as the published code has it: [S, B, n].
  void Build() {
    b_.SetLocation({sizes_.layers - 1, -1, "softmax"});
    table_ = b_.Variable("embedding/weights", {sizes_.vocabulary, sizes_.hidden});
    const Tensor words = b_.Placeholder("words", {sizes_.segment, sizes_.batch}, "i32");
    Tensor x = Dropout(b_, "embedding/dropout",
                       Scale(b_, "embedding/scale", Gather(b_, "embedding", table_, words)));
    b_.SetLocation({0, -1, "positions"});
    positions_ = Dropout(b_, "positions/dropout", b_.Constant("positions", {sizes_.seen(), sizes_.hidden}));
    mask_ = b_.Constant("mask", {sizes_.segment, sizes_.seen()});
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      const std::string name = "layer" + std::to_string(layer);
      b_.SetLocation({layer, -1, name});
      const GraphBuilder::Scope scope(b_, name);
      x = FeedForward(Attention(x));
    }
    b_.SetLocation({sizes_.layers - 1, -1, "softmax"});
    PredictWords(x);
  }

 private:
  Tensor Residual(Tensor x, Tensor added) {
    return LayerNorm(b_, "norm", Add(b_, "add", x, Dropout(b_, "output_dropout", added)));
  }

  // [.., B, n] -> [.., B, heads, n / heads]
  Tensor Heads(const std::string& name, Tensor x) {
    Shape shape = b_.shape(x);
    shape.back() = sizes_.heads;
    shape.push_back(sizes_.head_width());
    return Reshape(b_, name + "/heads", x, shape);
  }

  // [T, B, heads, d] -> [B, heads, T, d]
  Tensor HeadsFirst(const std::string& name, Tensor x) {
    return Transpose(b_, name + "/transpose", x, {1, 2, 0, 3});
  }

  // The query with one of the layer's two biases.
  Tensor Query(const std::string& name, Tensor query) {
    const Tensor bias = b_.Variable(name + "/bias", {sizes_.heads, sizes_.head_width()});
    return HeadsFirst(name, Add(b_, name, query, bias));
  }

  // Column j of row i becomes column j - (S - 1 - i): distances become positions.
  Tensor ShiftRelative(Tensor x) {
    const GraphBuilder::Scope scope(b_, "shift");
    const Shape shape = b_.shape(x);
    const std::int64_t s = shape[2], t = shape[3];
    const Tensor padded = Pad(b_, "pad", x, {shape[0], shape[1], s, t + 1});
    const Tensor turned = Reshape(b_, "turn", padded, {shape[0], shape[1], t + 1, s});
    return Reshape(b_, "back", Slice(b_, "slice", turned, {shape[0], shape[1], t, s}), shape);
  }

  Tensor Attention(Tensor x) {
    const GraphBuilder::Scope scope(b_, "attention");
    const std::int64_t n = sizes_.hidden, d = sizes_.head_width();
    const Shape of_segment = {sizes_.segment, sizes_.batch, n};
    const Shape of_memory = {sizes_.memory, sizes_.batch, n};
    const Tensor seen = Concat(b_, "seen", {b_.Placeholder("memory", of_memory), x}, 0);
    Slice(b_, "new_memory", seen, of_memory);
    const std::vector<Tensor> parts =
        Split(b_, "split", DenseWithoutBias(b_, "query_key_value", seen, 3 * n), 2, 3);
    const Tensor query = Heads("query", Slice(b_, "query", parts[0], of_segment));
    const Tensor key = HeadsFirst("key", Heads("key", parts[1]));
    const Tensor value = HeadsFirst("value", Heads("value", parts[2]));
    const Tensor distance =
        Transpose(b_, "distance/transpose",
                  Heads("distance", DenseWithoutBias(b_, "distance", positions_, n)), {1, 0, 2});

    const Shape square = {sizes_.batch, sizes_.heads, sizes_.segment, sizes_.seen()};
    const Tensor by_content =
        BatchMatMul(b_, "by_content", Query("content_query", query), key, "bnid,bnjd->bnij", square, d);
    const Tensor by_distance =
        BatchMatMul(b_, "by_distance", Query("distance_query", query), distance, "bnid,njd->bnij", square, d);
    const Tensor scores = Add(b_, "scores", by_content, ShiftRelative(by_distance));
    const Shape result = {sizes_.batch, sizes_.heads, sizes_.segment, d};
    const Tensor found = BatchMatMul(b_, "found", Probabilities(b_, scores, mask_, true), value,
                                     "bnij,bnjd->bnid", result, sizes_.seen());
    const Tensor merged =
        Reshape(b_, "found/merge", Transpose(b_, "found/transpose", found, {2, 0, 1, 3}), of_segment);
    return Residual(x, DenseWithoutBias(b_, "output", merged, n));
  }

  Tensor FeedForward(Tensor x) {
    const GraphBuilder::Scope scope(b_, "feed_forward");
    const Tensor wide = Dropout(b_, "dropout", Relu(b_, "relu", Dense(b_, "wide", x, sizes_.feed_forward)));
    return Residual(x, Dense(b_, "narrow", wide, sizes_.hidden));
  }

  void PredictWords(Tensor x) {
    const GraphBuilder::Scope scope(b_, "softmax");
    const std::int64_t tokens = sizes_.segment * sizes_.batch;
    const Tensor rows = Reshape(b_, "rows", Dropout(b_, "dropout", x), {tokens, sizes_.hidden});
    const Tensor bias = b_.Variable("bias", {sizes_.vocabulary});
    const Tensor logits = BiasAdd(b_, "bias_add", MatMulTransposed(b_, "matmul", rows, table_), bias);
    Predict(b_, "loss", logits, b_.Placeholder("labels", {tokens}, "i32"));
  }

  GraphBuilder& b_;
  TransformerXlSizes sizes_;
  Tensor table_, positions_, mask_;
};

}  // namespace

sim::OpGraph BuildTransformerXl(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  TransformerXlSizes sizes;
  sizes.batch = options.batch;
  sizes.layers = static_cast<int>(read.Int("layers"));
  sizes.hidden = read.Int("hidden");
  sizes.heads = read.Int("heads");
  sizes.feed_forward = read.Int("feed_forward");
  sizes.segment = read.Int("segment");
  sizes.memory = read.Int("memory");
  sizes.vocabulary = read.Int("vocabulary");
  CheckMultiple(read.name(), "hidden", sizes.hidden, "heads", sizes.heads);

  GraphBuilder builder(read.name(), options.builder);
  TransformerXl(builder, sizes).Build();
  return builder.Finish(Describe(read, sizes.layers, "stage"));
}

}  // namespace stowplan::scenarios
