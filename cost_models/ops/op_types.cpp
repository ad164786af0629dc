#include "cost_models/ops/op_types.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace stowplan::cost_models {
namespace {

using enum OpClass;

// TensorFlow's names first, then ONNX's where they differ, then those of our own workloads.
constexpr OpType kOpTypes[] = {
    {"Conv2D", kConvolution, Grid::kMatrix},
    {"Conv2DBackpropInput", kConvolution, Grid::kMatrix},
    {"Conv2DBackpropFilter", kConvolution, Grid::kMatrix},
    {"Conv1D", kConvolution, Grid::kMatrix},
    {"Conv1DBackpropInput", kConvolution, Grid::kMatrix},
    {"Conv1DBackpropFilter", kConvolution, Grid::kMatrix},
    {"Conv3D", kConvolution, Grid::kMatrix},
    {"Conv3DBackpropInput", kConvolution, Grid::kMatrix},
    {"Conv3DBackpropFilter", kConvolution, Grid::kMatrix},
    {"Conv", kConvolution, Grid::kMatrix},
    {"ConvTranspose", kConvolution, Grid::kMatrix},
    {kConvolutionBackward, kConvolution},

    {"DepthwiseConv2D", kDepthwise},
    {"DepthwiseConv2DBackpropInput", kDepthwise},
    {"DepthwiseConv2DBackpropFilter", kDepthwise},
    {"DepthwiseConv2dNative", kDepthwise},
    {"DepthwiseConv2dNativeBackpropInput", kDepthwise},
    {"DepthwiseConv2dNativeBackpropFilter", kDepthwise},

    {"MatMul", kGemm, Grid::kMatrix},
    {"Gemm", kGemm, Grid::kMatrix},
    {"Linear", kGemm, Grid::kMatrix},
    {"BatchMatMul", kGemm, Grid::kBatched},
    {"BatchMatMulV2", kGemm, Grid::kBatched},
    {"Einsum", kGemm},
    {kGroupedProduct, kGemm, Grid::kMatrix, Access::kExperts},
    {"Attention", kGemm},
    {"AttentionGrad", kGemm},

    {"LSTM", kRecurrentGemm},
    {"LSTMGrad", kRecurrentGemm},
    {"LSTMCell", kRecurrentGemm},
    {"LSTMBlockCell", kRecurrentGemm},
    {"LSTMBlockCellGrad", kRecurrentGemm},
    {"GRU", kRecurrentGemm},
    {"GRUGrad", kRecurrentGemm},
    {"GRUBlockCell", kRecurrentGemm},
    {"RNN", kRecurrentGemm},
    {"RNNGrad", kRecurrentGemm},
    {"CudnnRNN", kRecurrentGemm},
    {"CudnnRNNBackprop", kRecurrentGemm},

    {"Abs", kElementwise},
    {"Add", kElementwise},
    {"AddN", kElementwise},
    {"AddV2", kElementwise},
    {"BiasAdd", kElementwise},
    {"Cast", kElementwise},
    {"Ceil", kElementwise},
    {"Clip", kElementwise},
    {"ClipByValue", kElementwise},
    {"Div", kElementwise},
    {"Dropout", kElementwise},
    {"DropoutGrad", kElementwise},
    {"Elu", kElementwise},
    {"Equal", kElementwise},
    {"Erf", kElementwise},
    {"ErfGrad", kElementwise},
    {"Exp", kElementwise},
    {"Fill", kElementwise},
    {"Floor", kElementwise},
    {"Gelu", kElementwise},
    {"GeluGrad", kElementwise},
    {"Greater", kElementwise},
    {"GreaterEqual", kElementwise},
    {"HardSigmoid", kElementwise},
    {"HardSwish", kElementwise},
    {"LeakyRelu", kElementwise},
    {"Less", kElementwise},
    {"Log", kElementwise},
    {"Max", kElementwise},
    {"Maximum", kElementwise},
    {"Min", kElementwise},
    {"Minimum", kElementwise},
    {"Mul", kElementwise},
    {"Neg", kElementwise},
    {"OnesLike", kElementwise},
    {"Pow", kElementwise},
    {"RandomUniform", kElementwise},
    {"RealDiv", kElementwise},
    {"Reciprocal", kElementwise},
    {"Relu", kElementwise},
    {"Relu6", kElementwise},
    {"ReluGrad", kElementwise},
    {"RotaryEmbedding", kElementwise},
    {"RotaryEmbeddingGrad", kElementwise},
    {"Rsqrt", kElementwise},
    {"Scale", kElementwise},  // our workloads: times a number
    {"Select", kElementwise},
    {"Sigmoid", kElementwise},
    {"SigmoidGrad", kElementwise},
    {"Shift", kElementwise},  // our workloads: a number more
    {"Sqrt", kElementwise},
    {"Square", kElementwise},
    {"Sub", kElementwise},
    {"Swish", kElementwise},
    {"SwishGrad", kElementwise},
    {"Tanh", kElementwise},
    {"TanhGrad", kElementwise},
    {"Where", kElementwise},
    {"ZerosLike", kElementwise},

    {"ArgMax", kReduction},
    {"AveragePool", kReduction},
    {"AvgPool", kReduction},
    {"AvgPoolGrad", kReduction},
    {"BiasAddGrad", kReduction},
    {"GlobalAveragePool", kReduction},
    {"GlobalMaxPool", kReduction},
    {"L2Loss", kReduction},
    {"MaxPool", kReduction},
    {"MaxPoolGrad", kReduction},
    {"Mean", kReduction},
    {"ReduceMax", kReduction},
    {"ReduceMean", kReduction},
    {"MulSum", kReduction},  // our workloads: gradient of a product with a broadcast factor
    {"ReduceL1", kReduction},
    {"ReduceL2", kReduction},
    {"ReduceLogSumExp", kReduction},
    {"ReduceMin", kReduction},
    {"ReduceProd", kReduction},
    {"ReduceSum", kReduction},
    {"ReduceSumSquare", kReduction},
    {"Sum", kReduction},  // TensorFlow's; ONNX's adds tensors, with the same bytes
    {"TopK", kReduction},

    {"BatchNormalization", kNormalisation},
    {"FusedBatchNorm", kNormalisation},
    {"FusedBatchNormGrad", kNormalisation},
    {"FusedBatchNormV3", kNormalisation},
    {"FusedBatchNormGradV3", kNormalisation},
    {"GroupNormalization", kNormalisation},
    {"GroupNormalizationGrad", kNormalisation},
    {"InstanceNormalization", kNormalisation},
    {"InstanceNormalizationGrad", kNormalisation},
    {"LRN", kNormalisation},
    {"LRNGrad", kNormalisation},
    {"LayerNorm", kNormalisation},
    {"LayerNormGrad", kNormalisation},
    {"LayerNormalization", kNormalisation},
    {"LogSoftmax", kNormalisation},
    {"LogSoftmaxGrad", kNormalisation},
    {"LpNormalization", kNormalisation},
    {"RMSNorm", kNormalisation},
    {"RMSNormGrad", kNormalisation},
    {"Softmax", kNormalisation},
    {"SoftmaxGrad", kNormalisation},
    {"SoftmaxCrossEntropy", kNormalisation},
    {"SoftmaxCrossEntropyGrad", kNormalisation},
    {"SoftmaxCrossEntropyWithLogits", kNormalisation},
    {"SparseSoftmaxCrossEntropyWithLogits", kNormalisation},

    {"Assign", kDataMovement},
    {"CacheWrite", kDataMovement, Grid::kNone, Access::kUpdate, 2},  // our workloads: rows into a kept tensor
    {"Concat", kDataMovement},
    {"ConcatV2", kDataMovement},
    {"DepthToSpace", kDataMovement},
    {"Expand", kDataMovement},
    {"ExpertCombine", kDataMovement},
    {"ExpertCombineGrad", kDataMovement},
    {"ExpertDispatch", kDataMovement},
    {"ExpertDispatchGrad", kDataMovement},
    {"EmbeddingBag", kDataMovement, Grid::kNone, Access::kRows},
    {"Gather", kDataMovement, Grid::kNone, Access::kSelected},
    {"GatherElements", kDataMovement, Grid::kNone, Access::kSelected},
    {"GatherGrad", kDataMovement},
    {"GatherND", kDataMovement, Grid::kNone, Access::kSelected},
    {"GatherV2", kDataMovement, Grid::kNone, Access::kSelected},
    {"Pack", kDataMovement},
    {"Pad", kDataMovement},
    {"ScatterElements", kDataMovement, Grid::kNone, Access::kInto},
    {"ScatterND", kDataMovement, Grid::kNone, Access::kInto},
    {"Resize", kDataMovement},
    {"Slice", kDataMovement, Grid::kNone, Access::kSelected},
    {"SpaceToDepth", kDataMovement},
    {"SliceGrad", kDataMovement},
    {"Split", kDataMovement, Grid::kNone, Access::kSelected},
    {"SplitV", kDataMovement, Grid::kNone, Access::kSelected},
    {"Stack", kDataMovement},
    {"StridedSlice", kDataMovement, Grid::kNone, Access::kSelected},
    {"StridedSliceGrad", kDataMovement},
    {"Tile", kDataMovement},
    {"TopKGrad", kDataMovement},
    {"Transpose", kDataMovement},
    {"Unpack", kDataMovement, Grid::kNone, Access::kSelected},
    {"Unstack", kDataMovement, Grid::kNone, Access::kSelected},

    // Read gradient and weight and write the weight; each slot is read and written.
    {"ApplyGradientDescent", kOptimizer, Grid::kNone, Access::kUpdate, 3},
    {"ApplyMomentum", kOptimizer, Grid::kNone, Access::kUpdate, 5},
    {"ApplyAdagrad", kOptimizer, Grid::kNone, Access::kUpdate, 5},
    {"ApplyAdam", kOptimizer, Grid::kNone, Access::kUpdate, 7},
    {"ApplyRMSProp", kOptimizer, Grid::kNone, Access::kUpdate, 7},

    {"ControlTrigger", kNothing},
    {"ExpandDims", kNothing},
    {"Flatten", kNothing},
    {"Group", kNothing},
    {"Identity", kNothing},
    {"NoOp", kNothing},
    {"ReadVariableOp", kNothing},
    {"Reshape", kNothing},
    {"Shape", kNothing},
    {"Squeeze", kNothing},
    {"StopGradient", kNothing},
    {"Unsqueeze", kNothing},
};

constexpr std::array<const char*, kOpClasses + 1> kClassNames = {
    "convolution", "dilated_convolution", "depthwise",     "gemm",      "recurrent_gemm", "elementwise",
    "reduction",   "normalisation",       "data_movement", "optimizer", "nothing",
};

bool AllOutputsAreViews(const sim::Op& op) {
  return !op.outputs.empty() && std::ranges::all_of(op.outputs, [](const sim::Output& output) {
    return output.storage != sim::Output::Storage::kOwn;
  });
}

bool IsDilated(const sim::Attributes& attributes) {
  const sim::Attribute* found = sim::FindAttribute(attributes, "dilations");
  const auto* list = found != nullptr ? std::get_if<sim::Attribute::List>(&found->value) : nullptr;
  return list != nullptr && std::ranges::any_of(*list, [](const sim::Attribute& item) {
           const auto* dilation = std::get_if<std::int64_t>(&item.value);
           return dilation != nullptr && *dilation > 1;
         });
}

}  // namespace

std::span<const OpType> OpTypes() {
  return kOpTypes;
}

const OpType* FindOpType(std::string_view type) {
  static const auto* const index = [] {
    auto* rows = new std::unordered_map<std::string_view, const OpType*>;
    for (const OpType& row : kOpTypes) rows->emplace(row.type, &row);
    return rows;
  }();
  const auto found = index->find(type);
  return found != index->end() ? found->second : nullptr;
}

const char* ToString(OpClass op_class) {
  return kClassNames[static_cast<std::size_t>(op_class)];
}

std::optional<OpClass> OpClassNamed(std::string_view name) {
  for (int i = 0; i < kOpClasses; ++i) {
    if (name == kClassNames[static_cast<std::size_t>(i)]) return static_cast<OpClass>(i);
  }
  return std::nullopt;
}

OpClass ClassOf(const sim::Op& op) {
  const OpType* row = FindOpType(op.type);
  if (row == nullptr) {
    if (op.flops > 0) return kGemm;
    return AllOutputsAreViews(op) ? kNothing : kElementwise;
  }
  return ClassOf(op, *row);
}

OpClass ClassOf(const sim::Op& op, const OpType& row) {
  if (row.op_class == kGemm && sim::FindBool(op.attributes, "recurrent").value_or(false))
    return kRecurrentGemm;
  if (row.op_class == kConvolution && IsDilated(op.attributes)) return kDilatedConvolution;
  return row.op_class;
}

std::vector<std::string> TypesOf(OpClass op_class) {
  std::vector<std::string> types;
  for (const OpType& row : kOpTypes) {
    if (row.op_class == op_class) types.emplace_back(row.type);
  }
  std::ranges::sort(types);
  return types;
}

std::string_view FamilyOf(std::string_view op_type, OpClass op_class) {
  static const std::unordered_map<std::string_view, std::string_view> families = [] {
    constexpr std::string_view kTranscendental[] = {
        "Erf", "Exp", "Gelu", "HardSwish", "Log", "Pow", "Sigmoid", "Swish", "Tanh", "GeluGrad", "SwishGrad"};
    constexpr std::string_view kPooling[] = {"AveragePool",       "AvgPool", "AvgPoolGrad",
                                             "GlobalAveragePool", "MaxPool", "GlobalMaxPool",
                                             "MaxPoolGrad"};
    constexpr std::string_view kSoftmax[] = {"LogSoftmax",
                                             "Softmax",
                                             "SoftmaxGrad",
                                             "SoftmaxCrossEntropy",
                                             "SoftmaxCrossEntropyWithLogits",
                                             "SparseSoftmaxCrossEntropyWithLogits"};
    std::unordered_map<std::string_view, std::string_view> made;
    for (const auto type : kTranscendental) made.emplace(type, "transcendental");
    for (const auto type : kPooling) made.emplace(type, "pooling");
    for (const auto type : kSoftmax) made.emplace(type, "softmax");
    return made;
  }();
  if (const auto found = families.find(op_type); found != families.end()) return found->second;
  return ToString(op_class == OpClass::kRecurrentGemm ? OpClass::kGemm : op_class);
}

}  // namespace stowplan::cost_models
