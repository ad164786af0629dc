#include "tests/scenarios/onnx/model_maker.h"

#include "scenarios/importers/onnx.h"
#include "sim/error.h"

namespace berth::scenarios {
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

std::vector<std::pair<std::string, std::string>> SampleModels() {
  using Attributes = std::vector<GraphMaker::Attribute>;
  GraphMaker vision;
  vision.Input("x", {"batch", 3, 16, 16}).Weight("w", {8, 3, 3, 3}).Weight("b", {8}).Weight("scale", {8});
  vision.Weight("mean", {8}).Weight("fc", {10, 512}).Ints("rows", {-1});
  vision.Node("Conv", {"x", "w", "b"}, {"conv"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  vision.Node("BatchNormalization", {"conv", "scale", "b", "mean", "mean"}, {"bn"})
      .Node("Relu", {"bn"}, {"relu"});
  vision.Node("MaxPool", {"relu"}, {"pool"},
              Attributes{{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                         {"strides", std::vector<std::int64_t>{2, 2}}});
  vision.Node("Shape", {"pool"}, {"shape"}).Node("Slice", {"shape", "zero", "one"}, {"first"});
  vision.Ints("zero", {0})
      .Ints("one", {1})
      .Node("Concat", {"first", "rows"}, {"target"}, Attributes{{"axis", std::int64_t{0}}});
  vision.Node("Reshape", {"pool", "target"}, {"flat"});
  vision.Node("Gemm", {"flat", "fc"}, {"y"}, Attributes{{"transB", std::int64_t{1}}}).Output("y");

  GraphMaker language;
  language.Input("ids", {"batch", 7}, onnx::TensorProto::INT64).Weight("table", {50, 8}).Weight("q", {8, 8});
  language.Weight("lw", {1, 16, 8}).Weight("lr", {1, 16, 4});
  language.Node("Gather", {"table", "ids"}, {"e"}).Node("MatMul", {"e", "q"}, {"k"});
  language.Node("Einsum", {"e", "k"}, {"scores"}, Attributes{{"equation", std::string("bsd,btd->bst")}});
  language.Node("Softmax", {"scores"}, {"p"}).Node("MatMul", {"p", "e"}, {"mixed"});
  language.Node("LSTM", {"mixed", "lw", "lr"}, {"states", "", "cell"},
                Attributes{{"hidden_size", std::int64_t{4}}});
  language.Node("Foo", {"states"}, {"foo"}, {}, "com.example")
      .Hint("foo", {7, "batch"})
      .Output("foo")
      .Output("cell");

  GraphMaker body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("go", {}, onnx::TensorProto::BOOL).Input("s", {2, 4});
  body.Node("Identity", {"go"}, {"go_on"}).Node("Add", {"s", "outer"}, {"s2"}).Node("Relu", {"s2"}, {"c"});
  body.Output("go_on").Output("s2").Output("c");
  GraphMaker branch;
  branch.Node("Tanh", {"outer"}, {"t"}).Output("t");
  GraphMaker control;
  control.Input("outer", {2, 4}).Input("maybe", {}, onnx::TensorProto::BOOL);
  control.Node("Constant", {}, {"trips"}, Attributes{{"value", IntTensor({3}, true)}});
  control.Node("Loop", {"trips", "", "outer"}, {"last", "all"}, Attributes{{"body", body.graph}});
  control.Node("If", {"maybe"}, {"either"},
               Attributes{{"then_branch", branch.graph}, {"else_branch", branch.graph}});
  control.Node("Sub", {"last", "either"}, {"y"}).Output("y").Output("all");
  return {{"vision", BytesOf(vision)}, {"language", BytesOf(language)}, {"control", BytesOf(control)}};
}

}  // namespace berth::scenarios
