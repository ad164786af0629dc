#include "agents/rl/graph_sage.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace berth::agents::rl {
namespace {

struct MaxFunction : torch::autograd::Function<MaxFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& rows,
                            const NeighbourLists* lists) {
    at::Tensor largest = at::zeros_like(rows);
    at::Tensor from = at::full(rows.sizes(), -1, at::kLong);  // row that each number came from
    AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "max over neighbours", [&] {
      const auto in = rows.accessor<scalar_t, 2>();
      auto out = largest.accessor<scalar_t, 2>();
      auto source = from.accessor<std::int64_t, 2>();
      for (std::int64_t v = 0; v < rows.size(0); ++v) {
        for (std::int64_t i = lists->first[static_cast<std::size_t>(v)];
             i < lists->first[static_cast<std::size_t>(v) + 1]; ++i) {
          const std::int64_t u = lists->units[static_cast<std::size_t>(i)];
          for (std::int64_t column = 0; column < rows.size(1); ++column) {
            if (source[v][column] >= 0 && in[u][column] <= out[v][column]) continue;
            out[v][column] = in[u][column];
            source[v][column] = u;
          }
        }
      }
    });
    context->save_for_backward({from});
    return largest;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const at::Tensor from = context->get_saved_variables()[0];
    const at::Tensor present = (from >= 0).to(gradients[0].scalar_type());
    return {at::zeros_like(gradients[0]).scatter_add_(0, from.clamp_min(0), gradients[0] * present),
            at::Tensor()};
  }
};

}  // namespace

NeighbourLists::NeighbourLists(const UnitGraph& graph) {
  std::vector<std::vector<std::int64_t>> of(static_cast<std::size_t>(graph.size()));
  for (const auto& [from, to] : graph.edges()) {
    of[static_cast<std::size_t>(from)].push_back(to);
    of[static_cast<std::size_t>(to)].push_back(from);
  }
  for (const auto& list : of) {
    first.push_back(static_cast<std::int64_t>(units.size()));
    units.insert(units.end(), list.begin(), list.end());
  }
  first.push_back(static_cast<std::int64_t>(units.size()));
}

at::Tensor MaxOverNeighbours(const at::Tensor& rows, const NeighbourLists& neighbours) {
  return MaxFunction::apply(rows, &neighbours);
}

GraphSage::GraphSage(std::int64_t input, std::int64_t width, int layers, at::ScalarType type, Rng& init) {
  for (int i = 0; i < layers; ++i) {
    const std::int64_t in = i == 0 ? input : width;
    layers_.push_back({Mlp({in, width}, 1, type, init), Mlp({in + width, width}, 1, type, init)});
    Append(parameters_, layers_.back().message.parameters());
    Append(parameters_, layers_.back().combine.parameters());
  }
}

at::Tensor GraphSage::Forward(const at::Tensor& features, const NeighbourLists& neighbours) const {
  at::Tensor h = features;
  for (const Layer& layer : layers_) {
    const at::Tensor strongest = MaxOverNeighbours(layer.message.Forward(h).sigmoid(), neighbours);
    h = layer.combine.Forward(at::cat({h, strongest}, 1)).relu();
  }
  return h;
}

}  // namespace berth::agents::rl
