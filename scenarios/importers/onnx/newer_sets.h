// Operator sets 18 to 23 on a library that was made for 17: what a node of them says is either put in the words of
// set 17 (axes that became inputs, attributes that add nothing to a shape), or judged by rules of ours where set 17
// has no such op (newer_ops.cpp). Sets up to 17 never come here, and a younger library gives the same.
// Source: the standard's changelog (Changelog.md of onnx).
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/importers/onnx/node_rules.h"
#include "scenarios/importers/onnx/values.h"

namespace stowplan::scenarios::onnx_import {

inline constexpr int kLibrarySet = 17;
inline constexpr int kNewestSet = 23;

// A node as set 17 would have it, and what it reads; for shapes alone, the step keeps the node of the file.
struct Translated {
  onnx::NodeProto node;
  std::vector<const TensorInfo*> inputs;  // of the file, or of `made`
  std::deque<TensorInfo> made;
  // Set where the shape depends on values that are not known, which set 17 has no words for.
  std::optional<InferredOutput> unknown;
};

// Is it an op that is put in other words? (Reductions are of set 17 too.)
bool IsTranslated(const onnx::NodeProto& node, int opset);
// Throws std::invalid_argument, as CheckNode().
Translated ToLibrarySet(const NodeFacts& facts, const std::vector<const TensorInfo*>& inputs);

// Of one Attention, its queries, keys and values split into heads.
struct AttentionSizes {
  std::int64_t batch, heads, key_heads, queries;
  std::int64_t past, keys;  // keys from earlier calls, and of this one
  std::int64_t size, value_size;
};
AttentionSizes SizesOfAttention(const NodeFacts& facts);

// One entry for each output of the node.
using NewerRule = std::vector<InferredOutput> (*)(const NodeFacts& facts);
// Null where set 17 has the op, or none of ours does. Rules throw std::invalid_argument.
NewerRule FindNewerRule(const onnx::NodeProto& node, int opset);

}  // namespace stowplan::scenarios::onnx_import
