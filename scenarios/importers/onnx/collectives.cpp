#include "scenarios/importers/onnx/collectives.h"

#include <utility>

#include "scenarios/importers/onnx/node_rules.h"
#include "sim/collectives.h"

namespace stowplan::scenarios::onnx_import {

bool IsCollective(const onnx::NodeProto& node) {
  return node.domain() == "com.microsoft" &&
         (node.op_type() == "AllReduce" || node.op_type() == "AllGather" || node.op_type() == "AllToAll");
}

std::int64_t RanksOf(const onnx::NodeProto& node) {
  return IntAttribute(node, "group_size", 1);
}

std::vector<InferredOutput> InferCollective(const onnx::NodeProto& node,
                                            const std::vector<const TensorInfo*>& inputs) {
  if (inputs.size() != 1 || inputs[0] == nullptr || node.output_size() != 1)
    Refuse("takes and gives one tensor");
  const std::int64_t ranks = RanksOf(node);
  if (ranks < 1 || ranks > sim::kMostRanks)
    Refuse("its group_size must be 1 to " + std::to_string(sim::kMostRanks));
  InferredOutput output;
  output.is_tensor = true;
  output.elem_type = inputs[0]->elem_type;
  const Shape& shape = inputs[0]->shape;
  output.dims.emplace(shape.begin(), shape.end());
  if (node.op_type() == "AllGather") {
    const std::size_t axis =
        CheckedAxis(IntAttribute(node, "axis", 0), static_cast<std::int64_t>(shape.size()), "its axis");
    (*output.dims)[axis] = shape[axis] * ranks;
  }
  return {output};
}

}  // namespace stowplan::scenarios::onnx_import
