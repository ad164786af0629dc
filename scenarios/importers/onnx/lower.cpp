#include "scenarios/importers/onnx/lower.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "scenarios/importers/onnx/collectives.h"
#include "scenarios/onnx_files/onnx_nodes.h"
#include "sim/base/error.h"
#include "sim/formats/collectives.h"
#include "sim/formats/document/source.h"

namespace stowplan::scenarios::onnx_import {
namespace {

constexpr std::size_t kAllInputs = std::numeric_limits<std::size_t>::max();

// How an ONNX type becomes an op of ours.
struct Row {
  const char* onnx;
  const char* ours;
  // Inputs from this one on only say how (a shape, axes, bounds): they are read where they are computed, and
  // left out where they are known.
  std::size_t data_inputs = kAllInputs;
  Rule rule = nullptr;  // else: one op of the inputs and outputs of the node
  bool in_place = false;
  bool view = false;
};

constexpr std::array kRows = {
    Row{"Abs", "Abs"},
    Row{"Acos", "Acos"},
    Row{"Add", "Add"},
    Row{"And", "And"},
    Row{"ArgMax", "ArgMax"},
    Row{"ArgMin", "ArgMin"},
    Row{"Asin", "Asin"},
    Row{"Atan", "Atan"},
    Row{"Attention", "Attention", kAllInputs, LowerAttention},
    Row{"AveragePool", "AvgPool", 1, LowerPool},
    Row{"BatchNormalization", "FusedBatchNorm", kAllInputs, LowerBatchNorm},
    Row{"BitwiseAnd", "And"},
    Row{"BitwiseNot", "Not"},
    Row{"BitwiseOr", "Or"},
    Row{"BitwiseXor", "Xor"},
    Row{"Cast", "Cast"},
    Row{"CastLike", "Cast", 1},
    Row{"Ceil", "Ceil"},
    Row{"Celu", "Elu"},
    Row{"CenterCropPad", "Pad", 1},
    Row{"Clip", "Clip", 1},
    Row{"Concat", "ConcatV2"},
    Row{"ConstantOfShape", "Fill", 0},
    Row{"Conv", "Conv2D", kAllInputs, LowerConv},
    Row{"ConvInteger", "Conv2D", kAllInputs, LowerQuantisedConv},
    Row{"ConvTranspose", "ConvTranspose", kAllInputs, LowerConvTranspose},
    Row{"Cos", "Cos"},
    Row{"CumSum", "CumSum", 1},
    Row{"DeformConv", "Conv2D", kAllInputs, LowerDeformConv},
    Row{"DepthToSpace", "DepthToSpace"},
    Row{"DequantizeLinear", "DequantizeLinear"},
    Row{"Div", "Div"},
    Row{"Dropout", "Dropout", 1, LowerDropout},
    Row{"DynamicQuantizeLinear", "DynamicQuantizeLinear"},
    Row{"Einsum", "BatchMatMul", kAllInputs, LowerEinsum},
    Row{"Elu", "Elu"},
    Row{"Equal", "Equal"},
    Row{"Erf", "Erf"},
    Row{"Exp", "Exp"},
    Row{"Expand", "Expand", 1},
    Row{"EyeLike", "Fill", 0},
    Row{"Flatten", "Reshape", 1, nullptr, false, true},
    Row{"Floor", "Floor"},
    Row{"GRU", "GRU", kAllInputs, LowerRecurrent},
    Row{"Gather", "GatherV2", kAllInputs, LowerGather},
    Row{"GatherElements", "GatherElements"},
    Row{"GatherND", "GatherND"},
    Row{"Gelu", "Gelu"},
    Row{"Gemm", "MatMul", kAllInputs, LowerGemm},
    Row{"GlobalAveragePool", "Mean"},
    Row{"GlobalMaxPool", "ReduceMax"},
    Row{"Greater", "Greater"},
    Row{"GreaterOrEqual", "GreaterEqual"},
    Row{"GroupNormalization", "GroupNormalization"},
    Row{"HardSigmoid", "HardSigmoid"},
    Row{"HardSwish", "HardSwish"},
    Row{"InstanceNormalization", "InstanceNormalization"},
    Row{"IsInf", "IsInf"},
    Row{"IsNaN", "IsNaN"},
    Row{"LRN", "LRN"},
    Row{"LSTM", "LSTM", kAllInputs, LowerRecurrent},
    Row{"LayerNormalization", "LayerNorm"},
    Row{"LeakyRelu", "LeakyRelu"},
    Row{"Less", "Less"},
    Row{"LessOrEqual", "LessEqual"},
    Row{"Log", "Log"},
    Row{"LogSoftmax", "LogSoftmax"},
    Row{"LpNormalization", "LpNormalization"},
    Row{"MatMul", "MatMul", kAllInputs, LowerMatMul},
    Row{"MatMulInteger", "MatMul", kAllInputs, LowerQuantisedMatMul},
    Row{"Max", "Maximum"},
    Row{"MaxPool", "MaxPool", 1, LowerPool},
    Row{"Mean", "AddN"},
    Row{"MeanVarianceNormalization", "InstanceNormalization"},
    Row{"Min", "Minimum"},
    Row{"Mish", "Mish"},
    Row{"Mod", "Mod"},
    Row{"Mul", "Mul"},
    Row{"Neg", "Neg"},
    Row{"NonZero", "NonZero"},
    Row{"Not", "Not"},
    Row{"OneHot", "OneHot", 1},
    Row{"Or", "Or"},
    Row{"PRelu", "PRelu"},
    Row{"Pad", "Pad", 1},
    Row{"Pow", "Pow"},
    Row{"QLinearConv", "Conv2D", kAllInputs, LowerQuantisedConv},
    Row{"QLinearMatMul", "MatMul", kAllInputs, LowerQuantisedMatMul},
    Row{"QuantizeLinear", "QuantizeLinear"},
    Row{"RNN", "RNN", kAllInputs, LowerRecurrent},
    Row{"RMSNormalization", "RMSNorm"},
    Row{"RandomNormal", "RandomUniform", 0},
    Row{"RandomNormalLike", "RandomUniform", 0},
    Row{"RandomUniform", "RandomUniform", 0},
    Row{"RandomUniformLike", "RandomUniform", 0},
    Row{"Range", "Fill", 0},
    Row{"Reciprocal", "Reciprocal"},
    Row{"ReduceL1", "ReduceL1", 1},
    Row{"ReduceL2", "ReduceL2", 1},
    Row{"ReduceLogSum", "ReduceLogSum", 1},
    Row{"ReduceLogSumExp", "ReduceLogSumExp", 1},
    Row{"ReduceMax", "ReduceMax", 1},
    Row{"ReduceMean", "Mean", 1},
    Row{"ReduceMin", "ReduceMin", 1},
    Row{"ReduceProd", "ReduceProd", 1},
    Row{"ReduceSum", "ReduceSum", 1},
    Row{"ReduceSumSquare", "ReduceSumSquare", 1},
    Row{"Relu", "Relu", kAllInputs, nullptr, true},
    Row{"Reshape", "Reshape", 1, nullptr, false, true},
    Row{"Resize", "Resize", 1},
    Row{"RotaryEmbedding", "RotaryEmbedding"},
    Row{"Round", "Round"},
    Row{"ScatterElements", "ScatterElements"},
    Row{"ScatterND", "ScatterND"},
    Row{"Selu", "Selu"},
    Row{"Sigmoid", "Sigmoid"},
    Row{"Sign", "Sign"},
    Row{"Sin", "Sin"},
    Row{"Slice", "Slice", 1},
    Row{"Softmax", "Softmax"},
    Row{"SoftmaxCrossEntropyLoss", "SoftmaxCrossEntropyWithLogits", kAllInputs, LowerCrossEntropy},
    Row{"Softplus", "Softplus"},
    Row{"Softsign", "Softsign"},
    Row{"SpaceToDepth", "SpaceToDepth"},
    Row{"Split", "Split", 1},
    Row{"Sqrt", "Sqrt"},
    Row{"Squeeze", "Reshape", 1, nullptr, false, true},
    Row{"Sub", "Sub"},
    Row{"Sum", "AddN"},
    Row{"Tan", "Tan"},
    Row{"Tanh", "Tanh"},
    Row{"ThresholdedRelu", "LeakyRelu"},
    Row{"Tile", "Tile", 1},
    Row{"TopK", "TopK", 1},
    Row{"Transpose", "Transpose", 1, LowerTranspose},
    Row{"Trilu", "Trilu", 1},
    Row{"Unsqueeze", "Reshape", 1, nullptr, false, true},
    Row{"Upsample", "Resize", 1},
    Row{"Where", "Where"},
    Row{"Xor", "Xor"},
};

constexpr std::array kOwnRows = {
    Row{"Pack", "Pack", kAllInputs, LowerPack},
    Row{"Unpack", "Unpack", kAllInputs, LowerPack},
};

void LowerCollective(Lowering& lowering, const ResolvedNode& node) {
  const std::int64_t ranks = RanksOf(*node.proto);
  if (ranks == 1) return lowering.Alias(node, lowering.In(node, 0));
  OpSpec spec{.type = node.proto->op_type(), .name = "", .inputs = {lowering.In(node, 0)}, .outputs = {}};
  AddAttribute(spec.attributes, "ranks", ranks);
  lowering.Emit(node, std::move(spec));
}

constexpr Row kCollectiveRow = {"", "", kAllInputs, LowerCollective};

const Row* FindRow(const onnx::NodeProto& node) {
  if (IsCollective(node)) return &kCollectiveRow;
  const auto find = [&](const auto& rows) -> const Row* {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return node.op_type() == r.onnx; });
    return row != rows.end() ? &*row : nullptr;
  };
  if (node.domain().empty() || node.domain() == "ai.onnx") return find(kRows);
  return node.domain() == kOwnDomain ? find(kOwnRows) : nullptr;
}

// Names of ONNX are any text; ours are not empty and do not end like an output.
std::string PlainName(const std::string& name) {
  std::string plain = PlainText(name);
  if (sim::EndsLikeAnOutput(plain)) plain[plain.rfind(':')] = '_';
  return plain.empty() ? "unnamed" : plain;
}

// PyTorch names nodes by module: "/layer1/layer1.0/conv1/Conv" belongs to "layer1/layer1.0", and "layers.0.mlp.up/MatMul",
// a path of modules, to its block "layers.0".
std::string GroupOf(const std::string& name) {
  if (const auto slash = name.find('/'); slash != 0 && slash != std::string::npos) {
    const auto number = name.find_first_of("0123456789", name.find('.'));
    if (number < slash && name[number - 1] == '.')
      return name.substr(0, std::min(name.find('.', number), slash));
  }
  const auto begin = name.starts_with('/') ? std::size_t{1} : std::size_t{0};
  const auto first = name.find('/', begin);
  if (first == std::string::npos) return "";
  const auto second = name.find('/', first + 1);
  return second == std::string::npos ? name.substr(begin, first - begin) : name.substr(begin, second - begin);
}

}  // namespace

std::string PlainText(std::string text) {
  try {
    formats::CheckUtf8(text, "");
    if (!formats::HasControl(text)) return text;
  } catch (const InputError&) {
    // Told below.
  }
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '_');
  return text;
}

Lowering::Lowering(const ResolvedModel& model, GraphBuilder& builder)
    : model_(model), builder_(builder), tensors_(model.tensors.size()) {}

const TensorInfo* Lowering::InputInfo(const ResolvedNode& node, std::size_t i) const {
  return i < node.inputs.size() && node.inputs[i] != kAbsent ? &Info(node.inputs[i]) : nullptr;
}

const TensorInfo& Lowering::OutputInfo(const ResolvedNode& node, std::size_t i) const {
  return Info(node.outputs.at(i));
}

std::string Lowering::Unique(const std::string& name) {
  const std::string plain = PlainName(name);
  if (names_.insert(plain).second) return plain;
  for (int& number = next_[plain];;) {
    std::string numbered = plain + "#" + std::to_string(++number);
    if (names_.insert(numbered).second) return numbered;
  }
}

Tensor Lowering::Of(TensorIndex index) {
  Tensor& tensor = tensors_.at(static_cast<std::size_t>(index));
  if (tensor.op >= 0) return tensor;
  const TensorInfo& info = Info(index);
  const std::string dtype = DtypeOf(info.elem_type);
  const std::string name = Unique(info.name);
  switch (info.kind) {
    case TensorInfo::Kind::kInput:
      tensor = builder_.Placeholder(name, info.shape, dtype);
      break;
    case TensorInfo::Kind::kWeight:
      tensor = IsFloating(dtype) ? builder_.Variable(name, info.shape, dtype)
                                 : builder_.State(name, info.shape, dtype);
      break;
    case TensorInfo::Kind::kConstant:
      tensor = builder_.Constant(name, info.shape, dtype);
      break;
    case TensorInfo::Kind::kComputed:
      STOWPLAN_CHECK(false);  // its node comes first
  }
  return tensor;
}

bool Lowering::IsRead(TensorIndex index) {
  if (index == kAbsent) return false;
  if (read_.empty()) {
    read_.resize(tensors_.size());
    const auto note = [&](TensorIndex tensor) {
      if (tensor != kAbsent) read_[static_cast<std::size_t>(tensor)] = true;
    };
    for (const ResolvedNode& node : model_.nodes) std::ranges::for_each(node.inputs, note);
    std::ranges::for_each(model_.outputs, note);
  }
  return read_[static_cast<std::size_t>(index)];
}

bool Lowering::IsWeight(TensorIndex index) const {
  if (Info(index).kind == TensorInfo::Kind::kWeight) return true;
  const Tensor tensor = tensors_[static_cast<std::size_t>(index)];
  return tensor.op >= 0 && builder_.IsViewOfVariable(tensor);
}

void Lowering::SayNode(const ResolvedNode& node, OpSpec& spec) {
  if (said_ == &node || training()) return;
  said_ = &node;
  if (!node.node_name.empty() && spec.name != node.node_name)
    AddAttribute(spec.attributes, "onnx_node", PlainText(node.node_name));
}

Tensor Lowering::Emit(const ResolvedNode& node, OpSpec spec) {
  const bool own_outputs = !spec.outputs.empty();
  if (spec.name.empty()) spec.name = Unique(node.name);
  SayNode(node, spec);
  std::vector<TensorIndex> bound;
  for (const TensorIndex output : node.outputs) {
    if (output == kAbsent) continue;
    bound.push_back(output);
    if (!own_outputs) spec.outputs.push_back(SpecOf(Info(output)));
  }
  if (spec.view_of >= 0) {
    const Tensor source = spec.inputs.at(static_cast<std::size_t>(spec.view_of));
    if (Elements(builder_.shape(source)) != Elements(spec.outputs.at(0).shape)) {
      throw InputError("node '" + node.name + "' (" + node.proto->op_type() + "): turns " +
                       std::to_string(Elements(builder_.shape(source))) + " elements into " +
                       std::to_string(Elements(spec.outputs[0].shape)) + "; export the model again");
    }
  }
  const Tensor made = builder_.Append(spec);
  for (std::size_t i = 0; i < bound.size() && i < spec.outputs.size(); ++i) {
    tensors_[static_cast<std::size_t>(bound[i])] = {made.op, static_cast<std::int32_t>(i)};
  }
  return made;
}

Tensor Lowering::EmitBefore(const ResolvedNode& node, OpSpec spec) {
  spec.name = Unique(node.name);
  SayNode(node, spec);
  return builder_.Append(spec);
}

void Lowering::Alias(const ResolvedNode& node, Tensor tensor) {
  tensors_[static_cast<std::size_t>(node.outputs.at(0))] = tensor;
}

void Lowering::EmitWithBias(const ResolvedNode& node, OpSpec product, std::optional<Tensor> bias,
                            bool channels_first) {
  if (!bias) {
    Emit(node, std::move(product));
    return;
  }
  product.outputs = {SpecOf(OutputInfo(node))};
  const Tensor made = EmitBefore(node, std::move(product));
  const bool along_one_axis = builder_.shape(*bias).size() == 1;
  OpSpec spec{.type = along_one_axis ? "BiasAdd" : "Add",
              .name = Unique(node.name + std::string(kBiasAdd)),
              .inputs = {made, *bias},
              .outputs = {},
              .in_place = along_one_axis ? 0 : -1};
  if (channels_first) AddAttribute(spec.attributes, "data_format", std::string("NCHW"));
  Emit(node, std::move(spec));
}

void Lowering::Guess(const ResolvedNode& node) {
  const std::string& domain = node.proto->domain();
  OpSpec spec{.type = PlainText(domain.empty() ? formats::NoCollective(node.proto->op_type())
                                               : domain + "." + node.proto->op_type()),
              .name = "",
              .inputs = {},
              .outputs = {}};
  Guessed& guessed = guessed_[spec.type];
  ++guessed.ops;
  for (const TensorIndex input : node.inputs) {
    if (input != kAbsent) spec.inputs.push_back(Of(input));
  }
  for (const TensorIndex output : node.outputs) {
    if (output == kAbsent) continue;
    const TensorSpec tensor = SpecOf(Info(output));
    guessed.bytes += static_cast<double>(BytesOf(tensor.shape, tensor.dtype));
  }
  Emit(node, std::move(spec));
}

void Lowering::Run() {
  for (const ResolvedNode& node : model_.nodes) {
    builder_.SetLocation({-1, -1, GroupOf(PlainText(node.name))});  // weights are of their first reader's
    // A type that its operator set does not have is not what we know under its name.
    const Row* row = node.standard ? FindRow(*node.proto) : nullptr;
    if (row == nullptr) {
      Guess(node);
    } else if (row->rule != nullptr) {
      row->rule(*this, node);
    } else {
      OpSpec spec{.type = row->ours,
                  .name = "",
                  .inputs = {},
                  .outputs = {},
                  .view_of = row->view ? 0 : -1,
                  .in_place = row->in_place ? 0 : -1};
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorInfo* info = InputInfo(node, i);
        const bool known = info == nullptr || info->kind != TensorInfo::Kind::kComputed;
        if (info != nullptr && (i < row->data_inputs || !known)) spec.inputs.push_back(In(node, i));
      }
      Emit(node, std::move(spec));
    }
  }
}

}  // namespace stowplan::scenarios::onnx_import
