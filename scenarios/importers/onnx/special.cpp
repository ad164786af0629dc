// Types that are not simply one op of their tensors.
#include <utility>

#include "scenarios/importers/onnx/lower.h"

namespace stowplan::scenarios::onnx_import {

void LowerBatchNorm(Lowering& lowering, const ResolvedNode& node) {
  OpSpec spec{.type = "FusedBatchNorm", .name = "", .inputs = {}, .outputs = {}};
  // Training takes the statistics of the batch; what is kept of them over steps is not modelled.
  const std::size_t inputs = lowering.training() ? 3 : node.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) spec.inputs.push_back(lowering.In(node, i));
  AddAttribute(spec.attributes, "data_format", std::string("NCHW"));
  lowering.Emit(node, std::move(spec));
}

void LowerPool(Lowering& lowering, const ResolvedNode& node) {
  OpSpec spec{.type = node.proto->op_type() == "MaxPool" ? "MaxPool" : "AvgPool",
              .name = "",
              .inputs = {lowering.In(node, 0)},
              .outputs = {},
              .attributes = WindowAttributes(*node.proto, IntsAttribute(*node.proto, "kernel_shape"))};
  lowering.Emit(node, std::move(spec));
}

// Without training nothing is dropped: a mask is ones.
void LowerDropout(Lowering& lowering, const ResolvedNode& node) {
  const Tensor x = lowering.In(node, 0);
  if (!lowering.training()) {
    lowering.Alias(node, x);
    if (node.outputs.size() > 1 && lowering.IsRead(node.outputs[1])) {
      ResolvedNode mask = node;
      mask.outputs.erase(mask.outputs.begin());
      lowering.Emit(mask, {.type = "Fill", .name = "", .inputs = {}, .outputs = {}});
    }
    return;
  }
  // The mask is kept as numbers beside the output, as in our workloads.
  const TensorSpec output = lowering.SpecOf(lowering.OutputInfo(node));
  lowering.Emit(node, {.type = "Dropout", .name = "", .inputs = {x}, .outputs = {output, output}});
}

// Rows of a table are looked up; anything else that is chosen by known numbers is cut out.
void LowerGather(Lowering& lowering, const ResolvedNode& node) {
  const bool rows = lowering.IsWeight(node.inputs.at(0)) && IntAttribute(*node.proto, "axis", 0) == 0;
  const bool known = lowering.InputInfo(node, 1)->value != nullptr;
  OpSpec spec{.type = rows    ? "GatherV2"
                      : known ? "Slice"
                              : "Gather",
              .name = "",
              .inputs = {lowering.In(node, 0)},
              .outputs = {}};
  if (rows || !known) spec.inputs.push_back(lowering.In(node, 1));
  lowering.Emit(node, std::move(spec));
}

// Products read a transposed weight through its strides: nothing moves.
void LowerTranspose(Lowering& lowering, const ResolvedNode& node) {
  const bool weight = lowering.IsWeight(node.inputs.at(0));
  OpSpec spec{.type = weight ? "Reshape" : "Transpose",
              .name = "",
              .inputs = {lowering.In(node, 0)},
              .outputs = {},
              .view_of = weight ? 0 : -1};
  if (weight) AddAttribute(spec.attributes, "onnx_type", std::string("Transpose"));
  lowering.Emit(node, std::move(spec));
}

// Scores, labels and perhaps weights of the classes -> loss and, if asked for, logarithms of probabilities.
void LowerCrossEntropy(Lowering& lowering, const ResolvedNode& node) {
  OpSpec spec{
      .type = "SoftmaxCrossEntropyWithLogits",
      .name = "",
      .inputs = {lowering.In(node, 0), lowering.In(node, 1)},
      .outputs = {lowering.SpecOf(lowering.OutputInfo(node)), lowering.SpecOf(*lowering.InputInfo(node, 0))}};
  lowering.Emit(node, std::move(spec));
}

void LowerPack(Lowering& lowering, const ResolvedNode& node) {
  OpSpec spec{.type = node.proto->op_type(), .name = "", .inputs = {}, .outputs = {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) spec.inputs.push_back(lowering.In(node, i));
  lowering.Emit(node, std::move(spec));
}

}  // namespace stowplan::scenarios::onnx_import
