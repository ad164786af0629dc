// From the nodes of a model to ops of the graph builder: types as our workloads call them, FLOPs, attributes,
// storage, gradients.
//
// Layout: ONNX has images as NCHW and filters as OIHW. Shapes stay that way, and ops of images say so
// (attribute `data_format`), which prices read; bytes and FLOPs do not depend on it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "scenarios/builder/graph_builder.h"
#include "scenarios/importers/onnx/resolve.h"

namespace stowplan::scenarios::onnx_import {

// Texts of a model as our files hold them: control characters, and everything beyond ASCII in what is no UTF-8,
// become underscores.
std::string PlainText(std::string text);

// Ops that are priced by their bytes alone because nothing else is known of them.
struct Guessed {
  std::int64_t ops = 0;
  double bytes = 0;  // of their outputs
};

class Lowering {
 public:
  Lowering(const ResolvedModel& model, GraphBuilder& builder);

  // Adds every node. The tensor of an output of the model is then in Of().
  void Run();

  const std::map<std::string, Guessed>& guessed() const { return guessed_; }

  // ---- what the rules of single types use

  const TensorInfo& Info(TensorIndex tensor) const {
    return model_.tensors[static_cast<std::size_t>(tensor)];
  }
  // Of input or output i of a node; null if it is left out.
  const TensorInfo* InputInfo(const ResolvedNode& node, std::size_t i) const;
  const TensorInfo& OutputInfo(const ResolvedNode& node, std::size_t i = 0) const;
  bool HasInput(const ResolvedNode& node, std::size_t i) const { return InputInfo(node, i) != nullptr; }
  bool training() const { return builder_.training(); }
  // Input i as a tensor of the graph: variables, constants and placeholders are added at their first use.
  Tensor In(const ResolvedNode& node, std::size_t i) { return Of(node.inputs.at(i)); }
  Tensor Of(TensorIndex tensor);
  bool IsWeight(TensorIndex tensor) const;  // an initializer, or a view of one
  bool IsRead(TensorIndex index);           // by a node, or as an output of the model
  // Adds the op and binds the outputs of the node. `spec.outputs` are filled in from the node; its name too,
  // where it is empty.
  Tensor Emit(const ResolvedNode& node, OpSpec spec);
  // Adds an op that is no output of the node but comes before it.
  Tensor EmitBefore(const ResolvedNode& node, OpSpec spec);
  // Another name of a tensor.
  void Alias(const ResolvedNode& node, Tensor tensor);
  // Output 0 plus a bias along an axis: the product under the name of the node, then the bias.
  void EmitWithBias(const ResolvedNode& node, OpSpec product, std::optional<Tensor> bias,
                    bool channels_first);
  TensorSpec SpecOf(const TensorInfo& info) const { return {info.shape, DtypeOf(info.elem_type)}; }
  // A legal name that no other op has: "x", "x#1", ….
  std::string Unique(const std::string& name);

 private:
  void Guess(const ResolvedNode& node);
  // The first op of a node says what the file calls it, where that is another name: what exports go by.
  void SayNode(const ResolvedNode& node, OpSpec& spec);

  const ResolvedModel& model_;
  GraphBuilder& builder_;
  std::vector<Tensor> tensors_;  // by TensorIndex; op = -1: not yet
  std::vector<bool> read_;       // by tensor; empty = nobody asked
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> next_;
  std::map<std::string, Guessed> guessed_;
  const ResolvedNode* said_ = nullptr;  // the node that has an op
};

// Rules of types that multiply and add (contractions.cpp), or are not simply one op of their tensors
// (special.cpp).
using Rule = void (*)(Lowering& lowering, const ResolvedNode& node);
void LowerConv(Lowering& lowering, const ResolvedNode& node);
void LowerDeformConv(Lowering& lowering, const ResolvedNode& node);
void LowerConvTranspose(Lowering& lowering, const ResolvedNode& node);
void LowerQuantisedConv(Lowering& lowering, const ResolvedNode& node);
void LowerGemm(Lowering& lowering, const ResolvedNode& node);
void LowerMatMul(Lowering& lowering, const ResolvedNode& node);
void LowerQuantisedMatMul(Lowering& lowering, const ResolvedNode& node);
void LowerEinsum(Lowering& lowering, const ResolvedNode& node);
void LowerAttention(Lowering& lowering, const ResolvedNode& node);
void LowerRecurrent(Lowering& lowering, const ResolvedNode& node);
void LowerBatchNorm(Lowering& lowering, const ResolvedNode& node);
void LowerPool(Lowering& lowering, const ResolvedNode& node);
void LowerDropout(Lowering& lowering, const ResolvedNode& node);
void LowerGather(Lowering& lowering, const ResolvedNode& node);
void LowerTranspose(Lowering& lowering, const ResolvedNode& node);
void LowerCrossEntropy(Lowering& lowering, const ResolvedNode& node);
void LowerPack(Lowering& lowering, const ResolvedNode& node);

// Attributes of a window that slides over images: kernel, strides, padding, dilations, groups, layout.
sim::Attributes WindowAttributes(const onnx::NodeProto& node, const std::vector<std::int64_t>& kernel);

}  // namespace stowplan::scenarios::onnx_import
