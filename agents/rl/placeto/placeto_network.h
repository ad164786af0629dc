// The policy network of Placeto: message passing in both directions, three pooled summaries around the unit
// in turn, and a classifier over devices. Facts of the published program (read in its source); d =
// features of a unit:
//   - unit transform: layers d-d-d-d;
//   - two message passes, one along and one against the edges, each with its own f and g (layers d-d-d, ReLU
//   after the
//     last): x(v) = e(v) + [v has neighbours] g(sum over neighbours u of f(x(u))), `rounds` times with the
//     same weights, sums not normalised; the embedding of a unit is both results, 2d;
//   - summaries of all ancestors, all descendants and all units with no path either way: g(sum of f) with f
//   and g of
//     layers 2d-2d-2d, ReLU after the last; an empty set gives g(0), as in the published program;
//   - classifier 8d-16d-8d-D on the three summaries and the unit's own embedding.
// 15,962 parameters for two devices, 26,338 for four, without the memory feature.
//
// Plain sums grow with the number of neighbours to the power of the rounds: on groups of real networks a fresh
// policy is already sure (probability 1 in float) and has no gradient by which it could change. `mean` divides
// each sum by the number of its terms; the parameters are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agents/classical/unit_graph.h"
#include "agents/rl/nn/layers.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

// A graph in the form in which the network uses it. Immutable; keeps a reference to `graph`.
struct PlacetoGraph {
  // graph_used = false hides the edges from the network (an ablation): no messages, and all other units are
  // parallel.
  PlacetoGraph(const UnitGraph& graph, bool graph_used, at::ScalarType type);

  const UnitGraph& units;
  // [2N, 2N], block-diagonal: row v of the first block has ones at the predecessors of v, of the second block
  // at its successors.
  at::Tensor neighbours;
  at::Tensor neighbour_counts;  // [2N, 1], at least 1
  at::Tensor has_neighbours;    // [2, N, 1, 1] of 0 and 1
  at::Tensor pools;             // [3, N, N]: row v has ones at its ancestors, descendants, parallel units
  at::Tensor pool_counts;       // [3, N, 1], at least 1
};

class PlacetoNetwork {
 public:
  struct Sizes {
    std::int64_t features = 0;
    std::int64_t devices = 0;
    int rounds = 8;
    bool mean = false;                // means in place of sums
    double reach = 0;                 // logits are at most this far from 0, by a tanh; 0 = without
    std::int64_t offers = 0;          // numbers that a device offers a unit; 0 = none
    std::vector<float> follows = {};  // what each of them counts at first; empty = nothing
  };
  PlacetoNetwork(const Sizes& sizes, at::ScalarType type, Rng& init);

  // What the network says of the units in turn, m of each state.
  struct Preferences {
    at::Tensor logits;   // [states * m, D], of the network alone
    at::Tensor weights;  // [states * m, offers], what each offered number counts; undefined where none is
    at::Tensor stay;     // [states * m, D], for the device on which a unit is; undefined = 0
    double reach = 0;
    // Of unit i of the m in turn alone, a row for each state.
    Preferences OfUnit(std::int64_t i, std::int64_t m) const;
    // All together, [rows, D]; what was `offered` is [rows, D, offers].
    at::Tensor With(const at::Tensor& offered = {}) const;
  };
  // `features` [N, states, d]; `current` [states * m]; `stay` is added for the device on which a unit is.
  // Differentiable unless gradients are switched off. Several threads may call it.
  Preferences Read(const PlacetoGraph& graph, const at::Tensor& features, std::span<const UnitIndex> current,
                   double stay = 0) const;

  const Tensors& parameters() const { return parameters_; }
  const Sizes& sizes() const { return sizes_; }

 private:
  // g(sum f): the pair of networks that gathers a set of vectors into one.
  struct Aggregator {
    Mlp f, g;
    at::Tensor Transform(const at::Tensor& vectors) const;
    at::Tensor Combine(const at::Tensor& sums) const;
  };

  at::Tensor Embed(const PlacetoGraph& graph, const at::Tensor& features) const;
  at::Tensor Summaries(const PlacetoGraph& graph, const at::Tensor& embeddings,
                       const at::Tensor& units) const;

  Sizes sizes_;
  Mlp transform_;
  Aggregator messages_;   // two copies: along the edges, against the edges
  Aggregator summaries_;  // three copies: ancestors, descendants, parallel units
  Mlp classifier_;
  Tensors readers_;  // of offers: [8d, offers], [offers]
  Tensors parameters_;
};

}  // namespace stowplan::agents::rl
