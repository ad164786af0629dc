// GraphSAGE (Hamilton, Ying, Leskovec, 2017) with max pooling, as GDP and its successors encode graphs. The
// form is recalled, not read (docs/protocol_rules.md#sgdp); the same one stands in a public program that follows
// them (Doppler):
//   n(v) = max over neighbours u of v of sigmoid(h(u) W + b)
//   h'(v) = [h(v), n(v) against the edges, n(v) along the edges] V + c
// Assumptions: the two directions have their own W and V, a node without neighbours gets 0, and ReLU stands
// between layers.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/classical/unit_graph.h"
#include "agents/random_numbers.h"
#include "agents/rl/nn/layers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// For each row those next to it: members[offsets[v]] up to, not including, members[offsets[v + 1]].
struct Neighbours {
  at::Tensor offsets;  // [rows + 1], integers
  at::Tensor members;
};

// Neighbours against and along the edges; rows are units in graph.order().
struct Neighbourhood {
  explicit Neighbourhood(const UnitGraph& graph);
  // `rows` that have no neighbours.
  static Neighbourhood Empty(std::int64_t rows);

  Neighbours sources, targets;

 private:
  Neighbourhood() = default;
};

// Row v of the result is the largest, number by number, of the rows of `values` [rows, width] next to v, and
// 0 where there is none. Differentiable; the gradient goes to the first of equals. Torch's scatter_reduce
// would store the rows of all edges and an index for each of their numbers.
at::Tensor NeighbourMax(const at::Tensor& values, const Neighbours& neighbours);

class GraphSage {
 public:
  GraphSage(std::int64_t input, std::int64_t width, int layers, at::ScalarType type, Rng& init);

  // [rows, input] -> [rows, width].
  at::Tensor Forward(const at::Tensor& rows, const Neighbourhood& graph) const;

  const Tensors& parameters() const { return parameters_; }

 private:
  struct Layer {
    Mlp messages;  // of both directions side by side
    Mlp combine;
  };
  std::int64_t width_;
  std::vector<Layer> layers_;
  Tensors parameters_;
};

}  // namespace stowplan::agents::rl
