// Deep Graph Infomax (Veličković et al., 2019): an encoder learns, without any reward, to tell the nodes of a graph
// from those of the same graph with shuffled features. The summary of a graph is the sigmoid of the mean over its
// encoded nodes, a node's score is h M summary + b, the loss the cross-entropy of real against shuffled. As in the
// authors' program: Adam at 1e-3, an end after `patience` iterations without a smaller loss, the weights of the
// smallest loss are kept.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "agents/random_numbers.h"
#include "agents/rl/nn/byte_state.h"
#include "agents/rl/nn/graph_convolution.h"
#include "agents/rl/nn/optimiser.h"

namespace stowplan::agents::rl {

class GraphInfomax {
 public:
  struct Options {
    int iterations = 1000;  // at most
    int patience = 20;
    double learning_rate = 1e-3;
  };
  struct Graph {
    at::Tensor rows;       // [nodes, features]
    at::Tensor adjacency;  // NormalisedAdjacency
  };

  // `encoder` and `graphs` must outlive it; the encoder's weights are those that learn. Shuffles go on from `rng`.
  GraphInfomax(const Options& options, const GraphConvolution& encoder, const std::vector<Graph>& graphs,
               Rng rng);

  // One iteration over all graphs; gives its loss, the mean over the graphs. At the end the encoder has the weights
  // of the smallest one; nothing is left to do then.
  std::optional<double> Step();
  bool done() const { return done_; }

  // The part of the nodes, real and shuffled by `rng`, whose score has the right sign.
  double Accuracy(const Graph& graph, Rng& rng) const;

  // All that the next step depends on but the encoder's weights.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  struct Scores {
    at::Tensor real, shuffled;  // [nodes]
  };
  Scores ScoresOf(const Graph& graph, Rng& rng) const;
  at::Tensor Loss();

  const Options options_;
  const GraphConvolution& encoder_;
  const std::vector<Graph>& graphs_;
  Rng rng_;
  at::Tensor bilinear_, bias_;  // M [width, width], b [1]
  Tensors parameters_;          // the encoder's and these
  Optimiser optimiser_;
  std::int64_t iteration_ = 0, waited_ = 0;
  double best_loss_ = std::numeric_limits<double>::infinity();
  Tensors best_;  // the encoder's weights at the smallest loss
  bool done_ = false;
};

}  // namespace stowplan::agents::rl
