// RNNLM: a word-level language model of stacked LSTM layers, unrolled (Jozefowicz et al. 2016; the sizes that
// the papers placed are assumptions, docs/protocol_rules.md#sizes). Checked: 108.1 / 175.2 / 309.5 M weights with
// 2 / 4 / 8 layers.
//
//   batch=64   layers=2   hidden=2048   steps=35   vocabulary=10000   optimizer=sgd
//   softmax=once: one product after the steps; per_step: one for each
//
// A stage is an LSTM layer: the embedding goes with the first, the softmax with the last.
#include "scenarios/builder/recurrent.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

struct RnnlmSizes {
  std::int64_t batch;
  int layers;
  std::int64_t hidden;
  std::int64_t steps;
  std::int64_t vocabulary;
  bool softmax_per_step;
};

Location AtLayer(int layer, const std::string& group) {
  return {layer, -1, group};
}

std::vector<Tensor> Embed(GraphBuilder& b, const RnnlmSizes& sizes) {
  b.SetLocation(AtLayer(0, "embedding"));
  return EmbedSteps(b, sizes.steps, sizes.batch, sizes.vocabulary, sizes.hidden);
}

// One layer after the other within a step, so that file order is the order of time.
std::vector<Tensor> Recur(GraphBuilder& b, const RnnlmSizes& sizes, std::vector<Tensor> x) {
  std::vector<LstmWeights> weights;
  std::vector<LstmState> state;
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    b.SetLocation(AtLayer(layer, name));
    const GraphBuilder::Scope scope(b, name);
    weights.push_back(LstmVariables(b, "cell", sizes.hidden, sizes.hidden));
    state.push_back(ZeroState(b, "zero_state", sizes.batch, sizes.hidden));
  }
  for (std::size_t step = 0; step < x.size(); ++step) {
    for (int layer = 0; layer < sizes.layers; ++layer) {
      const auto l = static_cast<std::size_t>(layer);
      const std::string name = "layer" + std::to_string(layer);
      b.SetLocation(AtLayer(layer, name));
      state[l] = LstmCell(b, name + "/step" + std::to_string(step), x[step], state[l], weights[l]);
      x[step] = state[l].h;
    }
  }
  return x;
}

void SoftmaxOnce(GraphBuilder& b, const RnnlmSizes& sizes, const std::vector<Tensor>& h) {
  const Tensor labels = b.Placeholder("labels", {sizes.steps * sizes.batch}, "i32");
  const Tensor stacked = Concat(b, "stack", h, 0);
  Predict(b, "loss", Dense(b, "softmax", stacked, sizes.vocabulary), labels);
}

void SoftmaxPerStep(GraphBuilder& b, const RnnlmSizes& sizes, const std::vector<Tensor>& h) {
  const Tensor all_labels = b.Placeholder("labels", {sizes.steps * sizes.batch}, "i32");
  const std::vector<Tensor> labels = Split(b, "unstack_labels", all_labels, 0, sizes.steps);
  const Tensor weights = b.Variable("softmax/weights", {sizes.hidden, sizes.vocabulary});
  const Tensor bias = b.Variable("softmax/bias", {sizes.vocabulary});
  for (std::size_t step = 0; step < h.size(); ++step) {
    const GraphBuilder::Scope scope(b, "softmax/step" + std::to_string(step));
    Predict(b, "loss", BiasAdd(b, "bias_add", MatMul(b, "matmul", h[step], weights), bias), labels[step]);
  }
}

}  // namespace

sim::OpGraph BuildRnnlm(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  RnnlmSizes sizes;
  sizes.batch = options.batch;
  sizes.layers = static_cast<int>(read.Int("layers"));
  sizes.hidden = read.Int("hidden");
  sizes.steps = read.Int("steps");
  sizes.vocabulary = read.Int("vocabulary");
  sizes.softmax_per_step = read.Is("softmax", "per_step");

  GraphBuilder builder(read.name(), options.builder);
  const std::vector<Tensor> h = Recur(builder, sizes, Embed(builder, sizes));
  builder.SetLocation(AtLayer(sizes.layers - 1, "softmax"));
  if (sizes.softmax_per_step) {
    SoftmaxPerStep(builder, sizes, h);
  } else {
    SoftmaxOnce(builder, sizes, h);
  }
  return builder.Finish(Describe(read, sizes.layers, "stage"));
}

}  // namespace stowplan::scenarios
