#include "agents/rl/nn/graph_convolution.h"

#include <cmath>
#include <set>
#include <utility>

#include <ATen/ATen.h>

#include "agents/rl/nn/layers.h"

namespace stowplan::agents::rl {

at::Tensor NormalisedAdjacency(const UnitGraph& graph, bool edges, at::ScalarType type) {
  const auto rows = static_cast<std::size_t>(graph.size());
  std::vector<std::int64_t> row_of(rows);
  for (std::size_t i = 0; i < rows; ++i)
    row_of[static_cast<std::size_t>(graph.order()[i])] = static_cast<std::int64_t>(i);
  std::set<std::pair<std::int64_t, std::int64_t>> entries;
  for (std::size_t i = 0; i < rows; ++i)
    entries.emplace(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
  if (edges) {
    for (const auto& [from, to] : graph.edges()) {
      const std::int64_t a = row_of[static_cast<std::size_t>(from)], b = row_of[static_cast<std::size_t>(to)];
      entries.emplace(a, b);
      entries.emplace(b, a);
    }
  }
  std::vector<double> degree(rows, 0);
  for (const auto& [row, column] : entries) ++degree[static_cast<std::size_t>(row)];
  std::vector<std::int64_t> row_indices, column_indices;
  std::vector<double> values;
  for (const auto& [row, column] : entries) {
    row_indices.push_back(row);
    column_indices.push_back(column);
    values.push_back(
        1 / std::sqrt(degree[static_cast<std::size_t>(row)] * degree[static_cast<std::size_t>(column)]));
  }
  const at::Tensor indices = at::stack({IndexTensor(row_indices), IndexTensor(column_indices)});
  return at::_sparse_coo_tensor_unsafe(indices, at::tensor(values, at::kDouble).to(type),
                                       {graph.size(), graph.size()}, type)
      ._coalesced_(true);
}

GraphConvolution::GraphConvolution(std::int64_t input, std::int64_t width, int layers, at::ScalarType type,
                                   Rng& init)
    : width_(width) {
  for (int i = 0; i < layers; ++i) {
    parameters_.push_back(GlorotMatrix(i == 0 ? input : width, width, type, init));
    parameters_.push_back(at::zeros({width}, type).set_requires_grad(true));
    parameters_.push_back(at::full({1}, 0.25, type).set_requires_grad(true));
  }
}

at::Tensor GraphConvolution::Forward(const at::Tensor& rows, const at::Tensor& adjacency) const {
  at::Tensor h = rows;
  for (std::size_t i = 0; i < parameters_.size(); i += 3) {
    h = at::prelu(at::mm(adjacency, h.matmul(parameters_[i])) + parameters_[i + 1], parameters_[i + 2]);
  }
  return h;
}

}  // namespace stowplan::agents::rl
