// The state of Resolve(): model_tensors.cpp has inputs and weights, resolver.cpp nodes and shapes, control_flow.cpp
// what writes out other graphs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "scenarios/importers/onnx/order.h"
#include "scenarios/importers/onnx/resolve.h"
#include "scenarios/importers/onnx/shapes.h"

namespace stowplan::scenarios::onnx_import {

using Hints = std::unordered_map<std::string, const onnx::TypeProto*>;  // what a graph says of its tensors

// What is written out with more tensors, or longer names and attributes, counts as several visits.
inline constexpr std::size_t kTensorsOfAVisit = 4, kBytesOfAVisit = 256;

// How --dim names an axis of a tensor: "images:0".
std::string AxisName(const std::string& tensor, std::size_t axis);

// What is worked out once for a graph or function, however often it is written out.
struct Plan {
  std::vector<int> order;  // of its nodes
  Hints hints;
  std::vector<onnx::AttributeProto> defaults;    // of a function: attributes that callers may leave out
  std::vector<onnx::ValueInfoProto> types;       // of a function: what its hints point to
  std::unordered_set<std::string_view> formals;  // of a function: the names of its inputs
};

// The names of one graph while it is written out.
struct Scope {
  const Scope* outer = nullptr;  // whose names a subgraph sees
  std::string prefix;            // of the names of nodes
  int opset = 0;
  int depth = 0;
  const Plan* plan = nullptr;
  std::unordered_map<std::string, TensorIndex> tensors;
  // Further outputs whose shape is not known, with the sentence for who reads them; mostly nobody does.
  std::unordered_map<std::string, std::string> shapeless;
};

class Resolver {
 public:
  Resolver(const onnx::ModelProto& model, const std::string& source,
           const std::map<std::string, std::int64_t>& dims);

  ResolvedModel Run();

 private:
  using Shapes = std::vector<Shape>;

  // model_tensors.cpp
  void AddInputs(Scope& scope);
  Shape InputShape(const onnx::ValueInfoProto& input, std::vector<std::string>& missing);
  void AddWeights(const onnx::GraphProto& graph, Scope& scope);
  void CheckDimsUsed() const;

  // resolver.cpp
  const Plan& PlanOf(const onnx::GraphProto& graph);
  void ResolveNodes(const Nodes& nodes, Scope& scope);
  void ResolveNode(const onnx::NodeProto& node, Scope& scope);
  bool TryFold(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope);
  void AddStep(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope);
  std::optional<Shape> ShapeOfOutput(const onnx::NodeProto& node, int i, const InferredOutput& inferred,
                                     const std::vector<TensorIndex>& inputs, Scope& scope);
  Shape CompleteShape(const onnx::NodeProto& node, const std::string& name, const InferredOutput& inferred,
                      const std::vector<TensorIndex>& inputs, const Scope& scope);
  [[noreturn]] void FailOnMissing(const onnx::NodeProto& node, const std::string& name,
                                  const std::vector<std::size_t>& axes,
                                  const std::vector<TensorIndex>& inputs) const;
  void DropUnused();

  // control_flow.cpp
  void ResolveIf(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope);
  void ResolveLoop(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope);
  void ResolveScan(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope);
  void CallFunction(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                    const std::vector<TensorIndex>& inputs, Scope& scope);
  const onnx::FunctionProto* FindFunction(const onnx::NodeProto& node) const;
  const onnx::GraphProto& BodyOf(const onnx::NodeProto& node, const char* attribute,
                                 const Scope& scope) const;
  std::vector<TensorIndex> WriteOut(const onnx::NodeProto& node, const onnx::GraphProto& body,
                                    const std::vector<TensorIndex>& arguments, const Scope& outer,
                                    const std::string& prefix);
  TensorIndex Pack(const onnx::NodeProto& node, const std::vector<TensorIndex>& parts, std::size_t axis,
                   const Scope& scope);
  std::vector<TensorIndex> Unpack(const onnx::NodeProto& node, TensorIndex whole, std::size_t axis,
                                  const Scope& scope);

  // Both
  const TensorInfo& Info(TensorIndex tensor) const {
    return result_.tensors[static_cast<std::size_t>(tensor)];
  }
  // These refuse beyond a limit.
  void CheckAttributes(const onnx::NodeProto& node, int attributes) const;  // its own, or its function's
  void CountVisits(const onnx::NodeProto& node, std::size_t visits);
  void CountAxes(const onnx::NodeProto& node, std::size_t axes);  // of tensors that are written out
  void CountFoldWork(const onnx::NodeProto& node, std::int64_t work);
  TensorIndex Add(TensorInfo info, const std::string& place);
  TensorIndex AddConstant(std::int64_t number, int elem_type);
  // kAbsent if nobody gives it. Throws InputError where its shape is not known.
  TensorIndex Find(const std::string& name, const Scope& scope) const;
  TensorIndex Lookup(const onnx::NodeProto& node, const std::string& name, const Scope& scope) const;
  void Bind(const onnx::NodeProto& node, const std::string& name, TensorIndex tensor, Scope& scope) const;
  std::string PlaceOf(const onnx::NodeProto& node) const;  // "model.onnx: node 'x' (Conv)"
  [[noreturn]] void Fail(const onnx::NodeProto& node, const std::string& what) const;

  const onnx::ModelProto& model_;
  const std::string& source_;
  const std::map<std::string, std::int64_t>& dims_;
  std::set<std::string> dims_used_;
  std::set<std::string> dims_known_;  // names that --dim could have
  std::set<std::string> dims_missing_;
  std::unordered_map<const void*, Plan> plans_;
  std::map<std::pair<std::string_view, std::string_view>, const onnx::FunctionProto*>
      functions_;  // by domain and name
  std::unordered_map<const onnx::TensorProto*, TensorIndex> weights_;
  std::vector<const onnx::TensorProto*> newest_weights_;  // the keys of weights_, the newest last
  int model_opset_ = 0;
  const std::int64_t most_visits_;
  std::int64_t visits_ = 0;
  std::int64_t fold_work_ = 0;  // [numbers x axes]
  std::int64_t folded_ = 0;
  std::set<std::string> assumed_;  // ops that are not known and do not say their shapes
  ResolvedModel result_;
};

}  // namespace stowplan::scenarios::onnx_import
