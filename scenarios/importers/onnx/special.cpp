// Types that are not simply one op of their tensors.
#include <utility>

#include "scenarios/importers/onnx/lower.h"

namespace stowplan::scenarios::onnx_import {

void LowerBatchNorm(Lowering& lowering, const Step& step) {
  OpSpec spec{.type = "FusedBatchNorm", .name = "", .inputs = {}, .outputs = {}};
  // Training takes the statistics of the batch; what is kept of them over steps is not modelled.
  const std::size_t inputs = lowering.training() ? 3 : step.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) spec.inputs.push_back(lowering.In(step, i));
  AddAttribute(spec.attributes, "data_format", std::string("NCHW"));
  lowering.Emit(step, std::move(spec));
}

void LowerPool(Lowering& lowering, const Step& step) {
  OpSpec spec{.type = step.node->op_type() == "MaxPool" ? "MaxPool" : "AvgPool",
              .name = "",
              .inputs = {lowering.In(step, 0)},
              .outputs = {},
              .attributes = WindowAttributes(*step.node, IntsAttribute(*step.node, "kernel_shape"))};
  lowering.Emit(step, std::move(spec));
}

// Without training nothing is dropped.
void LowerDropout(Lowering& lowering, const Step& step) {
  const Tensor x = lowering.In(step, 0);
  if (!lowering.training()) return lowering.Alias(step, x);
  // The mask is kept as numbers beside the output, as in our workloads.
  const TensorSpec output = lowering.SpecOf(lowering.OutputInfo(step));
  lowering.Emit(step, {.type = "Dropout", .name = "", .inputs = {x}, .outputs = {output, output}});
}

// Rows of a table are looked up; anything else that is chosen by known numbers is cut out.
void LowerGather(Lowering& lowering, const Step& step) {
  const bool rows = lowering.IsWeight(step.inputs.at(0)) && IntAttribute(*step.node, "axis", 0) == 0;
  const bool known = lowering.InputInfo(step, 1)->value != nullptr;
  OpSpec spec{.type = rows    ? "GatherV2"
                      : known ? "Slice"
                              : "Gather",
              .name = "",
              .inputs = {lowering.In(step, 0)},
              .outputs = {}};
  if (rows || !known) spec.inputs.push_back(lowering.In(step, 1));
  lowering.Emit(step, std::move(spec));
}

// Products read a transposed weight through its strides: nothing moves.
void LowerTranspose(Lowering& lowering, const Step& step) {
  const bool weight = lowering.IsWeight(step.inputs.at(0));
  OpSpec spec{.type = weight ? "Reshape" : "Transpose",
              .name = "",
              .inputs = {lowering.In(step, 0)},
              .outputs = {},
              .view_of = weight ? 0 : -1};
  if (weight) AddAttribute(spec.attributes, "onnx_type", std::string("Transpose"));
  lowering.Emit(step, std::move(spec));
}

// Scores, labels and perhaps weights of the classes -> loss and, if asked for, logarithms of probabilities.
void LowerCrossEntropy(Lowering& lowering, const Step& step) {
  OpSpec spec{
      .type = "SoftmaxCrossEntropyWithLogits",
      .name = "",
      .inputs = {lowering.In(step, 0), lowering.In(step, 1)},
      .outputs = {lowering.SpecOf(lowering.OutputInfo(step)), lowering.SpecOf(*lowering.InputInfo(step, 0))}};
  lowering.Emit(step, std::move(spec));
}

void LowerPack(Lowering& lowering, const Step& step) {
  OpSpec spec{.type = step.node->op_type(), .name = "", .inputs = {}, .outputs = {}};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) spec.inputs.push_back(lowering.In(step, i));
  lowering.Emit(step, std::move(spec));
}

}  // namespace stowplan::scenarios::onnx_import
