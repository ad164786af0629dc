#include "profiler/op_graphs.h"

#include <map>
#include <string>
#include <utility>

#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

using Shape = std::vector<std::int64_t>;

class Maker {
 public:
  explicit Maker(const OpCase& one) : one_(one), dtype_(one.format == "tf32" ? "f32" : one.format) {
    graph_.name = one.op;
  }

  std::int64_t dim(std::string_view name) const {
    for (const auto& [key, size] : one_.shape)
      if (key == name) return size;
    throw InputError("a probe of " + one_.op + " was recorded without its dimension '" + std::string(name) +
                     "'");
  }
  const OpCase& one() const { return one_; }

  sim::TensorRef Input(const Shape& shape) { return Append("Placeholder", {}, {Tensor(shape, dtype_)}); }
  sim::TensorRef Indices(const Shape& shape) { return Append("Placeholder", {}, {Tensor(shape, "i32")}); }
  // With room for `slots` numbers of the optimizer beside each weight.
  sim::TensorRef Variable(const Shape& shape, int slots) {
    sim::Output output = Tensor(shape, dtype_);
    output.storage = sim::Output::Storage::kPersistent;
    const sim::TensorRef made = Append("Variable", {}, {output});
    graph_.ops.back().persistent_bytes = output.bytes * (1 + slots);
    return made;
  }
  sim::TensorRef Op(const std::string& type, const std::vector<sim::TensorRef>& inputs,
                    const std::vector<Shape>& outputs, sim::Attributes attributes = {}) {
    std::vector<sim::Output> made;
    for (const Shape& shape : outputs) made.push_back(Tensor(shape, dtype_));
    const sim::TensorRef first = Append(type, inputs, std::move(made));
    graph_.ops.back().attributes = std::move(attributes);
    return first;
  }
  // One output element takes `depth` multiply-adds; of a gradient `elements` says how many there are in all.
  sim::TensorRef Product(const std::string& type, const std::vector<sim::TensorRef>& inputs,
                         const Shape& output, double depth, const Shape& elements,
                         sim::Attributes attributes = {}) {
    const sim::TensorRef made = Op(type, inputs, {output}, std::move(attributes));
    double flops = 2 * depth;
    for (const std::int64_t axis : elements) flops *= static_cast<double>(axis);
    graph_.ops.back().flops = flops;
    return made;
  }
  // Adds to what it reads first.
  void AddInto(const std::string& type, const std::vector<sim::TensorRef>& inputs) {
    sim::Output output = graph_.ops[static_cast<std::size_t>(inputs[0].op)].outputs[0];
    output.storage = sim::Output::Storage::kInput;
    output.alias = inputs[0];
    Append(type, inputs, {output});
  }

  sim::OpGraph Finish() {
    graph_.Finish();
    return std::move(graph_);
  }

 private:
  sim::Output Tensor(const Shape& shape, const std::string& dtype) const {
    sim::Output output;
    output.dtype = dtype;
    output.shape = shape;
    output.bytes = BytesOf(dtype);
    for (const std::int64_t axis : shape) {
      if (__builtin_mul_overflow(output.bytes, axis, &output.bytes) || output.bytes > sim::kMaxBytes) {
        throw InputError(
            "a probe of " + one_.op +
            " has a tensor of more than 2^50 bytes; record it again with sizes that a memory holds");
      }
    }
    return output;
  }
  sim::TensorRef Append(const std::string& type, const std::vector<sim::TensorRef>& inputs,
                        std::vector<sim::Output> outputs) {
    sim::Op op;
    op.name = "op" + std::to_string(graph_.ops.size());
    op.type = type;
    op.inputs = inputs;
    op.outputs = std::move(outputs);
    graph_.ops.push_back(std::move(op));
    return {graph_.size() - 1, 0};
  }

  const OpCase& one_;
  const std::string dtype_;
  sim::OpGraph graph_;
};

sim::Attribute List(std::int64_t a, std::int64_t b) {
  return {sim::Attribute::List{{a}, {b}}};
}

void MakeGemm(Maker& m) {
  const Shape a = {m.dim("m"), m.dim("k")}, b = {m.dim("k"), m.dim("n")}, c = {m.dim("m"), m.dim("n")};
  m.Product("MatMul", {m.Input(a), m.Input(b)}, c, static_cast<double>(m.dim("k")), c);
}

void MakeBatchedGemm(Maker& m) {
  const std::int64_t batch = m.dim("batch"), rows = m.dim("m"), columns = m.dim("n"), depth = m.dim("k");
  const Shape products = {batch, rows, columns};
  m.Product("BatchMatMul", {m.Input({batch, rows, depth}), m.Input({batch, depth, columns})}, products,
            static_cast<double>(depth), products);
}

void MakeConvolution(Maker& m) {
  const std::int64_t stride = m.dim("stride"), side = m.dim("side"), out_side = (side + stride - 1) / stride;
  const Shape images = {m.dim("batch"), side, side, m.dim("in")},
              filter = {m.dim("kernel_h"), m.dim("kernel_w"), m.dim("in"), m.dim("out")},
              results = {m.dim("batch"), out_side, out_side, m.dim("out")};
  const double taps = static_cast<double>(m.dim("kernel_h")) * static_cast<double>(m.dim("kernel_w")) *
                      static_cast<double>(m.dim("in"));
  const sim::Attributes attributes = {{"kernel", List(m.dim("kernel_h"), m.dim("kernel_w"))},
                                      {"strides", List(stride, stride)},
                                      {"padding", {std::string("SAME")}}};
  if (m.one().phase == "data_gradient") {
    m.Product("Conv2DBackpropInput", {m.Input(results), m.Input(filter)}, images, taps, results, attributes);
  } else if (m.one().phase == "filter_gradient") {
    m.Product("Conv2DBackpropFilter", {m.Input(images), m.Input(results)}, filter, taps, results, attributes);
  } else {
    m.Product("Conv2D", {m.Input(images), m.Input(filter)}, results, taps, results, attributes);
  }
}

// Of each word the type, and how many operands of that size it reads.
struct Elementwise {
  const char* type;
  int inputs;
};
const std::map<std::string_view, Elementwise>& ElementwiseTypes() {
  static const std::map<std::string_view, Elementwise> types = {
      {"add", {"Add", 2}},
      {"copy", {"Concat", 1}},
      {"div", {"RealDiv", 2}},
      {"exp", {"Exp", 1}},
      {"fill", {"Fill", 0}},
      {"gelu", {"Gelu", 1}},
      {"gelu_grad", {"GeluGrad", 2}},
      {"mul", {"Mul", 2}},
      {"neg", {"Neg", 1}},
      {"pow", {"Pow", 1}},
      {"relu", {"Relu", 1}},
      {"relu_grad", {"ReluGrad", 2}},
      {"rsqrt", {"Rsqrt", 1}},
      {"scale", {"Scale", 1}},
      {"sigmoid", {"Sigmoid", 1}},
      {"sigmoid_grad", {"SigmoidGrad", 2}},
      {"sqrt", {"Sqrt", 1}},
      {"sub", {"Sub", 2}},
      {"tanh", {"Tanh", 1}},
      {"tanh_grad", {"TanhGrad", 2}},
  };
  return types;
}

void MakeElementwise(Maker& m) {
  const Elementwise& of = ElementwiseTypes().at(m.one().op);
  const Shape shape = {m.dim("elements")};
  std::vector<sim::TensorRef> inputs;
  for (int i = 0; i < of.inputs; ++i) inputs.push_back(m.Input(shape));
  if (inputs.empty()) inputs.push_back(m.Input({1}));  // the value
  m.Op(of.type, inputs, {shape});
}

void MakeRows(Maker& m) {
  const Shape shape = {m.dim("rows"), m.dim("columns")}, row = {m.dim("columns")};
  const bool backward = m.one().phase == "backward";
  if (m.one().op == "sum") {
    m.Op("ReduceSum", {m.Input(shape)}, {{m.dim("rows")}});
  } else if (m.one().op == "column_sum") {
    m.Op("BiasAddGrad", {m.Input(shape)}, {row});
  } else if (m.one().op == "concat") {
    const Shape half = {m.dim("rows"), m.dim("columns") / 2};
    m.Op("ConcatV2", {m.Input(half), m.Input(half)}, {shape}, {{"axis", {std::int64_t{1}}}});
  } else if (m.one().op == "softmax") {
    if (backward) {
      m.Op("SoftmaxGrad", {m.Input(shape), m.Input(shape)}, {shape});
    } else {
      m.Op("Softmax", {m.Input(shape)}, {shape});
    }
  } else if (backward) {
    m.Op("LayerNormGrad", {m.Input(shape), m.Input(shape), m.Input(row)}, {shape, row, row});
  } else {
    m.Op("LayerNorm", {m.Input(shape), m.Input(row), m.Input(row)}, {shape});
  }
}

void MakeBatchNorm(Maker& m) {
  const Shape shape = {m.dim("batch"), m.dim("side"), m.dim("side"), m.dim("channels")},
              row = {m.dim("channels")};
  if (m.one().phase == "backward") {
    m.Op("FusedBatchNormGrad", {m.Input(shape), m.Input(shape), m.Input(row)}, {shape, row, row});
  } else {
    m.Op("FusedBatchNorm", {m.Input(shape), m.Input(row), m.Input(row)}, {shape});
  }
}

void MakeEmbedding(Maker& m) {
  const Shape rows = {m.dim("tokens"), m.dim("width")};
  const sim::TensorRef table = m.Input({m.dim("rows"), m.dim("width")});
  const sim::TensorRef ids = m.Indices({m.dim("tokens")});
  if (m.one().phase == "backward") {
    m.AddInto("ScatterAdd", {table, ids, m.Input(rows)});
  } else {
    m.Op("GatherV2", {table, ids}, {rows});
  }
}

// As our own workloads write a cell: one product, the gates' functions each by itself.
void MakeLstmCell(Maker& m) {
  const std::int64_t batch = m.dim("batch"), width = m.dim("width");
  const Shape state = {batch, width}, wide = {batch, 4 * width};
  const sim::TensorRef product =
      m.Product("MatMul", {m.Input({batch, 2 * width}), m.Input({2 * width, 4 * width})}, wide,
                2 * static_cast<double>(width), wide);
  sim::TensorRef gates =
      m.Op("Split", {product}, {state, state, state, state}, {{"axis", {std::int64_t{1}}}});
  std::vector<sim::TensorRef> gate;
  for (std::int32_t i = 0; i < 4; ++i)
    gate.push_back(m.Op(i == 2 ? "Tanh" : "Sigmoid", {{gates.op, i}}, {state}));
  const sim::TensorRef kept = m.Op("Mul", {gate[1], m.Input(state)}, {state});
  const sim::TensorRef fresh = m.Op("Mul", {gate[0], gate[2]}, {state});
  const sim::TensorRef cell = m.Op("Add", {kept, fresh}, {state});
  m.Op("Mul", {gate[3], m.Op("Tanh", {cell}, {state})}, {state});
}

void MakeAttention(Maker& m) {
  const std::int64_t batch = m.dim("batch"), tokens = m.dim("tokens"), width = m.dim("width");
  const Shape values = {batch, tokens, width}, scores = {batch, tokens, tokens};
  const sim::TensorRef score = m.Product("BatchMatMul", {m.Input(values), m.Input(values)}, scores,
                                         static_cast<double>(width), scores);
  m.Product("BatchMatMul", {m.Op("Softmax", {score}, {scores}), m.Input(values)}, values,
            static_cast<double>(tokens), values);
}

void MakeOptimizer(Maker& m) {
  const Shape shape = {m.dim("elements")};
  const bool momentum = m.one().op == "sgd_momentum";
  m.Op(momentum ? "ApplyMomentum" : "ApplyAdam", {m.Variable(shape, momentum ? 1 : 2), m.Input(shape)}, {});
}

}  // namespace

std::optional<sim::OpGraph> GraphOf(const OpCase& one) {
  static const std::map<std::string_view, void (*)(Maker&)> makers = {
      {"gemm", MakeGemm},
      {"bmm", MakeBatchedGemm},
      {"conv2d", MakeConvolution},
      {"sum", MakeRows},
      {"column_sum", MakeRows},
      {"concat", MakeRows},
      {"softmax", MakeRows},
      {"layer_norm", MakeRows},
      {"batch_norm", MakeBatchNorm},
      {"embedding", MakeEmbedding},
      {"lstm_cell", MakeLstmCell},
      {"attention", MakeAttention},
      {"sgd_momentum", MakeOptimizer},
      {"adam", MakeOptimizer},
      {"adamw", MakeOptimizer},
  };
  const auto found = makers.find(one.op);
  const bool elementwise = ElementwiseTypes().contains(one.op);
  if (found == makers.end() && !elementwise) return std::nullopt;
  Maker maker(one);
  elementwise ? MakeElementwise(maker) : found->second(maker);
  return maker.Finish();
}

}  // namespace stowplan::profiler
