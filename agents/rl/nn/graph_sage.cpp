#include "agents/rl/nn/graph_sage.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

namespace stowplan::agents::rl {
namespace {

Neighbours ToNeighbours(const std::vector<std::vector<std::int64_t>>& lists) {
  std::vector<std::int64_t> offsets = {0}, members;
  for (const std::vector<std::int64_t>& list : lists) {
    members.insert(members.end(), list.begin(), list.end());
    offsets.push_back(static_cast<std::int64_t>(members.size()));
  }
  return {IndexTensor(offsets), IndexTensor(members)};
}

// `from` [rows, width]: which row each number of `largest` came from; -1 = none.
template <typename T>
void TakeLargest(const at::Tensor& values, const Neighbours& neighbours, at::Tensor& largest,
                 at::Tensor& from) {
  const std::int64_t rows = values.size(0), width = values.size(1);
  const std::int64_t* const offsets = neighbours.offsets.data_ptr<std::int64_t>();
  const std::int64_t* const members = neighbours.members.data_ptr<std::int64_t>();
  const T* const value = values.data_ptr<T>();
  for (std::int64_t row = 0; row < rows; ++row) {
    T* const best = largest.data_ptr<T>() + row * width;
    std::int32_t* const source = from.data_ptr<std::int32_t>() + row * width;
    for (std::int64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
      const T* const candidate = value + members[i] * width;
      const bool first = i == offsets[row];
      for (std::int64_t k = 0; k < width; ++k) {
        const bool larger = first || candidate[k] > best[k];
        best[k] = larger ? candidate[k] : best[k];
        source[k] = larger ? static_cast<std::int32_t>(members[i]) : source[k];
      }
    }
  }
}

template <typename T>
void GiveBack(const at::Tensor& gradient, const at::Tensor& from, at::Tensor& to) {
  const std::int64_t width = gradient.size(1);
  const T* const given = gradient.data_ptr<T>();
  const std::int32_t* const source = from.data_ptr<std::int32_t>();
  T* const sums = to.data_ptr<T>();
  for (std::int64_t i = 0; i < gradient.numel(); ++i) {
    if (source[i] >= 0) sums[source[i] * width + i % width] += given[i];
  }
}

struct NeighbourMaxFunction : torch::autograd::Function<NeighbourMaxFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& values,
                            const at::Tensor& offsets, const at::Tensor& members) {
    at::Tensor largest = at::zeros_like(values);
    at::Tensor from = at::full(values.sizes(), -1, at::kInt);
    AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "NeighbourMax", [&] {
      TakeLargest<scalar_t>(values, {offsets, members}, largest, from);
    });
    context->save_for_backward({from});
    return largest;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const at::Tensor from = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor values = at::zeros_like(gradient);
    AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "NeighbourMax",
                               [&] { GiveBack<scalar_t>(gradient, from, values); });
    return {values, {}, {}};
  }
};

}  // namespace

Neighbourhood::Neighbourhood(const UnitGraph& graph) {
  const auto rows = static_cast<std::size_t>(graph.size());
  std::vector<std::int64_t> row(rows);
  for (std::size_t i = 0; i < rows; ++i)
    row[static_cast<std::size_t>(graph.order()[i])] = static_cast<std::int64_t>(i);
  std::vector<std::vector<std::int64_t>> before(rows), after(rows);
  for (const auto& [from, to] : graph.edges()) {
    const std::int64_t a = row[static_cast<std::size_t>(from)], b = row[static_cast<std::size_t>(to)];
    before[static_cast<std::size_t>(b)].push_back(a);
    after[static_cast<std::size_t>(a)].push_back(b);
  }
  sources = ToNeighbours(before);
  targets = ToNeighbours(after);
}

Neighbourhood Neighbourhood::Empty(std::int64_t rows) {
  Neighbourhood none;
  none.sources = none.targets =
      ToNeighbours(std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(rows)));
  return none;
}

at::Tensor NeighbourMax(const at::Tensor& values, const Neighbours& neighbours) {
  return NeighbourMaxFunction::apply(values.contiguous(), neighbours.offsets, neighbours.members);
}

GraphSage::GraphSage(std::int64_t input, std::int64_t width, int layers, at::ScalarType type, Rng& init)
    : width_(width) {
  for (int i = 0; i < layers; ++i) {
    const std::int64_t in = i == 0 ? input : width;
    layers_.push_back({Mlp({in, 2 * width}, 1, type, init), Mlp({in + 2 * width, width}, 1, type, init)});
    Append(parameters_, layers_.back().messages.parameters());
    Append(parameters_, layers_.back().combine.parameters());
  }
}

at::Tensor GraphSage::Forward(const at::Tensor& rows, const Neighbourhood& graph) const {
  at::Tensor h = rows;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) h = h.relu();
    const at::Tensor messages = layers_[i].messages.Forward(h).sigmoid();
    h = layers_[i].combine.Forward(at::cat({h, NeighbourMax(messages.narrow(1, 0, width_), graph.sources),
                                            NeighbourMax(messages.narrow(1, width_, width_), graph.targets)},
                                           1));
  }
  return h;
}

}  // namespace stowplan::agents::rl
