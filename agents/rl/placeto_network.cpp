#include "agents/rl/placeto_network.h"

#include <ATen/ATen.h>

#include "sim/error.h"

namespace berth::agents::rl {
namespace {

// Which rows of the embeddings [N * states, 2d] one summary adds up, and for which state.
struct PooledRows {
  std::vector<std::int64_t> state;
  std::vector<std::int64_t> row;
};

struct Pools {
  PooledRows ancestors, descendants, parallel;
};

Pools CollectPools(const PlacetoGraph& graph, std::span<const UnitIndex> current) {
  Pools pools;
  const auto states = static_cast<std::int64_t>(current.size());
  const auto add = [](PooledRows& rows, std::int64_t state, std::int64_t row) {
    rows.state.push_back(state);
    rows.row.push_back(row);
  };
  for (std::int64_t state = 0; state < states; ++state) {
    const UnitIndex v = current[static_cast<std::size_t>(state)];
    for (UnitIndex u = 0; u < graph.units.size(); ++u) {
      if (u == v) continue;
      const bool before = graph.used && graph.units.Reaches(u, v);
      const bool after = graph.used && graph.units.Reaches(v, u);
      const std::int64_t row = u * states + state;
      if (before) add(pools.ancestors, state, row);
      if (after) add(pools.descendants, state, row);
      if (!before && !after) add(pools.parallel, state, row);
    }
  }
  return pools;
}

// Sums or means of groups of rows, as a product with a 0-1 matrix: adding row by row costs several times more
// in torch.
at::Tensor PoolByState(const PooledRows& rows, const at::Tensor& vectors, std::int64_t states, bool mean) {
  std::vector<std::int64_t> column(rows.state.size());
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<std::int64_t>(i);
  const at::Tensor sums = IncidenceMatrix(rows.state, column, states,
                                          static_cast<std::int64_t>(column.size()), vectors.scalar_type());
  const at::Tensor pooled = at::mm(sums, vectors);
  if (!mean) return pooled;
  return pooled /
         at::bincount(IndexTensor(rows.state), {}, states).clamp_min(1).to(vectors.dtype()).unsqueeze(1);
}

}  // namespace

PlacetoGraph::PlacetoGraph(const UnitGraph& graph, bool graph_used, at::ScalarType type)
    : units(graph), used(graph_used) {
  const std::int64_t size = graph.size();
  std::vector<std::pair<std::int64_t, std::int64_t>> ones;
  if (graph_used) {
    for (const auto& [from, to] : graph.edges()) {
      ones.emplace_back(to, from);
      ones.emplace_back(size + from, size + to);
    }
  }
  std::sort(ones.begin(), ones.end());
  std::vector<std::int64_t> row, column;
  neighbour_counts = at::zeros({2 * size, 1}, type);
  for (const auto& [r, c] : ones) {
    row.push_back(r);
    column.push_back(c);
    neighbour_counts[r] += 1;
  }
  has_neighbours = neighbour_counts.clamp_max(1).view({2, size, 1, 1});
  neighbour_counts = neighbour_counts.clamp_min(1);
  neighbours = IncidenceMatrix(row, column, 2 * size, 2 * size, type);
}

at::Tensor PlacetoNetwork::Aggregator::Transform(const at::Tensor& vectors) const {
  return f.Forward(vectors).relu();
}
at::Tensor PlacetoNetwork::Aggregator::Combine(const at::Tensor& sums) const {
  return g.Forward(sums).relu();
}

PlacetoNetwork::PlacetoNetwork(const Sizes& sizes, at::ScalarType type, Rng& init)
    : sizes_(sizes),
      transform_({sizes.features, sizes.features, sizes.features, sizes.features}, 1, type, init),
      messages_{Mlp({sizes.features, sizes.features, sizes.features}, 2, type, init),
                Mlp({sizes.features, sizes.features, sizes.features}, 2, type, init)},
      ancestors_{Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 1, type, init),
                 Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 1, type, init)},
      descendants_{Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 1, type, init),
                   Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 1, type, init)},
      parallel_{Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 1, type, init),
                Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 1, type, init)},
      classifier_({8 * sizes.features, 16 * sizes.features, 8 * sizes.features, sizes.devices}, 1, type,
                  init) {
  for (const Mlp* part : {&transform_, &messages_.f, &messages_.g, &ancestors_.f, &ancestors_.g,
                          &descendants_.f, &descendants_.g, &parallel_.f, &parallel_.g, &classifier_}) {
    parameters_.insert(parameters_.end(), part->parameters().begin(), part->parameters().end());
  }
}

at::Tensor PlacetoNetwork::Embed(const PlacetoGraph& graph, const at::Tensor& features) const {
  const std::int64_t units = features.size(0);
  const std::int64_t states = features.size(1);
  const std::int64_t d = sizes_.features;
  const at::Tensor e = transform_.Forward(features.reshape({units * states, d})).view({1, units, states, d});
  at::Tensor x = e.expand({2, units, states, d});
  for (int round = 0; round < sizes_.rounds; ++round) {
    const at::Tensor sent = messages_.Transform(x.reshape({2, units * states, d}));
    at::Tensor sums = at::mm(graph.neighbours, sent.view({2 * units, states * d}));
    if (sizes_.mean) sums = sums / graph.neighbour_counts;
    const at::Tensor received = messages_.Combine(sums.view({2, units * states, d}));
    x = at::addcmul(e, graph.has_neighbours, received.view({2, units, states, d}));
  }
  return at::cat({x[0], x[1]}, -1).view({units * states, 2 * d});
}

at::Tensor PlacetoNetwork::Logits(const PlacetoGraph& graph, const at::Tensor& features,
                                  std::span<const UnitIndex> current) const {
  const auto states = static_cast<std::int64_t>(current.size());
  BERTH_CHECK_EQ(features.size(0), graph.units.size());
  BERTH_CHECK_EQ(features.size(1), states);
  BERTH_CHECK_EQ(features.size(2), sizes_.features);
  const at::Tensor embeddings = Embed(graph, features);
  const Pools pools = CollectPools(graph, current);
  // A unit is in one pool, so each embedding passes one f only: the published program computes all three for
  // all.
  const auto summary = [&](const Aggregator& aggregator, const PooledRows& rows) {
    const at::Tensor vectors = aggregator.Transform(embeddings.index_select(0, IndexTensor(rows.row)));
    return aggregator.Combine(PoolByState(rows, vectors, states, sizes_.mean));
  };
  std::vector<std::int64_t> own(current.size());
  for (std::size_t s = 0; s < own.size(); ++s) own[s] = current[s] * states + static_cast<std::int64_t>(s);
  const at::Tensor around =
      at::cat({summary(ancestors_, pools.ancestors), summary(descendants_, pools.descendants),
               summary(parallel_, pools.parallel), embeddings.index_select(0, IndexTensor(own))},
              -1);
  return classifier_.Forward(around);
}

}  // namespace berth::agents::rl
