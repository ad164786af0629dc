// FLOPs of products from the shapes of their tensors: what a graph says is counted again by them, and traces are counted at all.
#pragma once

#include <optional>
#include <span>

#include "sim/op_graph.h"

namespace stowplan::sim {

// 2 x multiply-adds of a product of matrices, a convolution, an attention, a recurrent layer of torch or the gradient of one, by
// its type; of a ConvBackward the sum of the products that its outputs take. Groups are those of the filter's shape. 0 where a dimension is 0.
// Null = no product, or its tensors do not tell: no shapes, or shapes that can be read in two ways that count differently.
std::optional<double> ProductFlops(const OpGraph& graph, OpIndex op);
// Of an op whose inputs are these.
std::optional<double> ProductFlops(const Op& op, std::span<const Output> inputs);

}  // namespace stowplan::sim
