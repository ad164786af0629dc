// An ONNX file as protobuf messages, without the weights: what lies in tensors beyond a few kilobytes is
// dropped while the file is read, so that only shapes of a model are ever held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

namespace stowplan::scenarios::onnx_import {

// Integer tensors that decide shapes are far smaller.
inline constexpr std::size_t kLargestData = std::size_t{64} << 10;  // [B]

// Throws InputError for what is no model, has no graph, or asks for operator sets that the library does not
// know.
onnx::ModelProto ReadModel(std::string_view content, const std::string& source);

// As the file has it, where ReadModel() has put the module that the exporter says in its place; may be empty.
std::string NameInFile(const onnx::NodeProto& node);

// What a function says that younger files do: attributes that its callers may leave out, types of its tensors.
std::vector<onnx::AttributeProto> DefaultsOf(const onnx::FunctionProto& function);
std::vector<onnx::ValueInfoProto> HintsOf(const onnx::FunctionProto& function);

}  // namespace stowplan::scenarios::onnx_import
