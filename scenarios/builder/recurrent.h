// Parts of recurrent models, unrolled: words by step, LSTM cells, additive attention.
#pragma once

#include <string>
#include <vector>

#include "scenarios/builder/layers.h"

namespace stowplan::scenarios {

// Adds the words of all steps as one placeholder, a table [vocabulary, units], one look-up, and cuts it up:
// [B, units] for each step.
std::vector<Tensor> EmbedSteps(GraphBuilder& b, std::int64_t steps, std::int64_t batch,
                               std::int64_t vocabulary, std::int64_t units);

// One LSTM layer's parameters, shared by all its steps: weights [inputs + n, 4n], bias [4n].
struct LstmWeights {
  Tensor weights;
  Tensor bias;
};
struct LstmState {
  Tensor c;
  Tensor h;
};
LstmWeights LstmVariables(GraphBuilder& b, const std::string& name, std::int64_t inputs, std::int64_t units);
// One step of [B, inputs]: 13 ops (concat, product, bias, split, 3 sigmoid, 2 tanh, 3 mul, add).
LstmState LstmCell(GraphBuilder& b, const std::string& name, Tensor x, const LstmState& state,
                   const LstmWeights& weights);
LstmState ZeroState(GraphBuilder& b, const std::string& name, std::int64_t batch, std::int64_t units);

// Additive attention (Bahdanau et al. 2015) of width n over what an encoder gave at each step.
class AdditiveAttention {
 public:
  // Adds the variables of query and score, [n, n] and [n].
  AdditiveAttention(GraphBuilder& b, std::int64_t units);
  // S outputs [B, n]: stacks them and adds the keys' weights and product. Call once, before Context.
  void Remember(const std::vector<Tensor>& memory);
  // [B, n] -> [B, n]: 7 ops (product, add, tanh, mul, sum, softmax, weighted sum).
  Tensor Context(Tensor query);

 private:
  GraphBuilder& b_;
  std::int64_t units_;
  Tensor query_weights_, score_weights_, memory_, keys_;
};

}  // namespace stowplan::scenarios
