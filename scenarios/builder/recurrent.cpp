#include "scenarios/builder/recurrent.h"

namespace stowplan::scenarios {

std::vector<Tensor> EmbedSteps(GraphBuilder& b, std::int64_t steps, std::int64_t batch,
                               std::int64_t vocabulary, std::int64_t units) {
  const Tensor words = b.Placeholder("words", {steps * batch}, "i32");
  const Tensor table = b.Variable("embedding/weights", {vocabulary, units});
  return Split(b, "unstack", Gather(b, "embedding", table, words), 0, steps);
}

LstmWeights LstmVariables(GraphBuilder& b, const std::string& name, std::int64_t inputs, std::int64_t units) {
  const GraphBuilder::Scope scope(b, name);
  const Tensor weights = b.Variable("weights", {inputs + units, 4 * units});
  return {weights, b.Variable("bias", {4 * units})};
}

LstmState LstmCell(GraphBuilder& b, const std::string& name, Tensor x, const LstmState& state,
                   const LstmWeights& weights) {
  const GraphBuilder::Scope scope(b, name);
  const Tensor joined = Concat(b, "concat", {x, state.h}, 1);
  const Tensor product = MatMul(b, "matmul", joined, weights.weights, true);
  const std::vector<Tensor> gates = Split(b, "split", BiasAdd(b, "bias_add", product, weights.bias), 1, 4);
  const Tensor input = Sigmoid(b, "input_gate", gates[0]);
  const Tensor candidate = Tanh(b, "candidate", gates[1]);
  const Tensor forget = Sigmoid(b, "forget_gate", gates[2]);
  const Tensor output = Sigmoid(b, "output_gate", gates[3]);
  const Tensor kept = Mul(b, "keep", forget, state.c);
  const Tensor c = Add(b, "c", kept, Mul(b, "write", input, candidate));
  return {c, Mul(b, "h", output, Tanh(b, "tanh_c", c))};
}

LstmState ZeroState(GraphBuilder& b, const std::string& name, std::int64_t batch, std::int64_t units) {
  const Tensor zero = b.Constant(name, {batch, units});
  return {zero, zero};
}

AdditiveAttention::AdditiveAttention(GraphBuilder& b, std::int64_t units)
    : b_(b),
      units_(units),
      query_weights_(b.Variable("query/weights", {units, units})),
      score_weights_(b.Variable("score/weights", {units})) {}

void AdditiveAttention::Remember(const std::vector<Tensor>& memory) {
  memory_ = Pack(b_, "memory", memory, 1);  // [B, S, n]
  keys_ = MatMul(b_, "keys", memory_, b_.Variable("memory/weights", {units_, units_}));
}

Tensor AdditiveAttention::Context(Tensor query) {
  const Tensor asked = Tanh(b_, "tanh", Add(b_, "add", keys_, MatMul(b_, "query", query, query_weights_)));
  const Tensor scores = Sum(b_, "scores", Mul(b_, "mul", asked, score_weights_), 2);  // [B, S]
  const Tensor alignment = Softmax(b_, "alignment", scores);
  const Shape result = b_.shape(query);
  return BatchMatMul(b_, "context", alignment, memory_, "bs,bsn->bn", result, b_.shape(memory_)[1]);
}

}  // namespace stowplan::scenarios
