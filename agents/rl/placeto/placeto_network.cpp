#include "agents/rl/placeto/placeto_network.h"

#include <ATen/ATen.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

// [3, N, N], placeto_network.h.
at::Tensor PoolsOf(const UnitGraph& graph, bool graph_used) {
  const std::int64_t size = graph.size();
  at::Tensor pools = at::zeros({3, size, size}, at::kFloat);
  float* const data = pools.data_ptr<float>();
  for (UnitIndex v = 0; v < size; ++v) {
    for (UnitIndex u = 0; u < size; ++u) {
      if (u == v) continue;
      const bool before = graph_used && graph.Reaches(u, v);
      const bool after = graph_used && graph.Reaches(v, u);
      if (before) data[v * size + u] = 1;
      if (after) data[(size + v) * size + u] = 1;
      if (!before && !after) data[(2 * size + v) * size + u] = 1;
    }
  }
  return pools;
}

}  // namespace

PlacetoGraph::PlacetoGraph(const UnitGraph& graph, bool graph_used, at::ScalarType type)
    : units(graph), pools(PoolsOf(graph, graph_used).to(type)) {
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
  pool_counts = pools.sum(-1, /*keepdim=*/true).clamp_min(1);
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
      summaries_{Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 3, type, init),
                 Mlp({2 * sizes.features, 2 * sizes.features, 2 * sizes.features}, 3, type, init)},
      classifier_({8 * sizes.features, 16 * sizes.features, 8 * sizes.features, sizes.devices}, 1, type,
                  init) {
  for (const Mlp* part :
       {&transform_, &messages_.f, &messages_.g, &summaries_.f, &summaries_.g, &classifier_}) {
    parameters_.insert(parameters_.end(), part->parameters().begin(), part->parameters().end());
  }
  if (sizes.offers == 0) return;
  STOWPLAN_CHECK(sizes.follows.empty() || std::ssize(sizes.follows) == sizes.offers);
  readers_ = {at::zeros({8 * sizes.features, sizes.offers}, type),
              sizes.follows.empty() ? at::zeros({sizes.offers}, type) : at::tensor(sizes.follows).to(type)};
  for (at::Tensor& reader : readers_) reader.set_requires_grad(true);
  parameters_.insert(parameters_.end(), readers_.begin(), readers_.end());
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

// `embeddings` [N * states, 2d], `units` [states * m]; gives [states * m, 6d].
at::Tensor PlacetoNetwork::Summaries(const PlacetoGraph& graph, const at::Tensor& embeddings,
                                     const at::Tensor& units) const {
  const std::int64_t size = graph.units.size();
  const std::int64_t states = embeddings.size(0) / size;
  const std::int64_t width = embeddings.size(1);
  const at::Tensor vectors = summaries_.Transform(embeddings.expand({3, -1, -1}))
                                 .view({3, size, states, width})
                                 .transpose(1, 2)
                                 .reshape({3 * states, size, width});
  const at::Tensor members = graph.pools.index_select(1, units).view({3 * states, -1, size});
  at::Tensor sums = at::bmm(members, vectors).view({3, -1, width});
  if (sizes_.mean) sums = sums / graph.pool_counts.index_select(1, units);
  return summaries_.Combine(sums).transpose(0, 1).reshape({-1, 3 * width});
}

PlacetoNetwork::Preferences PlacetoNetwork::Read(const PlacetoGraph& graph, const at::Tensor& features,
                                                 std::span<const UnitIndex> current, double stay) const {
  const std::int64_t states = features.size(1);
  STOWPLAN_CHECK_EQ(features.size(0), graph.units.size());
  STOWPLAN_CHECK_EQ(features.size(2), sizes_.features);
  const auto in_turn = static_cast<std::int64_t>(current.size()) / states;
  std::vector<std::int64_t> units(current.begin(), current.end()), own(current.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i] = units[i] * states + static_cast<std::int64_t>(i) / in_turn;
  }
  const at::Tensor rows = IndexTensor(own);
  const at::Tensor embeddings = Embed(graph, features);
  const at::Tensor described =
      at::cat({Summaries(graph, embeddings, IndexTensor(units)), embeddings.index_select(0, rows)}, -1);
  Preferences read{classifier_.Forward(described), {}, {}, sizes_.reach};
  if (stay != 0) {
    const at::Tensor devices = features.slice(2, sizes_.features - sizes_.devices);
    read.stay = stay * devices.reshape({-1, sizes_.devices}).index_select(0, rows);
  }
  if (sizes_.offers > 0) read.weights = described.matmul(readers_[0]) + readers_[1];
  return read;
}

PlacetoNetwork::Preferences PlacetoNetwork::Preferences::OfUnit(std::int64_t i, std::int64_t m) const {
  const auto some = [&](const at::Tensor& all) {
    return all.defined() ? all.view({-1, m, all.size(1)}).select(1, i) : all;
  };
  return {some(logits), some(weights), some(stay), reach};
}

at::Tensor PlacetoNetwork::Preferences::With(const at::Tensor& offered) const {
  at::Tensor all = logits;
  if (weights.defined()) all = all + (weights.unsqueeze(1) * offered).sum(-1);
  if (reach > 0) all = reach * (all / reach).tanh();
  return stay.defined() ? all + stay : all;
}

}  // namespace stowplan::agents::rl
