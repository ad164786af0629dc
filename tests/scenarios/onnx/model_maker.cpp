#include "tests/scenarios/onnx/model_maker.h"

#include "scenarios/importers/onnx.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

void SetType(onnx::ValueInfoProto& info, const std::string& name, const std::vector<GraphMaker::Dim>& shape,
             int type) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* dims = info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const auto& dim : shape) {
    auto* added = dims->add_dim();
    if (const auto* size = std::get_if<std::int64_t>(&dim)) added->set_dim_value(*size);
    if (const auto* symbol = std::get_if<std::string>(&dim); symbol != nullptr && !symbol->empty()) {
      added->set_dim_param(*symbol);
    }
  }
}

}  // namespace

onnx::TensorProto IntTensor(const std::vector<std::int64_t>& numbers, bool scalar) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  if (!scalar) tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
  for (const std::int64_t number : numbers) tensor.add_int64_data(number);
  return tensor;
}

GraphMaker& GraphMaker::Input(const std::string& name, const std::vector<Dim>& shape, int type) {
  SetType(*graph.add_input(), name, shape, type);
  return *this;
}

GraphMaker& GraphMaker::Output(const std::string& name) {
  graph.add_output()->set_name(name);
  return *this;
}

GraphMaker& GraphMaker::Hint(const std::string& name, const std::vector<Dim>& shape, int type) {
  SetType(*graph.add_value_info(), name, shape, type);
  return *this;
}

GraphMaker& GraphMaker::Weight(const std::string& name, const std::vector<std::int64_t>& shape, int type) {
  auto* tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (const std::int64_t dim : shape) tensor->add_dims(dim);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  return *this;
}

GraphMaker& GraphMaker::Ints(const std::string& name, const std::vector<std::int64_t>& numbers) {
  *graph.add_initializer() = IntTensor(numbers);
  graph.mutable_initializer(graph.initializer_size() - 1)->set_name(name);
  return *this;
}

GraphMaker& GraphMaker::Node(const std::string& type, const Names& inputs, const Names& outputs,
                             const std::vector<Attribute>& attributes, const std::string& domain) {
  auto* node = graph.add_node();
  node->set_op_type(type);
  node->set_domain(domain);
  for (const auto& input : inputs) node->add_input(input);
  for (const auto& output : outputs) node->add_output(output);
  for (const auto& attribute : attributes) {
    auto* added = node->add_attribute();
    added->set_name(attribute.name);
    if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
      added->set_type(onnx::AttributeProto::INT);
      added->set_i(*number);
    } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
      added->set_type(onnx::AttributeProto::INTS);
      for (const std::int64_t each : *numbers) added->add_ints(each);
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      added->set_type(onnx::AttributeProto::STRING);
      added->set_s(*text);
    } else if (const auto* inner = std::get_if<onnx::GraphProto>(&attribute.value)) {
      added->set_type(onnx::AttributeProto::GRAPH);
      *added->mutable_g() = *inner;
    } else {
      added->set_type(onnx::AttributeProto::TENSOR);
      *added->mutable_t() = std::get<onnx::TensorProto>(attribute.value);
    }
  }
  return *this;
}

onnx::ModelProto ModelOf(const GraphMaker& graph, int opset) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto* set = model.add_opset_import();
  set->set_domain("");
  set->set_version(opset);
  *model.mutable_graph() = graph.graph;
  return model;
}

std::string BytesOf(const GraphMaker& graph, int opset) {
  return ModelOf(graph, opset).SerializeAsString();
}

sim::OpGraph Import(const GraphMaker& graph, const ImportOptions& options, int opset) {
  return ImportOnnx(BytesOf(graph, opset), "model.onnx", options).graph;
}

std::string RefusalOf(const GraphMaker& graph, const ImportOptions& options, int opset) {
  try {
    Import(graph, options, opset);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const sim::Op& OpNamed(const sim::OpGraph& graph, const std::string& name) {
  const sim::OpIndex index = graph.Find(name);
  if (index < 0) throw std::out_of_range("there is no op '" + name + "'");
  return graph.ops[static_cast<std::size_t>(index)];
}

std::string ShapeText(const sim::OpGraph& graph, const std::string& name) {
  const sim::Output& output = OpNamed(graph, name).outputs.at(0);
  std::string text = output.dtype + "[";
  for (std::size_t i = 0; i < output.shape.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(output.shape[i]);
  return text + "]";
}

std::vector<std::string> TypesOf(const sim::OpGraph& graph, const std::string& phase) {
  std::vector<std::string> types;
  for (const sim::Op& op : graph.ops) {
    if (!op.IsSource() && op.phase == phase) types.push_back(op.type);
  }
  return types;
}

}  // namespace stowplan::scenarios
