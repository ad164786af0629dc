// Graph convolution (Kipf, Welling, 2017) as Deep Graph Infomax uses it (Veličković et al., 2019):
//   h' = PReLU(S h W + b),   S = D^-1/2 (A + I) D^-1/2
// where A is the graph without directions and D the row sums of A + I. Each layer has one PReLU slope, 0.25 at first.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/classical/unit_graph.h"
#include "agents/random_numbers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// S, sparse [units, units], rows and columns in graph.order(). `edges` = false: of a graph without any (an ablation).
at::Tensor NormalisedAdjacency(const UnitGraph& graph, bool edges, at::ScalarType type);

class GraphConvolution {
 public:
  GraphConvolution(std::int64_t input, std::int64_t width, int layers, at::ScalarType type, Rng& init);

  // [rows, input] -> [rows, width]; `adjacency` is S.
  at::Tensor Forward(const at::Tensor& rows, const at::Tensor& adjacency) const;

  std::int64_t width() const { return width_; }
  // W [in, width], b [width], slope [1], layer by layer.
  const Tensors& parameters() const { return parameters_; }

 private:
  std::int64_t width_;
  Tensors parameters_;
};

}  // namespace stowplan::agents::rl
