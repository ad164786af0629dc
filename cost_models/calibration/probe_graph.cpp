#include "cost_models/calibration/probe_graph.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/error.h"

namespace berth::cost_models {
namespace {

using Dims = std::vector<std::int64_t>;

struct Tensor {
  Dims shape;
  bool integer = false;
};

// What a row of the table makes of a shape.
struct Built {
  std::string type;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  double flops = 0;
  sim::Attributes attributes;
};

class Shape {
 public:
  explicit Shape(const ObservedOp& op) : op_(op) {}
  const std::string& phase() const { return op_.phase; }
  bool backward() const { return op_.phase == "backward"; }
  std::int64_t at(std::string_view name) const {
    const auto found =
        std::ranges::find(op_.shape, name, [](const auto& entry) { return std::string_view(entry.first); });
    if (found == op_.shape.end())
      throw InputError(fmt::format("a probe of {} was recorded without its dimension '{}'", op_.op, name));
    return found->second;
  }

 private:
  const ObservedOp& op_;
};

double Product(const Dims& dims) {
  double product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

Built Gemm(const Shape& s) {
  const std::int64_t m = s.at("m"), n = s.at("n"), k = s.at("k");
  return {"MatMul", {{{m, k}}, {{k, n}}}, {{{m, n}}}, 2 * Product({m, n, k}), {}};
}

Built BatchedGemm(const Shape& s) {
  const std::int64_t batch = s.at("batch"), m = s.at("m"), n = s.at("n"), k = s.at("k");
  return {"BatchMatMul",
          {{{batch, m, k}}, {{batch, k, n}}},
          {{{batch, m, n}}},
          2 * Product({batch, m, n, k}),
          {}};
}

Built Convolution(const Shape& s) {
  const std::int64_t stride = s.at("stride"), side = s.at("side"), out_side = (side + stride - 1) / stride;
  const std::int64_t height = s.at("kernel_h"), width = s.at("kernel_w");
  const Tensor image = {{s.at("batch"), side, side, s.at("in")}};
  const Tensor filter = {{height, width, s.at("in"), s.at("out")}};
  const Tensor result = {{s.at("batch"), out_side, out_side, s.at("out")}};
  const auto pair = [](std::int64_t a, std::int64_t b) {
    return sim::Attribute{sim::Attribute::List{{a}, {b}}};
  };
  Built built{.flops = 2 * Product(result.shape) * Product({s.at("in"), height, width}),
              .attributes = {{"kernel", pair(height, width)},
                             {"strides", pair(stride, stride)},
                             {"padding", {std::string("SAME")}}}};
  if (s.phase() == "data_gradient") {
    built.type = "Conv2DBackpropInput";
    built.inputs = {result, filter};
    built.outputs = {image};
  } else if (s.phase() == "filter_gradient") {
    built.type = "Conv2DBackpropFilter";
    built.inputs = {image, result};
    built.outputs = {filter};
  } else {
    built.type = "Conv2D";
    built.inputs = {image, filter};
    built.outputs = {result};
  }
  return built;
}

template <const char* kType>
Built Unary(const Shape& s) {
  return {kType, {{{s.at("elements")}}}, {{{s.at("elements")}}}, 0, {}};
}

Built Add(const Shape& s) {
  const Tensor tensor = {{s.at("elements")}};
  return {"Add", {tensor, tensor}, {tensor}, 0, {}};
}

Built Sum(const Shape& s) {
  return {"ReduceSum", {{{s.at("rows"), s.at("columns")}}}, {{{s.at("rows")}}}, 0, {}};
}

Built Softmax(const Shape& s) {
  const Tensor rows = {{s.at("rows"), s.at("columns")}};
  if (s.backward()) return {"SoftmaxGrad", {rows, rows}, {rows}, 0, {}};
  return {"Softmax", {rows}, {rows}, 0, {}};
}

// Gradients of normalisations also give those of scale and offset.
Built Normalisation(const std::string& type, const Tensor& data, const Tensor& scale, bool backward) {
  if (backward) return {type + "Grad", {data, data, scale}, {data, scale, scale}, 0, {}};
  return {type, {data, scale, scale}, {data}, 0, {}};
}

Built LayerNorm(const Shape& s) {
  return Normalisation("LayerNorm", {{s.at("rows"), s.at("columns")}}, {{s.at("columns")}}, s.backward());
}

Built BatchNorm(const Shape& s) {
  return Normalisation("FusedBatchNorm", {{s.at("batch"), s.at("side"), s.at("side"), s.at("channels")}},
                       {{s.at("channels")}}, s.backward());
}

Built Embedding(const Shape& s) {
  const Tensor ids = {{s.at("tokens")}, true}, rows = {{s.at("tokens"), s.at("width")}};
  if (s.backward()) return {"GatherGrad", {rows, ids}, {rows}, 0, {}};
  return {"GatherV2", {{{s.at("rows"), s.at("width")}}, ids}, {rows}, 0, {}};
}

template <const char* kType>
Built Update(const Shape& s) {
  const Tensor tensor = {{s.at("elements")}};
  return {kType, {tensor, tensor}, {}, 0, {}};
}

constexpr char kRelu[] = "Relu", kGelu[] = "Gelu", kTanh[] = "Tanh", kCopy[] = "Concat";
constexpr char kMomentum[] = "ApplyMomentum", kAdam[] = "ApplyAdam";

struct Row {
  std::string_view op;
  Built (*build)(const Shape&);
  bool recurrent_too = false;
};
constexpr Row kRows[] = {
    {"gemm", Gemm, true},
    {"bmm", BatchedGemm},
    {"conv2d", Convolution},
    {"add", Add},
    {"relu", Unary<kRelu>},
    {"gelu", Unary<kGelu>},
    {"tanh", Unary<kTanh>},
    {"copy", Unary<kCopy>},
    {"sum", Sum},
    {"softmax", Softmax},
    {"layer_norm", LayerNorm},
    {"batch_norm", BatchNorm},
    {"embedding", Embedding},
    {"sgd_momentum", Update<kMomentum>},
    {"adam", Update<kAdam>},
    {"adamw", Update<kAdam>},
};

sim::Output OutputOf(const Tensor& tensor, const std::string& format) {
  const std::string dtype = tensor.integer ? "i32" : format == "tf32" ? "f32" : format;
  const sim::Bytes element = dtype == "f16" || dtype == "bf16" ? 2 : 4;
  sim::Output output;
  output.dtype = dtype;
  output.shape = tensor.shape;
  output.bytes = static_cast<sim::Bytes>(Product(tensor.shape)) * element;
  return output;
}

}  // namespace

std::optional<ProbeGraph> GraphOf(const ObservedOp& observed) {
  const auto row = std::ranges::find(kRows, observed.op, &Row::op);
  if (row == std::end(kRows)) return std::nullopt;
  const Built built = row->build(Shape(observed));
  auto graph = std::make_shared<sim::OpGraph>();
  graph->name = observed.op;
  sim::Op op;
  op.name = "op";
  op.type = built.type;
  op.flops = built.flops;
  op.attributes = built.attributes;
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    sim::Op producer;
    producer.name = fmt::format("input{}", i);
    producer.type = "Placeholder";
    producer.outputs.push_back(OutputOf(built.inputs[i], observed.format));
    graph->ops.push_back(std::move(producer));
    op.inputs.push_back({static_cast<sim::OpIndex>(i), 0});
  }
  for (const Tensor& tensor : built.outputs) op.outputs.push_back(OutputOf(tensor, observed.format));
  graph->ops.push_back(std::move(op));
  graph->Finish();
  return ProbeGraph{graph, graph->size() - 1, row->recurrent_too};
}

}  // namespace berth::cost_models
