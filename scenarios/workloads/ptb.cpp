// ptb: a family of 32 recurrent language models, drawn as ENAS draws cells for Penn Treebank (Pham et al., Efficient
// Neural Architecture Search via Parameter Sharing, 2018; rules as read in melodyguan/enas).
//
//   index=0 to 31   batch=20   nodes=12   hidden=720   steps=35   vocabulary=10000   optimizer=sgd
//
// A cell is a tree of nodes: each draws an earlier node evenly, and an activation among tanh, ReLU, identity and
// sigmoid. With s the state it reads (the first node: the last step's, with the word beside it) it gives
// s + t (h - s), h its activation and t a sigmoid of one product each. What no node reads is averaged: the state
// of the next step. Table and softmax share their weights; one product after the steps. The sizes are those
// with which ENAS searches. Left out: dropout, weight decay.
//
// A stage is a node; table and softmax go with the last. Attributes: `half` (families.h) and `cell`: node read and
// activation by node, the first node's activation alone.
#include <utility>

#include "scenarios/builder/layers.h"
#include "scenarios/builder/recurrent.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/families.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

enum class Activation : std::uint8_t { kTanh, kRelu, kIdentity, kSigmoid };
constexpr int kActivations = 4;

struct Node {
  int reads;  // an earlier node; -1: the last step's state
  Activation activation;
};
using PtbCell = std::vector<Node>;

PtbCell DrawCell(Dice& dice, std::int64_t nodes) {
  PtbCell cell;
  for (int i = 0; i < nodes; ++i) {
    const int reads = i == 0 ? -1 : static_cast<int>(dice.Roll(i));
    cell.push_back({reads, static_cast<Activation>(dice.Roll(kActivations))});
  }
  return cell;
}

std::string ToString(const PtbCell& cell) {
  std::string text;
  for (const Node& node : cell) {
    if (node.reads >= 0) text += ' ' + std::to_string(node.reads) + ' ';
    text += std::to_string(static_cast<int>(node.activation));
  }
  return text;
}

struct PtbSizes {
  std::int64_t batch;
  std::int64_t hidden;
  std::int64_t steps;
  std::int64_t vocabulary;
};

class LanguageModel {
 public:
  LanguageModel(GraphBuilder& builder, const PtbSizes& sizes, const PtbCell& cell)
      : b_(builder), sizes_(sizes), cell_(cell) {}

  void Build() {
    At(last(), "embedding");
    table_ = b_.Variable("embedding/weights", {sizes_.vocabulary, sizes_.hidden});
    const Tensor words = b_.Placeholder("words", {sizes_.steps * sizes_.batch}, "i32");
    const std::vector<Tensor> x =
        Split(b_, "unstack", Gather(b_, "embedding", table_, words), 0, sizes_.steps);
    for (std::size_t node = 0; node < cell_.size(); ++node) {
      At(node, Name(node));
      const std::int64_t inputs = (node == 0 ? 2 : 1) * sizes_.hidden;
      weights_.push_back(b_.Variable(Name(node) + "/weights", {inputs, 2 * sizes_.hidden}));
    }
    At(0, Name(0));
    Tensor state = b_.Constant("zero_state", {sizes_.batch, sizes_.hidden});
    std::vector<Tensor> states;
    for (std::size_t step = 0; step < x.size(); ++step) {
      const GraphBuilder::Scope scope(b_, "step" + std::to_string(step));
      state = Step(x[step], state);
      states.push_back(state);
    }
    PredictWords(states);
  }

 private:
  void At(std::size_t node, const std::string& group) { b_.SetLocation({static_cast<int>(node), -1, group}); }
  std::size_t last() const { return cell_.size() - 1; }
  static std::string Name(std::size_t node) { return "node" + std::to_string(node); }

  Tensor Activate(Activation activation, Tensor x) {
    switch (activation) {
      case Activation::kTanh:
        return Tanh(b_, "tanh", x);
      case Activation::kRelu:
        return Relu(b_, "relu", x);
      case Activation::kIdentity:
        return x;
      case Activation::kSigmoid:
        return Sigmoid(b_, "sigmoid", x);
    }
    return x;
  }

  Tensor Step(Tensor x, Tensor state) {
    std::vector<Tensor> nodes;
    std::vector<bool> read(cell_.size(), false);
    for (std::size_t i = 0; i < cell_.size(); ++i) {
      At(i, Name(i));
      const GraphBuilder::Scope scope(b_, Name(i));
      const auto from = static_cast<std::size_t>(cell_[i].reads);
      if (i > 0) read[from] = true;
      const Tensor s = i == 0 ? state : nodes[from];
      const Tensor input = i == 0 ? Concat(b_, "concat", {x, s}, 1) : s;
      const std::vector<Tensor> halves =
          Split(b_, "split", MatMul(b_, "matmul", input, weights_[i], true), 1, 2);
      const Tensor h = Activate(cell_[i].activation, halves[0]);
      const Tensor t = Sigmoid(b_, "gate", halves[1]);
      nodes.push_back(Add(b_, "state", s, Mul(b_, "mul", t, Sub(b_, "sub", h, s))));
    }
    return Average(nodes, read);
  }

  Tensor Average(const std::vector<Tensor>& nodes, const std::vector<bool>& read) {
    Tensor sum = nodes.back();  // nothing comes after it
    bool several = false;
    for (std::size_t i = 0; i < last(); ++i) {
      if (read[i]) continue;
      sum = Add(b_, "add" + std::to_string(i), sum, nodes[i]);
      several = true;
    }
    return several ? Scale(b_, "average", sum) : sum;
  }

  void PredictWords(const std::vector<Tensor>& states) {
    At(last(), "softmax");
    const GraphBuilder::Scope scope(b_, "softmax");
    const Tensor labels = b_.Placeholder("labels", {sizes_.steps * sizes_.batch}, "i32");
    const Tensor stacked = Concat(b_, "stack", states, 0);
    Predict(b_, "loss", MatMulTransposed(b_, "matmul", stacked, table_), labels);
  }

  GraphBuilder& b_;
  PtbSizes sizes_;
  const PtbCell& cell_;
  Tensor table_;
  std::vector<Tensor> weights_;  // by node
};

}  // namespace

sim::OpGraph BuildPtb(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const auto index = static_cast<int>(read.Int("index"));
  const std::int64_t nodes = read.Int("nodes");
  const PtbSizes sizes{.batch = options.batch,
                       .hidden = read.Int("hidden"),
                       .steps = read.Int("steps"),
                       .vocabulary = read.Int("vocabulary")};

  Dice dice = DiceOf(read.name(), index);
  const PtbCell cell = DrawCell(dice, nodes);
  GraphBuilder builder(read.name(), options.builder);
  LanguageModel(builder, sizes, cell).Build();
  sim::Attributes attributes = Describe(read, nodes, "stage");
  AddAttribute(attributes, "half", std::string(ToString(HalfOf(read.name(), index))));
  AddAttribute(attributes, "cell", ToString(cell));
  return builder.Finish(std::move(attributes));
}

}  // namespace stowplan::scenarios
