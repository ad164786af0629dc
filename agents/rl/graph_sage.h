// A graph network that lets each unit see the strongest of its neighbours (Hamilton, Ying, Leskovec, NeurIPS
// 2017; this form as recalled of GDP, PAPERS 4): n(v) = max over neighbours u of sigmoid(W h(u) + b), 0
// without neighbours; h(v) = ReLU(V [h(v), n(v)] + c). Neighbours are those in either direction; the ReLU is
// an assumption.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/rl/layers.h"
#include "agents/rl/unit_graph.h"

namespace berth::agents::rl {

// The neighbours of each unit, side by side: those of v stand at [first[v], first[v + 1]).
struct NeighbourLists {
  explicit NeighbourLists(const UnitGraph& graph);

  std::vector<std::int64_t> first, units;
};

class GraphSage {
 public:
  GraphSage(std::int64_t input, std::int64_t width, int layers, at::ScalarType type, Rng& init);

  // [units, input] -> [units, width].
  at::Tensor Forward(const at::Tensor& features, const NeighbourLists& neighbours) const;

  const Tensors& parameters() const { return parameters_; }

 private:
  struct Layer {
    Mlp message, combine;
  };
  std::vector<Layer> layers_;
  Tensors parameters_;
};

// Row v: the largest of the rows of v's neighbours, column by column; zeros without neighbours. Of equal ones
// the first gets the gradient.
at::Tensor MaxOverNeighbours(const at::Tensor& rows, const NeighbourLists& neighbours);

}  // namespace berth::agents::rl
