// The order in which the nodes of a graph can be resolved.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace stowplan::scenarios::onnx_import {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// The name of a node, or of its first output where it has none.
std::string NameOf(const onnx::NodeProto& node);

// Indexes of nodes, each behind those that it or its subgraphs read from; the order of the file where that is
// one. Throws InputError that names the nodes of a cycle.
std::vector<int> OrderOf(const Nodes& nodes, const std::string& source);

}  // namespace stowplan::scenarios::onnx_import
