#include "scenarios/builder/gradients.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

// y = x w. Each gradient is as many multiply-adds as the product itself. Also convolutions, under other
// names.
void ContractionRule(GradientContext& context, const std::string& to_input, const std::string& to_weights) {
  const double flops = context.forward().flops;
  if (context.wanted(0)) context.EmitFor(0, to_input, "input", {context.dy(), context.input(1)}, flops);
  if (context.wanted(1)) context.EmitFor(1, to_weights, "weights", {context.input(0), context.dy()}, flops);
}

void MatMulRule(GradientContext& context) {
  ContractionRule(context, "MatMul", "MatMul");
}
void BatchMatMulRule(GradientContext& context) {
  ContractionRule(context, "BatchMatMul", "BatchMatMul");
}
void Conv2DRule(GradientContext& context) {
  ContractionRule(context, "Conv2DBackpropInput", "Conv2DBackpropFilter");
}
void Conv1DRule(GradientContext& context) {
  ContractionRule(context, "Conv1DBackpropInput", "Conv1DBackpropFilter");
}
void Conv3DRule(GradientContext& context) {
  ContractionRule(context, "Conv3DBackpropInput", "Conv3DBackpropFilter");
}
// Is itself the gradient of a convolution by its input.
void ConvTransposeRule(GradientContext& context) {
  ContractionRule(context, "Conv2D", "Conv2DBackpropFilter");
}
void DepthwiseRule(GradientContext& context) {
  ContractionRule(context, "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter");
}

// The gradient passes; the bias sums it over all but the last axis.
void BiasAddRule(GradientContext& context) {
  context.Give(0, context.dy());
  context.EmitFor(1, "BiasAddGrad", "bias", {context.dy()});
}

// One backward op whose outputs are the gradients of all inputs.
void EmitForAll(GradientContext& context, OpSpec spec) {
  for (int i = 0; i < context.inputs(); ++i) spec.outputs.push_back(context.spec(context.input(i)));
  const Tensor made = context.Emit(std::move(spec));
  for (int i = 0; i < context.inputs(); ++i) context.Give(i, {made.op, i});
}

// Inputs: x, then scale if there is one, then offset (RMSNorm has none). The scale takes part in the gradient
// of x.
void NormalisationRule(GradientContext& context) {
  OpSpec spec{.type = context.forward().type + "Grad",
              .name = "input",
              .inputs = {context.dy(), context.input(0)},
              .outputs = {}};
  if (context.inputs() == 3 || context.forward().type == "RMSNorm") spec.inputs.push_back(context.input(1));
  EmitForAll(context, spec);
}

// Queries, keys, values and perhaps a mask and more. The scores are worked out again: five products where the op
// itself has two.
void AttentionRule(GradientContext& context) {
  OpSpec spec{.type = "AttentionGrad",
              .name = "input",
              .inputs = {context.dy(), context.output(0)},
              .outputs = {},
              .flops = 2.5 * context.forward().flops};
  std::vector<int> given;
  for (int i = 0; i < context.inputs(); ++i) {
    spec.inputs.push_back(context.input(i));
    if (i >= 3 && !context.wanted(i)) continue;
    spec.outputs.push_back(context.spec(context.input(i)));
    given.push_back(i);
  }
  const Tensor made = context.Emit(std::move(spec));
  for (std::size_t i = 0; i < given.size(); ++i)
    context.Give(given[i], {made.op, static_cast<std::int32_t>(i)});
}

// Rules that need the op's output and no input.
template <const char* kType>
void FromOutputRule(GradientContext& context) {
  context.EmitFor(0, kType, "input", {context.output(0), context.dy()});
}
constexpr char kReluGrad[] = "ReluGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";
constexpr char kTanhGrad[] = "TanhGrad";
constexpr char kSoftmaxGrad[] = "SoftmaxGrad";

// Rules that need the op's input and no output.
template <const char* kType>
void FromInputRule(GradientContext& context) {
  context.EmitFor(0, kType, "input", {context.input(0), context.dy()});
}
constexpr char kErfGrad[] = "ErfGrad";
constexpr char kGeluGrad[] = "GeluGrad";
constexpr char kSwishGrad[] = "SwishGrad";

void MaxPoolRule(GradientContext& context) {
  context.EmitFor(0, "MaxPoolGrad", "input", {context.input(0), context.output(0), context.dy()});
}

// Rules that need nothing but shapes.
template <const char* kType>
void FromShapeRule(GradientContext& context) {
  context.EmitFor(0, kType, "input", {context.dy()});
}
constexpr char kAvgPoolGrad[] = "AvgPoolGrad";
constexpr char kTile[] = "Tile";
constexpr char kSlice[] = "Slice";
constexpr char kPad[] = "Pad";
constexpr char kReduceSum[] = "ReduceSum";
constexpr char kScatterND[] = "ScatterND";
constexpr char kExpGrad[] = "ExpGrad";
constexpr char kSqrtGrad[] = "SqrtGrad";
constexpr char kReciprocalGrad[] = "ReciprocalGrad";
constexpr char kLogSoftmaxGrad[] = "LogSoftmaxGrad";

// The gradient is scaled by the same number, in place where that may be.
void ScaleRule(GradientContext& context) {
  const Tensor made = context.Emit({.type = "Scale",
                                    .name = "input",
                                    .inputs = {context.dy()},
                                    .outputs = {context.spec(context.input(0))},
                                    .in_place = 0});
  context.Give(0, made);
}

void ShiftRule(GradientContext& context) {
  context.Give(0, context.dy());
}

// Turned back by the same angles.
void RotaryRule(GradientContext& context) {
  context.EmitFor(0, "RotaryEmbeddingGrad", "input", {context.dy(), context.input(1)});
}

// Rules that need the inputs. A broadcast input's gradient is summed in the same op.
void FromInputsRule(GradientContext& context) {
  std::vector<Tensor> reads = {context.dy()};
  for (int i = 0; i < context.inputs(); ++i) reads.push_back(context.input(i));
  for (int i = 0; i < context.inputs(); ++i) {
    context.EmitFor(i, context.forward().type + "Grad", "input" + std::to_string(i), reads);
  }
}

// Rules that need nothing and leave the type: the gradient of a transposition is one.
void SameTypeRule(GradientContext& context) {
  context.EmitFor(0, context.forward().type, "input", {context.dy()});
}

// Steps have a gradient of zero, which nobody passes on.
void ZeroRule(GradientContext&) {}

// One kernel gives the gradients of a whole sequence: as many multiply-adds for the inputs as for the weights.
void RecurrentRule(GradientContext& context) {
  OpSpec spec{.type = context.forward().type + "Grad",
              .name = "inputs",
              .inputs = {context.output(0)},
              .outputs = {},
              .flops = 2 * context.forward().flops};
  for (int i = 0; i < static_cast<int>(context.forward().outputs.size()); ++i) {
    if (const auto dy = context.gradient(i)) spec.inputs.push_back(*dy);
  }
  for (int i = 0; i < context.inputs(); ++i) spec.inputs.push_back(context.input(i));
  EmitForAll(context, std::move(spec));
}

// x - y
void SubRule(GradientContext& context) {
  for (const int i : {0, 1}) {
    if (i == 0 && context.shape(context.input(0)) == context.shape(context.dy())) {
      context.Give(0, context.dy());
    } else {
      context.EmitFor(i, "Neg", "input" + std::to_string(i), {context.dy()});
    }
  }
}

// Input 0 chooses.
void WhereRule(GradientContext& context) {
  for (const int i : {1, 2}) {
    context.EmitFor(i, "Where", "input" + std::to_string(i), {context.input(0), context.dy()});
  }
}

// A sum. Where an input was broadcast its gradient is summed back to its shape.
void AddRule(GradientContext& context) {
  for (int i = 0; i < context.inputs(); ++i) {
    if (context.shape(context.input(i)) == context.shape(context.dy())) {
      context.Give(i, context.dy());
    } else {
      context.EmitFor(i, "ReduceSum", "input" + std::to_string(i), {context.dy()});
    }
  }
}

void MulRule(GradientContext& context) {
  for (const int i : {0, 1}) {
    const bool broadcast = context.shape(context.input(i)) != context.shape(context.dy());
    context.EmitFor(i, broadcast ? "MulSum" : "Mul", "input" + std::to_string(i),
                    {context.dy(), context.input(1 - i)});
  }
}

void ReshapeRule(GradientContext& context) {
  const Tensor made = context.Emit({.type = "Reshape",
                                    .name = "input",
                                    .inputs = {context.dy()},
                                    .outputs = {context.spec(context.input(0))},
                                    .view_of = 0});
  context.Give(0, made);
}

void ConcatRule(GradientContext& context) {
  const char* type = context.forward().type == "Pack" ? "Unpack" : "Split";
  EmitForAll(context, {.type = type, .name = "inputs", .inputs = {context.dy()}, .outputs = {}});
}

// A part that nothing reads has a gradient of zeros.
void SplitRule(GradientContext& context) {
  std::vector<Tensor> parts;
  for (int i = 0; i < static_cast<int>(context.forward().outputs.size()); ++i) {
    const auto arrived = context.gradient(i);
    parts.push_back(arrived ? *arrived
                            : context.Emit({.type = "Constant",
                                            .name = "zero" + std::to_string(i),
                                            .inputs = {},
                                            .outputs = {context.spec(context.output(i))}}));
  }
  context.EmitFor(0, context.forward().type == "Unpack" ? "Pack" : "ConcatV2", "input", parts);
}

// The rows of the table that were read get the rows of the gradient.
void GatherRule(GradientContext& context) {
  const Tensor rows = context.Emit({.type = kSparseGradient,
                                    .name = "table",
                                    .inputs = {context.dy(), context.input(1)},
                                    .outputs = {context.spec(context.dy())}});
  context.Give(0, rows);
}

// Output 1 says which were taken.
void TopKRule(GradientContext& context) {
  context.EmitFor(0, "TopKGrad", "input", {context.dy(), context.output(1)});
}

// Inputs: tokens, and who goes to whom. An output for each expert.
void ExpertDispatchRule(GradientContext& context) {
  std::vector<Tensor> reads = {context.input(1)};
  for (int i = 0; i < static_cast<int>(context.forward().outputs.size()); ++i) {
    if (const auto arrived = context.gradient(i)) reads.push_back(*arrived);
  }
  context.EmitFor(0, "ExpertDispatchGrad", "input", reads);
}

// Inputs: an answer of each expert, their weights, and who came from whom, which has no gradient.
void ExpertCombineRule(GradientContext& context) {
  OpSpec spec{
      .type = "ExpertCombineGrad", .name = "inputs", .inputs = context.forward().inputs, .outputs = {}};
  spec.inputs.push_back(context.dy());
  const int differentiable = context.inputs() - 1;
  for (int i = 0; i < differentiable; ++i) spec.outputs.push_back(context.spec(context.input(i)));
  const Tensor made = context.Emit(std::move(spec));
  for (int i = 0; i < differentiable; ++i) context.Give(i, {made.op, i});
}

// Output 1 is the mask, kept as numbers (docs/protocol_rules.md#memory).
void DropoutRule(GradientContext& context) {
  context.EmitFor(0, "Mul", "input", {context.dy(), context.output(1)});
}

// Output 1 holds the probabilities; the gradient needs them and, unless this is the loss itself, the gradient
// of the losses.
void CrossEntropyRule(GradientContext& context) {
  std::vector<Tensor> reads = {context.output(1)};
  if (const auto dy = context.gradient(0)) reads.push_back(*dy);
  context.EmitFor(0, "SoftmaxCrossEntropyGrad", "logits", reads);
}

struct Row {
  const char* type;
  GradientRule rule;
};

constexpr std::array kRules = {
    Row{"Abs", FromInputsRule},
    Row{"Add", AddRule},
    Row{"AddN", AddRule},
    Row{"Attention", AttentionRule},
    Row{"AvgPool", FromShapeRule<kAvgPoolGrad>},
    Row{"BatchMatMul", BatchMatMulRule},
    Row{"BiasAdd", BiasAddRule},
    Row{"Cast", SameTypeRule},
    Row{"Ceil", ZeroRule},
    Row{"Clip", FromInputsRule},
    Row{"ConcatV2", ConcatRule},
    Row{"Conv1D", Conv1DRule},
    Row{"Conv2D", Conv2DRule},
    Row{"Conv3D", Conv3DRule},
    Row{"ConvTranspose", ConvTransposeRule},
    Row{"Cos", FromInputsRule},
    Row{"CumSum", SameTypeRule},
    Row{"DepthToSpace", SameTypeRule},
    Row{"DepthwiseConv2dNative", DepthwiseRule},
    Row{"Div", FromInputsRule},
    Row{"Dropout", DropoutRule},
    Row{"Elu", FromInputsRule},
    Row{"Erf", FromInputRule<kErfGrad>},
    Row{"Exp", FromOutputRule<kExpGrad>},
    Row{"Expand", FromShapeRule<kReduceSum>},
    Row{"ExpertCombine", ExpertCombineRule},
    Row{"ExpertDispatch", ExpertDispatchRule},
    Row{"Floor", ZeroRule},
    Row{"FusedBatchNorm", NormalisationRule},
    Row{"Gather", FromShapeRule<kScatterND>},
    Row{"GatherElements", FromShapeRule<kScatterND>},
    Row{"GatherND", FromShapeRule<kScatterND>},
    Row{"GatherV2", GatherRule},
    Row{"Gelu", FromInputRule<kGeluGrad>},
    Row{"GroupNormalization", NormalisationRule},
    Row{"GRU", RecurrentRule},
    Row{"HardSigmoid", FromInputsRule},
    Row{"HardSwish", FromInputsRule},
    Row{"InstanceNormalization", NormalisationRule},
    Row{"LayerNorm", NormalisationRule},
    Row{"LeakyRelu", FromInputsRule},
    Row{"Log", FromInputsRule},
    Row{"LogSoftmax", FromOutputRule<kLogSoftmaxGrad>},
    Row{"LRN", NormalisationRule},
    Row{"LSTM", RecurrentRule},
    Row{"MatMul", MatMulRule},
    Row{"Maximum", FromInputsRule},
    Row{"MaxPool", MaxPoolRule},
    Row{"Mean", FromShapeRule<kTile>},
    Row{"Minimum", FromInputsRule},
    Row{"Mish", FromInputsRule},
    Row{"Mul", MulRule},
    Row{"Neg", SameTypeRule},
    Row{"Pack", ConcatRule},
    Row{"Pad", FromShapeRule<kSlice>},
    Row{"Pow", FromInputsRule},
    Row{"PRelu", FromInputsRule},
    Row{"Reciprocal", FromOutputRule<kReciprocalGrad>},
    Row{"ReduceL1", FromInputsRule},
    Row{"ReduceL2", FromInputsRule},
    Row{"ReduceLogSumExp", FromInputsRule},
    Row{"ReduceMax", FromInputsRule},
    Row{"ReduceMin", FromInputsRule},
    Row{"ReduceProd", FromInputsRule},
    Row{"ReduceSum", FromShapeRule<kTile>},
    Row{"ReduceSumSquare", FromInputsRule},
    Row{"Relu", FromOutputRule<kReluGrad>},
    Row{"Reshape", ReshapeRule},
    Row{"Resize", FromInputsRule},
    Row{"RMSNorm", NormalisationRule},
    Row{"RNN", RecurrentRule},
    Row{"RotaryEmbedding", RotaryRule},
    Row{"Round", ZeroRule},
    Row{"Scale", ScaleRule},
    Row{"Selu", FromInputsRule},
    Row{"Shift", ShiftRule},
    Row{"Sigmoid", FromOutputRule<kSigmoidGrad>},
    Row{"Sign", ZeroRule},
    Row{"Sin", FromInputsRule},
    Row{"Slice", FromShapeRule<kPad>},
    Row{"Softmax", FromOutputRule<kSoftmaxGrad>},
    Row{"SoftmaxCrossEntropyWithLogits", CrossEntropyRule},
    Row{"Softplus", FromInputsRule},
    Row{"Softsign", FromInputsRule},
    Row{"SpaceToDepth", SameTypeRule},
    Row{"Split", SplitRule},
    Row{"Sqrt", FromOutputRule<kSqrtGrad>},
    Row{"Sub", SubRule},
    Row{"Swish", FromInputRule<kSwishGrad>},
    Row{"Tanh", FromOutputRule<kTanhGrad>},
    Row{"Tile", FromShapeRule<kReduceSum>},
    Row{"TopK", TopKRule},
    Row{"Transpose", SameTypeRule},
    Row{"Unpack", SplitRule},
    Row{"Where", WhereRule},
};

}  // namespace

GradientRule FindGradientRule(const std::string& type) {
  const auto row = std::find_if(kRules.begin(), kRules.end(), [&](const Row& r) { return type == r.type; });
  return row == kRules.end() ? nullptr : row->rule;
}

GradientContext::GradientContext(GraphBuilder& builder, sim::OpIndex forward,
                                 std::vector<Tensor> output_gradients)
    : builder_(builder),
      index_(forward),
      forward_(builder.graph_.ops[static_cast<std::size_t>(forward)]),
      gradients_(std::move(output_gradients)) {}

std::optional<Tensor> GradientContext::gradient(int output) const {
  const Tensor found = gradients_[static_cast<std::size_t>(output)];
  return found.op < 0 ? std::nullopt : std::optional(found);
}

Tensor GradientContext::dy() {
  // A loss has none: its own gradient is one.
  if (gradients_[0].op < 0) {
    gradients_[0] = Emit({.type = "Constant", .name = "one", .inputs = {}, .outputs = {spec(output(0))}});
  }
  return gradients_[0];
}

bool GradientContext::wanted(int input) const {
  return builder_.requires_gradient(forward_.inputs[static_cast<std::size_t>(input)]);
}

Tensor GradientContext::Emit(OpSpec spec) {
  // Attributes of the location are added again by AppendAt.
  for (const auto& attribute : forward_.attributes) {
    if (attribute.first != "stage" && attribute.first != "branch") spec.attributes.push_back(attribute);
  }
  const Tensor made = builder_.AppendAt(spec, "gradients/" + forward_.name + "/" + spec.name, "backward",
                                        builder_.locations_[static_cast<std::size_t>(index_)]);
  builder_.graph_.ops.back().colocate = forward_.colocate;
  builder_.forward_of_.back() = index_;
  return made;
}

void GradientContext::EmitFor(int input_index, const std::string& type, const std::string& name,
                              const std::vector<Tensor>& reads, double flops) {
  if (!wanted(input_index)) return;
  const Tensor made = Emit(
      {.type = type, .name = name, .inputs = reads, .outputs = {spec(input(input_index))}, .flops = flops});
  Give(input_index, made);
}

void GradientContext::Give(int input_index, Tensor gradient) {
  if (wanted(input_index)) builder_.gradients_[input(input_index)].push_back(gradient);
}

}  // namespace stowplan::scenarios
