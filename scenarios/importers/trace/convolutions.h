// Convolutions of an execution trace: their types and windows, from the values of their arguments.
#pragma once

#include <optional>
#include <string>

#include "scenarios/importers/trace/nodes.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios::trace {

// "Conv2D", "DepthwiseConv2dNative", "ConvTranspose", "ConvBackward", …; null for what is none.
std::optional<std::string> ConvolutionType(const Node& node);

// kernel, strides, padding, dilations, groups and data_format as stowplan.capture writes them; of a backward one which of its
// three outputs are made, and whether the one forward is transposed. Nothing for other nodes.
sim::Attributes ConvolutionAttributes(const Node& node);

}  // namespace stowplan::scenarios::trace
