// Multiply-adds of PyTorch's contractions, from the shapes of their tensors.
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/importers/trace/nodes.h"

namespace stowplan::scenarios::trace {

// 2 x multiply-adds of an op of this type (scenarios/importers/aten.h): its tensors as given, but with products first;
// 0 where it is no contraction or shapes are missing.
double FlopsOf(std::string_view type, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

}  // namespace stowplan::scenarios::trace
