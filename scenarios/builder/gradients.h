// Backward rules, one per op type. A rule is asked once for a forward op whose outputs have gradients, in
// reverse order of the tape, and gives each differentiable input its gradient. To add a type, add a row to
// the table in gradients.cpp.
#pragma once

#include <optional>
#include <string>

#include "scenarios/builder/graph_builder.h"

namespace stowplan::scenarios {

// What a rule sees of one forward op and how it answers.
class GradientContext {
 public:
  GradientContext(GraphBuilder& builder, sim::OpIndex forward, std::vector<Tensor> output_gradients);

  const sim::Op& forward() const { return forward_; }
  Tensor input(int i) const { return forward_.inputs[static_cast<std::size_t>(i)]; }
  Tensor output(int i) const { return {index_, i}; }
  int inputs() const { return static_cast<int>(forward_.inputs.size()); }
  const Shape& shape(Tensor tensor) const { return builder_.shape(tensor); }
  TensorSpec spec(Tensor tensor) const { return {builder_.shape(tensor), builder_.dtype(tensor)}; }

  // Gradient of an output; empty if nothing that leads to a loss reads it.
  std::optional<Tensor> gradient(int output) const;
  Tensor dy();                   // of output 0; of a loss it is a constant one
  bool wanted(int input) const;  // a variable is upstream of it

  // Adds a backward op called "gradients/<forward>/<name>" with the forward op's attributes. Output 0.
  Tensor Emit(OpSpec spec);
  // One backward op with one output of the input's shape, given to that input if it is wanted.
  void EmitFor(int input, const std::string& type, const std::string& name, const std::vector<Tensor>& reads,
               double flops = 0);
  void Give(int input, Tensor gradient);

 private:
  GraphBuilder& builder_;
  sim::OpIndex index_;
  sim::Op forward_;                // a copy: the tape grows while rules run
  std::vector<Tensor> gradients_;  // by output; op = -1: none
};

using GradientRule = void (*)(GradientContext& context);

// Null if the type has none.
GradientRule FindGradientRule(const std::string& type);
// The gradient of a table that rows were gathered from is as many rows, not the table (sparse update).
inline constexpr const char* kSparseGradient = "GatherGrad";

}  // namespace stowplan::scenarios
