// AllReduce, AllGather and AllToAll of ONNX Runtime (domain com.microsoft): the file is the program of one rank,
// `group_size` of which run it.
#pragma once

#include <vector>

#include "scenarios/importers/onnx/lower.h"
#include "scenarios/importers/onnx/shapes.h"

namespace stowplan::scenarios::onnx_import {

bool IsCollective(const onnx::NodeProto& node);
// Throws std::invalid_argument, as the rules of nodes do.
std::vector<InferredOutput> InferCollective(const onnx::NodeProto& node,
                                            const std::vector<const TensorInfo*>& inputs);
void LowerCollective(Lowering& lowering, const Step& step);

}  // namespace stowplan::scenarios::onnx_import
