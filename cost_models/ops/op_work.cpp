#include "cost_models/ops/op_work.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "cost_models/ops/op_types.h"

namespace stowplan::cost_models {
namespace {

const sim::Output& OutputOf(const sim::OpGraph& graph, const sim::TensorRef& tensor) {
  return graph.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
}

bool HasShape(const sim::Output& output) {
  return !output.shape.empty() || !output.dtype.empty();
}

// A tensor that is named twice is read once: the second read hits a cache or the same register.
double BytesRead(const sim::OpGraph& graph, const sim::Op& op) {
  std::vector<sim::TensorRef> inputs = op.inputs;
  std::ranges::sort(inputs);
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  double bytes = 0;
  for (const sim::TensorRef& input : inputs) bytes += static_cast<double>(OutputOf(graph, input).bytes);
  return bytes;
}

// Outputs that alias an input are written in place.
double BytesWritten(const sim::Op& op) {
  double bytes = 0;
  for (const sim::Output& output : op.outputs) bytes += static_cast<double>(output.bytes);
  return bytes;
}

// The gradient is the largest input that is computed; weight, slots and rates come from variables and
// constants. A sparse gradient (of an embedding) touches only its own rows, so the weight's size must not
// count.
double GradientBytes(const sim::OpGraph& graph, const sim::Op& op) {
  double computed = 0;
  double any = 0;
  for (const sim::TensorRef& input : op.inputs) {
    const auto bytes = static_cast<double>(OutputOf(graph, input).bytes);
    any = std::max(any, bytes);
    if (!graph.ops[static_cast<std::size_t>(input.op)].IsSource()) computed = std::max(computed, bytes);
  }
  return computed > 0 ? computed : any;
}

// A bag sums several rows of its table into one that it writes, and says how many it reads.
double BytesOfRows(const sim::OpGraph& graph, const sim::Op& op) {
  const sim::Attribute* rows = sim::FindAttribute(op.attributes, "rows");
  const auto* count = rows != nullptr ? std::get_if<std::int64_t>(&rows->value) : nullptr;
  if (count == nullptr || op.inputs.empty()) return 0;
  const sim::Output& table = OutputOf(graph, op.inputs.front());
  if (table.shape.empty() || table.shape.front() <= 0) return 0;
  return static_cast<double>(*count) * static_cast<double>(table.bytes) /
         static_cast<double>(table.shape.front());
}

double BytesMoved(const sim::OpGraph& graph, const sim::Op& op, const OpType* row) {
  switch (row != nullptr ? row->access : Access::kAll) {
    case Access::kSelected:
      return BytesWritten(op) +
             std::min(BytesRead(graph, op), std::max(BytesWritten(op), BytesOfRows(graph, op)));
    case Access::kUpdate:
      return row->words * GradientBytes(graph, op);
    case Access::kAll:
      break;
  }
  return BytesRead(graph, op) + BytesWritten(op);
}

// Tensors of unknown shape hold words of four bytes.
double ElementsOf(const sim::Output& output) {
  if (!HasShape(output)) return static_cast<double>(output.bytes) / 4;
  double elements = 1;
  for (const std::int64_t dimension : output.shape) elements *= static_cast<double>(dimension);
  return elements;
}

// An update writes its weight, of which it touches as much as there is gradient.
double ElementsWritten(const sim::OpGraph& graph, const sim::Op& op, const OpType* row) {
  if (row != nullptr && row->access == Access::kUpdate) return GradientBytes(graph, op) / 4;
  double elements = 0;
  for (const sim::Output& output : op.outputs) elements += ElementsOf(output);
  return elements;
}

std::string_view DtypeOf(const sim::OpGraph& graph, const sim::Op& op) {
  if (!op.outputs.empty() && !op.outputs.front().dtype.empty()) return op.outputs.front().dtype;
  if (!op.inputs.empty()) return OutputOf(graph, op.inputs.front()).dtype;
  return {};
}

bool IsChannelsFirst(const sim::Op& op) {
  return op.type == "Conv" || op.type == "ConvTranspose" ||  // ONNX has no other layout
         sim::FindString(op.attributes, "data_format") == "NCHW";
}

// Its output is a filter; that of everything else of a convolution is an image.
bool IsFilterGradient(const sim::Op& op) {
  return op.type.ends_with("BackpropFilter");
}

std::optional<MatrixProduct> ProductOf(const sim::Op& op, Grid grid) {
  if (grid == Grid::kNone || op.flops <= 0 || op.outputs.empty()) return std::nullopt;
  const std::vector<std::int64_t>& shape = op.outputs.front().shape;
  if (shape.size() < 2) return std::nullopt;
  double elements = 1;
  for (const std::int64_t dimension : shape) elements *= static_cast<double>(dimension);
  if (elements <= 0) return std::nullopt;
  // Columns are output channels: the axis behind the batch of an image, the first of a filter (OIHW).
  const bool channels_first = grid == Grid::kMatrix && IsChannelsFirst(op);
  const std::size_t channels = channels_first ? (IsFilterGradient(op) ? 0 : 1) : shape.size() - 1;
  MatrixProduct product;
  product.columns = static_cast<double>(shape[channels]);
  product.rows =
      grid == Grid::kBatched ? static_cast<double>(shape[shape.size() - 2]) : elements / product.columns;
  product.count = elements / (product.rows * product.columns);
  product.depth = op.flops / (2 * elements);
  return product;
}

std::string TensorText(const sim::Output& output) {
  if (!HasShape(output)) return fmt::format("{}B", output.bytes);
  return fmt::format("{}[{}]", output.dtype, fmt::join(output.shape, ","));
}

struct AttributeText {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const sim::Attribute::List& list) const {
    std::vector<std::string> items;
    for (const sim::Attribute& item : list) items.push_back(std::visit(*this, item.value));
    return fmt::format("[{}]", fmt::join(items, ","));
  }
  std::string operator()(const sim::Attribute::Object& object) const {
    std::vector<std::string> items;
    for (const auto& [key, item] : object) items.push_back(key + "=" + std::visit(*this, item.value));
    return fmt::format("{{{}}}", fmt::join(items, ","));
  }
};

std::string WorkAttributes(const sim::Op& op) {
  static constexpr std::array kKeys = {"data_format", "dilations",   "groups",      "kernel",
                                       "padding",     "transpose_a", "transpose_b", "strides"};
  std::vector<std::string> parts;
  for (const char* key : kKeys) {
    const sim::Attribute* found = sim::FindAttribute(op.attributes, key);
    if (found != nullptr)
      parts.push_back(fmt::format("{}={}", key, std::visit(AttributeText{}, found->value)));
  }
  return parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ","));
}

}  // namespace

OpWork WorkOf(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
  OpWork work;
  if (op.IsSource()) return work;
  work.op_class = ClassOf(op);
  if (work.op_class == OpClass::kNothing) return work;
  const OpType* row = FindOpType(op.type);
  work.flops = op.flops;
  work.bytes = BytesMoved(graph, op, row);
  work.dtype = DtypeOf(graph, op);
  work.elements = ElementsWritten(graph, op, row);
  if (!op.outputs.empty() && !op.outputs.front().shape.empty())
    work.row = static_cast<double>(op.outputs.front().shape.back());
  work.family = FamilyOf(op.type, work.op_class);
  work.type = op.type;
  if (row != nullptr) work.product = ProductOf(op, row->grid);
  if (work.op_class == OpClass::kConvolution && work.product && op.outputs.front().shape.front() > 0)
    work.positions = work.product->rows / static_cast<double>(op.outputs.front().shape.front());
  return work;
}

std::string Signature(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
  std::vector<std::string> inputs;
  for (const sim::TensorRef& input : op.inputs) inputs.push_back(TensorText(OutputOf(graph, input)));
  std::vector<std::string> outputs;
  for (const sim::Output& output : op.outputs) outputs.push_back(TensorText(output));
  return fmt::format("{}({})->{}{}", op.type, fmt::join(inputs, ","), fmt::join(outputs, ","),
                     WorkAttributes(op));
}

}  // namespace stowplan::cost_models
