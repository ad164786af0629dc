// NMT: an attentional encoder-decoder of stacked LSTM layers, unrolled (additive attention of Bahdanau et al.
// 2015; the sizes that the papers placed are assumptions that satisfy every published memory verdict:
// docs/protocol_rules.md#sizes). Checked: 160.7 / 194.3 / 261.4 M weights with 2 / 4 / 8 layers.
//
//   batch=64   layers=2: of the encoder and of the decoder each   hidden=1024   steps=40: of both sides
//   vocabulary=40000: of both sides   optimizer=adam
//
// The query is the top decoder layer's output; tanh of a projection of output and context goes to a softmax
// per step. Placeto's rows: batch=256,gradients=colocated. A stage is a layer, of encoder and decoder alike;
// the embeddings go with the first, attention and softmax with the last.
//
// nmt_family: 32 of them with 10, 15, ... 50 steps and batches of 32, 64, 128 or 256, and the sizes of Placeto's set
// as recalled: 2 layers, hidden=512, vocabulary=30000. index=0 to 31 sets the defaults of steps and
// batch; attribute `half`: families.h.
#include <optional>
#include <utility>

#include "scenarios/builder/recurrent.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/families.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

struct NmtSizes {
  std::int64_t batch;
  int layers;
  std::int64_t hidden;
  std::int64_t steps;
  std::int64_t vocabulary;
};

class Translator {
 public:
  Translator(GraphBuilder& builder, const NmtSizes& sizes) : b_(builder), sizes_(sizes) {}

  void Build() {
    const std::vector<Tensor> source = Embed("encoder");
    std::vector<LstmWeights> encoder = Variables("encoder");
    std::vector<LstmState> state = FirstState();
    std::vector<Tensor> memory;
    for (std::size_t step = 0; step < source.size(); ++step) {
      memory.push_back(Step("encoder", step, source[step], state, encoder));
    }
    const std::vector<Tensor> target = Embed("decoder");
    const std::vector<LstmWeights> decoder = Variables("decoder");
    PrepareAttention(memory);
    PrepareSoftmax();
    for (std::size_t step = 0; step < target.size(); ++step) {
      const Tensor query = Step("decoder", step, target[step], state, decoder);
      PredictWord(step, Attend(step, query));
    }
  }

 private:
  void At(int layer, const std::string& group) { b_.SetLocation({layer, -1, group}); }
  int top() const { return sizes_.layers - 1; }

  std::vector<Tensor> Embed(const std::string& side) {
    At(0, side + "_embedding");
    const GraphBuilder::Scope scope(b_, side);
    return EmbedSteps(b_, sizes_.steps, sizes_.batch, sizes_.vocabulary, sizes_.hidden);
  }

  std::string LayerName(const std::string& side, int layer) const {
    return side + "/layer" + std::to_string(layer);
  }

  std::vector<LstmWeights> Variables(const std::string& side) {
    std::vector<LstmWeights> weights;
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      At(layer, side + "_layer" + std::to_string(layer));
      weights.push_back(LstmVariables(b_, LayerName(side, layer) + "/cell", sizes_.hidden, sizes_.hidden));
    }
    return weights;
  }

  // The encoder starts from nothing, the decoder from the encoder's last state, layer by layer.
  std::vector<LstmState> FirstState() {
    std::vector<LstmState> state;
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      At(layer, "encoder_layer" + std::to_string(layer));
      state.push_back(
          ZeroState(b_, LayerName("encoder", layer) + "/zero_state", sizes_.batch, sizes_.hidden));
    }
    return state;
  }

  // All layers at one point of time; returns the top one's output.
  Tensor Step(const std::string& side, std::size_t step, Tensor x, std::vector<LstmState>& state,
              const std::vector<LstmWeights>& weights) {
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      const auto l = static_cast<std::size_t>(layer);
      At(layer, side + "_layer" + std::to_string(layer));
      state[l] =
          LstmCell(b_, LayerName(side, layer) + "/step" + std::to_string(step), x, state[l], weights[l]);
      x = state[l].h;
    }
    return x;
  }

  void PrepareAttention(const std::vector<Tensor>& memory) {
    At(top(), "attention");
    const GraphBuilder::Scope scope(b_, "attention");
    attention_.emplace(b_, sizes_.hidden);
    output_weights_ = b_.Variable("output/weights", {2 * sizes_.hidden, sizes_.hidden});
    attention_->Remember(memory);
  }

  // [B, n] -> [B, n]
  Tensor Attend(std::size_t step, Tensor query) {
    At(top(), "attention");
    const GraphBuilder::Scope scope(b_, "attention/step" + std::to_string(step));
    const Tensor joined = Concat(b_, "concat", {query, attention_->Context(query)}, 1);
    return Tanh(b_, "output", MatMul(b_, "project", joined, output_weights_));
  }

  void PrepareSoftmax() {
    At(top(), "softmax");
    const GraphBuilder::Scope scope(b_, "softmax");
    softmax_weights_ = b_.Variable("weights", {sizes_.hidden, sizes_.vocabulary});
    softmax_bias_ = b_.Variable("bias", {sizes_.vocabulary});
    const Tensor labels = b_.Placeholder("labels", {sizes_.steps * sizes_.batch}, "i32");
    labels_ = Split(b_, "unstack_labels", labels, 0, sizes_.steps);
  }

  void PredictWord(std::size_t step, Tensor x) {
    At(top(), "softmax");
    const GraphBuilder::Scope scope(b_, "softmax/step" + std::to_string(step));
    const Tensor logits = BiasAdd(b_, "bias_add", MatMul(b_, "matmul", x, softmax_weights_), softmax_bias_);
    Predict(b_, "loss", logits, labels_[step]);
  }

  GraphBuilder& b_;
  NmtSizes sizes_;
  std::optional<AdditiveAttention> attention_;
  Tensor output_weights_;
  Tensor softmax_weights_, softmax_bias_;
  std::vector<Tensor> labels_;
};

sim::OpGraph Build(const Settings& read, sim::Attributes attributes) {
  const ModelOptions options = ReadModelOptions(read);
  const NmtSizes sizes{.batch = options.batch,
                       .layers = static_cast<int>(read.Int("layers")),
                       .hidden = read.Int("hidden"),
                       .steps = read.Int("steps"),
                       .vocabulary = read.Int("vocabulary")};
  GraphBuilder builder(read.name(), options.builder);
  Translator(builder, sizes).Build();
  return builder.Finish(std::move(attributes));
}

struct Member {
  std::int64_t steps;
  std::int64_t batch;
};

// Every length with every batch, shuffled once for the family: members differ from one another.
Member DrawMember(int index) {
  std::vector<Member> all;
  for (std::int64_t steps = 10; steps <= 50; steps += 5) {
    for (const std::int64_t batch : {32, 64, 128, 256}) all.push_back({steps, batch});
  }
  Dice dice = DiceOf("nmt_family", kFamilySize);  // beside the members' own dice
  for (std::size_t i = all.size() - 1; i > 0; --i) {
    std::swap(all[i], all[static_cast<std::size_t>(dice.Roll(static_cast<std::int64_t>(i) + 1))]);
  }
  return all[static_cast<std::size_t>(index)];
}

}  // namespace

double NmtFamilySteps(double, double index, double) {
  return static_cast<double>(DrawMember(static_cast<int>(index)).steps);
}

double NmtFamilyBatch(double, double index, double) {
  return static_cast<double>(DrawMember(static_cast<int>(index)).batch);
}

sim::OpGraph BuildNmt(const Settings& read) {
  return Build(read, Describe(read, read.Int("layers"), "stage"));
}

sim::OpGraph BuildNmtFamily(const Settings& read) {
  sim::Attributes attributes = Describe(read, read.Int("layers"), "stage");
  const Half half = HalfOf(read.name(), static_cast<int>(read.Int("index")));
  AddAttribute(attributes, "half", std::string(ToString(half)));
  return Build(read, std::move(attributes));
}

}  // namespace stowplan::scenarios
