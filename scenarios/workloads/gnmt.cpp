// GNMT: translation with deep stacks of LSTM layers (Wu et al. 2016, as in tensorflow/nmt's gnmt_v2), unrolled.
// The sizes that the papers placed are assumptions (docs/protocol_rules.md#sizes). Checked: 154.9 / 196.9 / 280.8 M
// weights with 2 / 4 / 8 layers.
//
//   batch=64   layers=2: of the encoder and of the decoder each   hidden=1024   steps=40: of both sides
//   vocabulary=32000: of both sides   optimizer=sgd
//
// The first encoder layer runs in both directions. The query of the attention is the first decoder layer's
// output; what it finds is put beside the input of every decoder layer (of the first one at the next step).
// From the third layer on, in encoder and decoder, a layer's input is added to its output. One product with
// the vocabulary after the steps. Left out: dropout, the norm of the attention's weights, clipping.
//
// Mars' row: layers=4,batch=256,optimizer=adam. A stage is a layer, of encoder and decoder alike; embeddings
// and attention go with the first, the product with the vocabulary with the last (rule `modulo` of `expert`).
#include <algorithm>
#include <optional>

#include "scenarios/builder/recurrent.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

constexpr int kFirstResidualLayer = 2;

struct GnmtSizes {
  std::int64_t batch;
  int layers;
  std::int64_t hidden;
  std::int64_t steps;
  std::int64_t vocabulary;
};

class Gnmt {
 public:
  Gnmt(GraphBuilder& builder, const GnmtSizes& sizes) : b_(builder), sizes_(sizes) {}

  void Build() {
    Encode();
    Decode();
    PredictWords();
  }

 private:
  using Steps = std::vector<Tensor>;

  void At(int layer, const std::string& group) { b_.SetLocation({layer, -1, group}); }
  static std::string Name(const std::string& side, int layer) {
    return side + "/layer" + std::to_string(layer);
  }
  static std::string AtStep(const std::string& name, std::size_t step) {
    return name + "/step" + std::to_string(step);
  }
  LstmState Zero(const std::string& name) {
    return ZeroState(b_, name + "/zero_state", sizes_.batch, sizes_.hidden);
  }

  Steps Embed(const std::string& side) {
    At(0, side + "_embedding");
    const GraphBuilder::Scope scope(b_, side);
    return EmbedSteps(b_, sizes_.steps, sizes_.batch, sizes_.vocabulary, sizes_.hidden);
  }

  // Leaves the last state of each layer for the decoder, and the top layer's outputs to attend to.
  void Encode() {
    memory_ = BothDirections(Embed("encoder"));
    std::vector<LstmWeights> weights = {{}};
    for (int layer = 1; layer < sizes_.layers; ++layer) {
      At(layer, "encoder_layer" + std::to_string(layer));
      const std::string name = Name("encoder", layer);
      const std::int64_t inputs = (layer == 1 ? 2 : 1) * sizes_.hidden;
      weights.push_back(LstmVariables(b_, name + "/cell", inputs, sizes_.hidden));
      state_.push_back(Zero(name));
    }
    for (std::size_t step = 0; step < memory_.size(); ++step) {
      for (int layer = 1; layer < sizes_.layers; ++layer) {
        At(layer, "encoder_layer" + std::to_string(layer));
        memory_[step] = Layer("encoder", layer, step, memory_[step], memory_[step], weights);
      }
    }
  }

  // T x [B, n] -> T x [B, 2n]. The state handed on is that of the backward direction.
  Steps BothDirections(const Steps& x) {
    At(0, "encoder_layer0");
    const Steps forward = OneDirection("encoder/layer0/forward", x).first;
    auto [backward, state] = OneDirection("encoder/layer0/backward", {x.rbegin(), x.rend()});
    std::reverse(backward.begin(), backward.end());
    state_ = {state};
    Steps both;
    for (std::size_t step = 0; step < x.size(); ++step) {
      both.push_back(
          Concat(b_, AtStep("encoder/layer0", step) + "/both", {forward[step], backward[step]}, 1));
    }
    return both;
  }

  // In the order given; the last state as well.
  std::pair<Steps, LstmState> OneDirection(const std::string& name, const Steps& x) {
    const LstmWeights weights = LstmVariables(b_, name + "/cell", sizes_.hidden, sizes_.hidden);
    LstmState state = Zero(name);
    Steps h;
    for (std::size_t step = 0; step < x.size(); ++step) {
      state = LstmCell(b_, AtStep(name, step), x[step], state, weights);
      h.push_back(state.h);
    }
    return {h, state};
  }

  // One step of one layer. `x`: what the cell reads; `residual`: what is added to its output, in the upper
  // layers.
  Tensor Layer(const std::string& side, int layer, std::size_t step, Tensor x, Tensor residual,
               const std::vector<LstmWeights>& weights) {
    const auto l = static_cast<std::size_t>(layer);
    const std::string name = AtStep(Name(side, layer), step);
    state_[l] = LstmCell(b_, name, x, state_[l], weights[l]);
    if (layer < kFirstResidualLayer) return state_[l].h;
    return Add(b_, name + "/residual", residual, state_[l].h);
  }

  void Decode() {
    const Steps target = Embed("decoder");
    std::vector<LstmWeights> weights;
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      At(layer, "decoder_layer" + std::to_string(layer));
      weights.push_back(
          LstmVariables(b_, Name("decoder", layer) + "/cell", 2 * sizes_.hidden, sizes_.hidden));
    }
    At(0, "attention");
    Tensor found = b_.Constant("attention/zero", {sizes_.batch, sizes_.hidden});
    std::optional<AdditiveAttention> attention;
    {
      const GraphBuilder::Scope scope(b_, "attention");
      attention.emplace(b_, sizes_.hidden);
      attention->Remember(memory_);
    }
    for (std::size_t step = 0; step < target.size(); ++step) {
      Tensor x = target[step];
      for (int layer = 0; layer < sizes_.layers; ++layer) {
        At(layer, "decoder_layer" + std::to_string(layer));
        const std::string name = AtStep(Name("decoder", layer), step);
        x = Layer("decoder", layer, step, Concat(b_, name + "/input", {x, found}, 1), x, weights);
        if (layer > 0) continue;
        At(0, "attention");
        const GraphBuilder::Scope scope(b_, AtStep("attention", step));
        found = attention->Context(x);
      }
      outputs_.push_back(x);
    }
  }

  void PredictWords() {
    At(sizes_.layers - 1, "softmax");
    const GraphBuilder::Scope scope(b_, "softmax");
    const Tensor labels = b_.Placeholder("labels", {sizes_.steps * sizes_.batch}, "i32");
    const Tensor weights = b_.Variable("weights", {sizes_.hidden, sizes_.vocabulary});
    const Tensor stacked = Concat(b_, "stack", outputs_, 0);
    Predict(b_, "loss", MatMul(b_, "matmul", stacked, weights), labels);
  }

  GraphBuilder& b_;
  GnmtSizes sizes_;
  std::vector<LstmState> state_;  // by layer
  Steps memory_;                  // of the encoder
  Steps outputs_;                 // of the decoder
};

}  // namespace

sim::OpGraph BuildGnmt(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  GnmtSizes sizes;
  sizes.batch = options.batch;
  sizes.layers = static_cast<int>(read.Int("layers"));
  sizes.hidden = read.Int("hidden");
  sizes.steps = read.Int("steps");
  sizes.vocabulary = read.Int("vocabulary");

  GraphBuilder builder(read.name(), options.builder);
  Gnmt(builder, sizes).Build();
  return builder.Finish(Describe(read, sizes.layers, "stage"));
}

}  // namespace stowplan::scenarios
