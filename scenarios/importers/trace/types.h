// What the graph calls PyTorch's ops and tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "scenarios/importers/trace/nodes.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios::trace {

// "_foreach_add_" of "aten::_foreach_add_".
std::string_view LocalName(std::string_view name);

// As scenarios/importers/aten.h calls it.
std::string_view PlainName(std::string_view name);

// The type of an op that PyTorch's kernels implement; nothing where it is not known as one.
std::optional<std::string> KnownType(const Node& node);

// "f32" of "float"; empty for a type that graphs do not have.
std::string DtypeOf(std::string_view type);

sim::Output OutputOf(const Tensor& tensor);

}  // namespace stowplan::scenarios::trace
