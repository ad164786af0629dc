// What the rules of the ONNX library leave open: whether the attributes, sizes and known values of a node fit
// together. The library multiplies, divides by and indexes with them without a look, or takes a shape as it
// comes, so that a file that no runtime would run came out as a graph.
//
// Everything here throws std::invalid_argument with what is wrong and what would be right, as the part of a
// sentence about the node ("its filter ..."). What is not known (an input that is left out, values that are not
// in the file) is not judged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/importers/onnx/values.h"

namespace stowplan::scenarios::onnx_import {

// Products of a few such numbers with an image (kLongestAxis) stay far from 2^63.
inline constexpr std::int64_t kMostStride = 1 << 20;
inline constexpr std::int64_t kLongestAxis = 1 << 30;

// One node as its rules see it.
class NodeFacts {
 public:
  NodeFacts(const onnx::NodeProto& node, int opset, const std::vector<const TensorInfo*>& inputs)
      : node_(node), opset_(opset), inputs_(inputs) {}

  const onnx::NodeProto& node() const { return node_; }
  const std::string& type() const { return node_.op_type(); }
  int opset() const { return opset_; }
  std::size_t inputs() const { return inputs_.size(); }
  bool Has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  bool HasAll(std::size_t count) const;  // inputs 0 to count - 1
  const TensorInfo& info(std::size_t i) const { return *inputs_.at(i); }
  const Shape& shape(std::size_t i) const { return info(i).shape; }
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }
  // Null where the values are not known, or are no integers (no reals).
  const std::vector<std::int64_t>* ints(std::size_t i) const;
  const std::vector<double>* reals(std::size_t i) const;
  bool HasAttribute(const char* name) const { return FindAttribute(node_, name) != nullptr; }
  std::int64_t Int(const char* name, std::int64_t fallback) const {
    return IntAttribute(node_, name, fallback);
  }
  std::vector<std::int64_t> Ints(const char* name) const { return IntsAttribute(node_, name); }

 private:
  const onnx::NodeProto& node_;
  int opset_;
  const std::vector<const TensorInfo*>& inputs_;
};

// "[5,7,3,3]"
std::string ShapeText(const Shape& shape);
[[noreturn]] void Refuse(const std::string& what);
// -rank .. rank - 1, or it is refused; counted from the front.
std::size_t CheckedAxis(std::int64_t axis, std::int64_t rank, const std::string& what);
// May `from` be broadcast to `to`, which stays as it is?
bool Fits(const Shape& from, const Shape& to);
// Input i, if it is there, has this shape. `what`: "its bias"; `why`: "a number for each channel".
void RequireShape(const NodeFacts& facts, std::size_t i, const Shape& wanted, std::string_view what,
                  std::string_view why);

using NodeRule = void (*)(const NodeFacts& facts);
struct NodeRuleRow {
  const char* type;
  NodeRule rule;
};
extern const std::vector<NodeRuleRow> kWindowRules;  // window_rules.cpp: what slides over images
extern const std::vector<NodeRuleRow>
    kLayerRules;  // layer_rules.cpp: products, normalisations, cells, losses
extern const std::vector<NodeRuleRow> kMovementRules;  // movement_rules.cpp: what moves, repeats, resizes

// Numbers that are multiplied, divided by or counted with, whatever the type of the node.
void CheckCommonAttributes(const NodeFacts& facts);
// These and all rules, by the type of the node.
void CheckNode(const onnx::NodeProto& node, int opset, const std::vector<const TensorInfo*>& inputs);

}  // namespace stowplan::scenarios::onnx_import
