// AllReduce, AllGather and AllToAll of ONNX Runtime (domain com.microsoft): the file is the program of one rank,
// `group_size` of which run it.
#pragma once

#include <cstdint>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/importers/onnx/values.h"

namespace stowplan::scenarios::onnx_import {

bool IsCollective(const onnx::NodeProto& node);
// How many ranks run the program.
std::int64_t RanksOf(const onnx::NodeProto& node);
// Throws std::invalid_argument, as the rules of nodes do.
std::vector<InferredOutput> InferCollective(const onnx::NodeProto& node,
                                            const std::vector<const TensorInfo*>& inputs);

}  // namespace stowplan::scenarios::onnx_import
