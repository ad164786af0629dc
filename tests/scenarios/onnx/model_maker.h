// Small ONNX models written down in tests.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/scenarios.h"

namespace stowplan::scenarios {

// A graph on its own is what If, Loop and Scan take.
class GraphMaker {
 public:
  struct Attribute {
    std::string name;
    std::variant<std::int64_t, std::vector<std::int64_t>, std::string, onnx::GraphProto, onnx::TensorProto>
        value;
  };
  using Dim = std::variant<std::int64_t, std::string>;  // "" = not known
  using Names = std::vector<std::string>;

  GraphMaker& Input(const std::string& name, const std::vector<Dim>& shape,
                    int type = onnx::TensorProto::FLOAT);
  GraphMaker& Output(const std::string& name);
  // What a file says of a tensor inside.
  GraphMaker& Hint(const std::string& name, const std::vector<Dim>& shape,
                   int type = onnx::TensorProto::FLOAT);
  // Floating numbers without data, as of a file whose external data is not there.
  GraphMaker& Weight(const std::string& name, const std::vector<std::int64_t>& shape,
                     int type = onnx::TensorProto::FLOAT);
  GraphMaker& Ints(const std::string& name,
                   const std::vector<std::int64_t>& numbers);  // a vector with its data
  // Named after its first output.
  GraphMaker& Node(const std::string& type, const Names& inputs, const Names& outputs,
                   const std::vector<Attribute>& attributes = {}, const std::string& domain = "");

  onnx::GraphProto graph;
};

onnx::TensorProto IntTensor(const std::vector<std::int64_t>& numbers, bool scalar = false);

onnx::ModelProto ModelOf(const GraphMaker& graph, int opset = 14);
std::string BytesOf(const GraphMaker& graph, int opset = 14);
sim::OpGraph Import(const GraphMaker& graph, const ImportOptions& options = {}, int opset = 14);
// What the import is refused with; "no error" if it is not.
std::string RefusalOf(const GraphMaker& graph, const ImportOptions& options = {}, int opset = 14);

const sim::Op& OpNamed(const sim::OpGraph& graph, const std::string& name);
// "f32[1,2]" of output 0.
std::string ShapeText(const sim::OpGraph& graph, const std::string& name);
// Types of the ops that compute something, in order.
std::vector<std::string> TypesOf(const sim::OpGraph& graph, const std::string& phase = "forward");

}  // namespace stowplan::scenarios
