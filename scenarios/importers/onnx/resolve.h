// From a model to a flat list of nodes between tensors of known shape: names looked up, nodes put in order,
// constants folded, Identity followed, subgraphs and functions written out, shapes inferred.
//
// - Identity is another name of its tensor: an initializer behind several of them is one tensor.
// - If: the branch that its condition chooses where that is a constant; else the then-branch, with a note, if
//   both give the same shapes.
// - Loop and Scan are written out, one copy of the body for each trip, as a device runs them. A trip count
//   that depends on data is refused; a condition that may end the loop earlier is noted and taken to hold.
// - Functions of the model are written out.
// - Nodes that lead to no output of the model are left out.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/importers/onnx/values.h"

namespace stowplan::scenarios::onnx_import {

using TensorIndex = int;
inline constexpr TensorIndex kAbsent = -1;  // an optional input or output that is left out

struct ResolvedNode {
  std::string name;       // of the node; of its first output where it has none. Not unique
  std::string node_name;  // likewise, as the file has it; empty for nodes of subgraphs and functions
  const onnx::NodeProto* proto = nullptr;
  bool standard = true;  // the ONNX library knows the op
  std::vector<TensorIndex> inputs;
  std::vector<TensorIndex> outputs;
};

struct ResolvedModel {
  std::vector<TensorInfo> tensors;
  std::vector<ResolvedNode> nodes;  // each behind those that it reads from
  std::vector<TensorIndex> inputs;
  std::vector<TensorIndex> outputs;
  std::deque<onnx::NodeProto> made;  // protos of nodes that the model does not hold as they are
  std::vector<std::string> notes;
  std::map<std::string, std::int64_t> dims;  // values of symbolic dimensions in force
};

// Sequences over which a node was made: "Pack" (inputs of one shape -> one more axis in front) and "Unpack"
// (along the axis of the attribute) in this domain.
inline constexpr const char* kOwnDomain = "stowplan";

// `dims`: values of symbolic dimensions ("batch") or of "tensor:axis". Throws InputError.
ResolvedModel Resolve(const onnx::ModelProto& model, const std::string& source,
                      const std::map<std::string, std::int64_t>& dims);

}  // namespace stowplan::scenarios::onnx_import
