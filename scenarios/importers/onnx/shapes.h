// Types and shapes of one node's outputs, by the rules of the ONNX library. The library is asked node by node
// with the values known so far, so that a Reshape or Resize whose target was folded has a shape.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/importers/onnx/values.h"

namespace stowplan::scenarios::onnx_import {

// Does the library know the op?
bool IsStandard(const onnx::NodeProto& node, int opset);

// One for each output of the node; nothing is known of those of an op that is not standard. Throws
// std::exception where the node contradicts the rules of its op (attributes, number of inputs, shapes).
std::vector<InferredOutput> InferOutputs(const onnx::NodeProto& node, int opset,
                                         const std::vector<const TensorInfo*>& inputs);

}  // namespace stowplan::scenarios::onnx_import
