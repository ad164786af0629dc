// BERT-Base: a transformer encoder with a head for fine-tuning (Devlin et al. 2018, as in google-research/bert).
//
//   batch=24   layers=12   hidden=768   heads=12   sequence=384: at most 512   vocabulary=30522   optimizer=adam
//   head=squad: start and end of an answer; classifier: the pooled first token, 2 classes
//   gelu=elementary: five ops, as TensorFlow ran it; one_op
//
// The feed-forward part is 4 x hidden wide. Checked: encoder and pooler have the published 109,482,240 weights;
// the head of either kind adds 1,538. For SQuAD nothing reads the pooler (590,592 weights) and TensorFlow does
// not run it, so it is left out. Dropout keeps masks of numbers. Left out: weight decay and clipping by the
// global norm.
//
// Mars' row is the default (assumed). A stage is a layer; the embeddings go with the first, the head with the
// last.
#include "scenarios/builder/transformer.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

constexpr std::int64_t kPositions = 512;
constexpr std::int64_t kSegments = 2;
constexpr std::int64_t kClasses = 2;

struct BertSizes {
  std::int64_t batch;
  int layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t sequence;
  std::int64_t vocabulary;
  bool gelu_in_one_op;
};

class Bert {
 public:
  Bert(GraphBuilder& builder, const BertSizes& sizes) : b_(builder), sizes_(sizes) {}

  // [B * S, n]
  Tensor Encode() {
    Tensor x = Embed();
    const Tensor mask = b_.Placeholder("mask", {sizes_.batch, 1, 1, sizes_.sequence});
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      const std::string name = "layer" + std::to_string(layer);
      b_.SetLocation({layer, -1, name});
      const GraphBuilder::Scope scope(b_, name);
      x = FeedForward(Attention(x, mask));
    }
    return x;
  }

  void FindAnswer(Tensor x) {
    const GraphBuilder::Scope scope(b_, "squad");
    const std::vector<Tensor> logits = Split(b_, "unstack", Dense(b_, "logits", x, 2), 1, 2);
    PredictPosition("start", logits[0]);
    PredictPosition("end", logits[1]);
  }

  void Classify(Tensor x) {
    const GraphBuilder::Scope scope(b_, "classifier");
    const std::int64_t batch = sizes_.batch, n = sizes_.hidden;
    const Tensor first =
        Slice(b_, "first", Reshape(b_, "items", x, {batch, sizes_.sequence, n}), {batch, 1, n});
    const Tensor pooled = Tanh(b_, "tanh", Dense(b_, "pooler", Reshape(b_, "squeeze", first, {batch, n}), n));
    const Tensor logits = Dense(b_, "logits", Dropout(b_, "dropout", pooled), kClasses);
    Predict(b_, "loss", logits, b_.Placeholder("labels", {batch}, "i32"));
  }

 private:
  Tensor Embed() {
    b_.SetLocation({0, -1, "embeddings"});
    const GraphBuilder::Scope scope(b_, "embeddings");
    const std::int64_t n = sizes_.hidden;
    const Tensor words = LookUp("words", sizes_.vocabulary);
    const Tensor segments = LookUp("segments", kSegments);
    const Tensor positions =
        Slice(b_, "positions", b_.Variable("positions/weights", {kPositions, n}), {sizes_.sequence, n});
    const Tensor sum = Add(b_, "add_positions", Add(b_, "add_segments", words, segments), positions);
    const Tensor x = Dropout(b_, "dropout", LayerNorm(b_, "norm", sum));
    return Reshape(b_, "rows", x, {sizes_.batch * sizes_.sequence, n});
  }

  Tensor LookUp(const std::string& name, std::int64_t rows) {
    const Tensor ids = b_.Placeholder(name + "/ids", {sizes_.batch, sizes_.sequence}, "i32");
    return Gather(b_, name, b_.Variable(name + "/weights", {rows, sizes_.hidden}), ids);
  }

  // What a block adds to its input, then the norm.
  Tensor Residual(Tensor x, Tensor added) {
    return LayerNorm(b_, "norm", Add(b_, "add", Dropout(b_, "output_dropout", added), x));
  }

  Tensor Heads(const std::string& name, Tensor x) {
    return SplitHeads(b_, name, Dense(b_, name, x, sizes_.hidden), sizes_.batch, sizes_.heads);
  }

  Tensor Attention(Tensor x, Tensor mask) {
    const GraphBuilder::Scope scope(b_, "attention");
    const Tensor query = Heads("query", x);
    const Tensor key = Heads("key", x);
    const Tensor value = Heads("value", x);
    const std::int64_t width = sizes_.hidden / sizes_.heads;
    const Shape square = {sizes_.batch, sizes_.heads, sizes_.sequence, sizes_.sequence};
    const Tensor scores = BatchMatMul(b_, "scores", query, key, "bhsd,bhtd->bhst", square, width);
    const Tensor shares = Probabilities(b_, scores, mask, true);
    const Shape result = b_.shape(query);
    const Tensor found = BatchMatMul(b_, "found", shares, value, "bhst,bhtd->bhsd", result, sizes_.sequence);
    return Residual(x, Dense(b_, "output", MergeHeads(b_, "found", found), sizes_.hidden));
  }

  Tensor FeedForward(Tensor x) {
    const GraphBuilder::Scope scope(b_, "feed_forward");
    const Tensor wide = Gelu(b_, "gelu", Dense(b_, "wide", x, 4 * sizes_.hidden), sizes_.gelu_in_one_op);
    return Residual(x, Dense(b_, "narrow", wide, sizes_.hidden));
  }

  // [B * S, 1]: which of the S?
  void PredictPosition(const std::string& name, Tensor logits) {
    const GraphBuilder::Scope scope(b_, name);
    const Tensor labels = b_.Placeholder("labels", {sizes_.batch}, "i32");
    const Tensor by_item = Reshape(b_, "logits", logits, {sizes_.batch, sizes_.sequence});
    Predict(b_, "loss", by_item, labels);
  }

  GraphBuilder& b_;
  BertSizes sizes_;
};

}  // namespace

sim::OpGraph BuildBert(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  BertSizes sizes;
  sizes.batch = options.batch;
  sizes.layers = static_cast<int>(read.Int("layers"));
  sizes.hidden = read.Int("hidden");
  sizes.heads = read.Int("heads");
  sizes.sequence = read.Int("sequence");
  sizes.vocabulary = read.Int("vocabulary");
  const bool squad = read.Is("head", "squad");
  sizes.gelu_in_one_op = read.Is("gelu", "one_op");
  CheckMultiple(read.name(), "hidden", sizes.hidden, "heads", sizes.heads);

  GraphBuilder builder(read.name(), options.builder);
  Bert bert(builder, sizes);
  const Tensor encoded = bert.Encode();
  builder.SetLocation({sizes.layers - 1, -1, "head"});
  if (squad) {
    bert.FindAnswer(encoded);
  } else {
    bert.Classify(encoded);
  }
  return builder.Finish(Describe(read, sizes.layers, "stage"));
}

}  // namespace stowplan::scenarios
