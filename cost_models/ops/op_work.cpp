#include "cost_models/ops/op_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "cost_models/ops/number_formats.h"
#include "cost_models/ops/op_types.h"
#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

const sim::Output& OutputOf(const sim::OpGraph& graph, const sim::TensorRef& tensor) {
  return graph.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
}

bool HasShape(const sim::Output& output) {
  return !output.shape.empty() || !output.dtype.empty();
}

// Tensors of unknown shape hold words of four bytes.
double ElementsOf(const sim::Output& output) {
  if (!HasShape(output)) return static_cast<double>(output.bytes) / 4;
  double elements = 1;
  for (const std::int64_t dimension : output.shape) elements *= static_cast<double>(dimension);
  return elements;
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

std::optional<Experts> ExpertsOf(const sim::OpGraph& graph, const sim::Op& op) {
  if (op.type != kGroupedProduct || op.inputs.size() < 2) return std::nullopt;
  const auto& rows = OutputOf(graph, op.inputs[0]).shape;
  const auto& weights = OutputOf(graph, op.inputs[1]).shape;  // [experts, depth, columns]
  if (rows.size() != 2 || weights.size() != 3 || weights[0] < 1) return std::nullopt;
  const auto experts = static_cast<double>(weights[0]);
  const double choices = sim::FindNumber(op.attributes, "choices").value_or(1);
  return Experts{experts, experts, static_cast<double>(rows[0]), choices};
}

double BytesOfExperts(const sim::OpGraph& graph, const sim::Op& op) {
  const auto experts = ExpertsOf(graph, op);
  if (!experts) return BytesRead(graph, op);
  const double unread = 1 - experts->Reached() / experts->experts;
  return BytesRead(graph, op) - unread * static_cast<double>(OutputOf(graph, op.inputs[1]).bytes);
}

// What is written into a tensor in place leaves the rest of it alone: the largest of the other inputs is read and written.
double BytesInPlace(const sim::OpGraph& graph, const sim::Op& op) {
  const bool in_place = !op.inputs.empty() && !op.outputs.empty() &&
                        op.outputs[0].storage == sim::Output::Storage::kInput &&
                        op.outputs[0].alias == op.inputs[0];
  if (!in_place) return BytesRead(graph, op) + BytesWritten(op);
  double others = 0;
  double largest = 0;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const auto bytes = static_cast<double>(OutputOf(graph, op.inputs[i]).bytes);
    others += bytes;
    largest = std::max(largest, bytes);
  }
  return others + largest;
}

// One row of the first input for each element of the second, the indices.
double BytesOfRows(const sim::OpGraph& graph, const sim::Op& op) {
  if (op.inputs.size() < 2 || op.outputs.empty() || op.outputs[0].shape.empty()) return BytesRead(graph, op);
  const sim::Output& table = OutputOf(graph, op.inputs[0]);
  const sim::Output& indices = OutputOf(graph, op.inputs[1]);
  const double row = ElementsOf(table) > 0 ? static_cast<double>(op.outputs[0].shape.back()) *
                                                 static_cast<double>(table.bytes) / ElementsOf(table)
                                           : 0;
  const double unread = static_cast<double>(table.bytes) - ElementsOf(indices) * row;
  return BytesRead(graph, op) - std::max(0.0, unread);
}

double BytesMoved(const sim::OpGraph& graph, const sim::Op& op, const OpType* row) {
  switch (row != nullptr ? row->access : Access::kAll) {
    case Access::kInto:
      return BytesInPlace(graph, op);
    case Access::kRows:
      return BytesWritten(op) + BytesOfRows(graph, op);
    case Access::kExperts:
      return BytesWritten(op) + BytesOfExperts(graph, op);
    case Access::kSelected:
      return BytesWritten(op) + std::min(BytesRead(graph, op), BytesWritten(op));
    case Access::kUpdate:
      return row->words * GradientBytes(graph, op);
    case Access::kAll:
      break;
  }
  return BytesRead(graph, op) + BytesWritten(op);
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

// Of contractions, whose units are those of what they read: the sum may be wider, the weights (or keys) narrower.
std::string_view DtypeOfProduct(const sim::OpGraph& graph, const sim::Op& op) {
  if (op.inputs.size() < 2) return DtypeOf(graph, op);
  const std::string_view operands = OutputOf(graph, op.inputs[0]).dtype,
                         weights = OutputOf(graph, op.inputs[1]).dtype;
  const auto* format = std::ranges::find_if(kNumberFormats, [&](const NumberFormat& one) {
    return one.operands == operands && one.weights == weights;
  });
  if (format == std::end(kNumberFormats)) return DtypeOf(graph, op);
  return operands == "f8" && sim::FindString(op.attributes, "scaling") == "block" ? "f8_block" : format->name;
}

bool IsChannelsFirst(const sim::Op& op) {
  return op.type == "Conv" || op.type == "ConvTranspose" ||  // ONNX has no other layout
         sim::FindString(op.attributes, "data_format") == "NCHW";
}

// What the outputs of a product are: its arithmetic and where its columns stand.
struct ProductShape {
  double flops = 0;
  std::span<const std::int64_t> shape;
  Grid grid = Grid::kNone;
  std::size_t columns = 0;  // axis
  double groups = 1;        // of a convolution: products side by side, each with its share of the columns
};

std::optional<MatrixProduct> ProductOf(const ProductShape& of) {
  if (of.grid == Grid::kNone || of.flops <= 0 || of.shape.size() < 2) return std::nullopt;
  double elements = 1;
  for (const std::int64_t dimension : of.shape) elements *= static_cast<double>(dimension);
  if (elements <= 0) return std::nullopt;
  MatrixProduct product;
  product.columns = static_cast<double>(of.shape[of.columns]) / of.groups;
  product.rows = of.grid == Grid::kBatched ? static_cast<double>(of.shape[of.shape.size() - 2])
                                           : elements / (product.columns * of.groups);
  product.count = elements / (product.rows * product.columns);
  product.depth = of.flops / (2 * elements);
  return product;
}

// The attribute `tf32` of the op, as a trace tells it by the kernel, else of the graph: true or "all", false or "none", or
// "convolutions".
std::optional<bool> Tf32Of(const sim::OpGraph& graph, const sim::Op& op, OpClass op_class) {
  if (const auto said = sim::FindBool(op.attributes, "tf32")) return said;
  const auto word = sim::FindString(graph.attributes, "tf32");
  if (!word) return sim::FindBool(graph.attributes, "tf32");
  if (*word == "convolutions") return Convolutions()[static_cast<std::size_t>(op_class)];
  if (*word == "all" || *word == "none") return *word == "all";
  throw InputError("graph '" + graph.name + "': the attribute tf32 is \"" + *word +
                   "\"; it is true, false, \"convolutions\", \"all\" or \"none\"");
}

bool IsConvolution(const sim::Op& op) {
  return op.type.starts_with("Conv") || op.type.starts_with("DepthwiseConv");
}

double GroupsOf(const sim::Op& op) {
  return std::max(1.0, sim::FindNumber(op.attributes, "groups").value_or(1));
}

std::optional<MatrixProduct> ProductOf(const sim::Op& op, Grid grid) {
  if (op.outputs.empty()) return std::nullopt;
  const std::vector<std::int64_t>& shape = op.outputs.front().shape;
  // Columns are output channels: the axis behind the batch of an image, the first of a filter (OIHW). The output of
  // a filter's gradient is a filter; that of everything else of a convolution is an image.
  const bool channels_first = grid == Grid::kMatrix && IsChannelsFirst(op);
  const std::size_t channels = op.type.ends_with("BackpropFilter") ? 0 : 1;
  const double groups = IsConvolution(op) ? GroupsOf(op) : 1;
  return ProductOf({op.flops, shape, grid, channels_first ? channels : shape.size() - 1, groups});
}

bool Broadcasts(const sim::OpGraph& graph, const sim::Op& op) {
  if (op.outputs.empty()) return false;
  const double written = ElementsOf(op.outputs.front());
  return std::ranges::any_of(op.inputs, [&](const sim::TensorRef& input) {
    const double read = ElementsOf(OutputOf(graph, input));
    return read > 1 && read < written;
  });
}

// Places of the filter of a convolution.
double TapsOf(const sim::Op& op) {
  const sim::Attribute* found = sim::FindAttribute(op.attributes, "kernel");
  const auto* kernel = found != nullptr ? std::get_if<sim::Attribute::List>(&found->value) : nullptr;
  double taps = kernel != nullptr ? 1 : 0;
  for (std::size_t i = 0; kernel != nullptr && i < kernel->size(); ++i)
    if (const auto* length = std::get_if<std::int64_t>(&(*kernel)[i].value))
      taps *= static_cast<double>(*length);
  return taps;
}

double PositionsOf(const std::optional<MatrixProduct>& product, const sim::Output& output) {
  return product && output.shape.front() > 0 ? product->rows / static_cast<double>(output.shape.front()) : 0;
}

// ---- the backward pass of a convolution: inputs are the gradient of its output, its image and its filter

struct KernelNames {
  std::string_view image;   // type of the op that computes the gradient of the image alone
  std::string_view filter;  // and of the filter
};

KernelNames NamesOf(bool is_depthwise, bool is_transposed, std::size_t axes) {
  if (is_depthwise) return {"DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"};
  if (axes == 3) return {is_transposed ? "Conv1D" : "Conv1DBackpropInput", "Conv1DBackpropFilter"};
  if (axes == 5) return {is_transposed ? "Conv3D" : "Conv3DBackpropInput", "Conv3DBackpropFilter"};
  return {is_transposed ? "Conv2D" : "Conv2DBackpropInput", "Conv2DBackpropFilter"};
}

// Which of image, filter and bias each output is the gradient of. Where the op does not say, outputs are told by
// their shapes.
std::vector<int> GradientsOf(const sim::OpGraph& graph, const sim::Op& op) {
  std::vector<int> of;
  const sim::Attribute* found = sim::FindAttribute(op.attributes, "output_mask");
  if (const auto* mask = found != nullptr ? std::get_if<sim::Attribute::List>(&found->value) : nullptr) {
    for (std::size_t i = 0; i < mask->size(); ++i) {
      const bool* asked = std::get_if<bool>(&(*mask)[i].value);
      if (asked != nullptr && *asked) of.push_back(static_cast<int>(i));
    }
    if (of.size() == op.outputs.size()) return of;
    of.clear();
  }
  for (const sim::Output& output : op.outputs) {
    const bool is_image =
        output.shape == OutputOf(graph, op.inputs[1]).shape && (of.empty() || of.back() != 0);
    of.push_back(is_image ? 0 : output.shape.size() > 1 ? 1 : 2);
  }
  return of;
}

std::vector<OpWork> BackwardKernels(const sim::OpGraph& graph, const sim::Op& op) {
  const sim::Output& gradient = OutputOf(graph, op.inputs[0]);
  const sim::Output& image = OutputOf(graph, op.inputs[1]);
  const sim::Output& filter = OutputOf(graph, op.inputs[2]);
  const double groups = GroupsOf(op);
  const bool is_depthwise = groups > 1 && image.shape.size() == 4 && filter.shape.size() == 4 &&
                            static_cast<double>(image.shape[1]) == groups && filter.shape[1] == 1;
  const KernelNames names =
      NamesOf(is_depthwise, sim::FindBool(op.attributes, "transposed").value_or(false), image.shape.size());
  const std::vector<int> of = GradientsOf(graph, op);
  const auto products = std::ranges::count_if(of, [](int one) { return one < 2; });
  std::vector<OpWork> kernels;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const sim::Output& output = op.outputs[i];
    const bool is_image = of[i] == 0;
    OpWork work;
    work.type = of[i] == 2 ? std::string_view("BiasAddGrad") : is_image ? names.image : names.filter;
    const OpType& row = *FindOpType(work.type);
    work.op_class = of[i] == 2 ? row.op_class : ClassOf(op, row);
    work.bytes = static_cast<double>(gradient.bytes + output.bytes);
    work.dtype = DtypeOf(graph, op);
    work.elements = ElementsOf(output);
    work.row = output.shape.empty() ? 0 : static_cast<double>(output.shape.back());
    work.family = FamilyOf(work.type, work.op_class);
    work.tf32 = Tf32Of(graph, op, work.op_class);
    work.taps = TapsOf(op);
    if (of[i] < 2) {
      work.flops = op.flops / static_cast<double>(products);
      work.bytes += static_cast<double>(is_image ? filter.bytes : image.bytes);
      work.product = ProductOf({work.flops, output.shape, row.grid, is_image ? std::size_t{1} : 0, groups});
      if (work.op_class == OpClass::kConvolution) work.positions = PositionsOf(work.product, output);
    }
    kernels.push_back(work);
  }
  return kernels;
}

double ReadAgain(const sim::OpGraph& graph, const sim::Op& op) {
  const bool forward = op.type.starts_with("FusedBatchNorm") || op.type == "BatchNormalization";
  if (!forward || op.inputs.empty() || op.outputs.size() < 2) return 0;
  const auto of = [&](std::size_t i) { return static_cast<double>(OutputOf(graph, op.inputs[i]).bytes); };
  if (op.type.find("Grad") != op.type.npos) return op.inputs.size() > 1 ? of(0) + of(1) : 0;
  const bool is_inference = sim::FindString(graph.attributes, "mode") == "inference";
  return op.outputs[1].bytes > 0 && !is_inference ? of(0) : 0;
}

// Each expert that is reached multiplies its own rows; the gradient of the weights [experts, rows, columns] is a product
// for each expert already.
void SplitByExperts(const sim::OpGraph& graph, const sim::Op& op, MatrixProduct& product) {
  const auto& shape = op.outputs.front().shape;
  if (const auto experts = ExpertsOf(graph, op)) {
    product.count = std::max(1.0, std::round(experts->Reached()));
    product.rows /= product.count;
  } else if (shape.size() == 3) {
    product.count = static_cast<double>(shape[0]);
    product.rows = static_cast<double>(shape[1]);
  }
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
  static constexpr std::array kKeys = {"data_format", "dilations",   "groups",      "kernel", "padding",
                                       "tf32",        "transpose_a", "transpose_b", "strides"};
  std::vector<std::string> parts;
  for (const char* key : kKeys) {
    const sim::Attribute* found = sim::FindAttribute(op.attributes, key);
    if (found != nullptr)
      parts.push_back(fmt::format("{}={}", key, std::visit(AttributeText{}, found->value)));
  }
  return parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ","));
}

}  // namespace

double Experts::Reached() const {
  if (experts == 1) return rows > 0 ? 1 : 0;
  return experts * (1 - PortableExp(std::max(-700.0, rows * PortableLog(1 - 1 / experts))));
}

OpWork WorkOf(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
  OpWork work;
  if (op.IsSource()) return work;
  work.op_class = ClassOf(op);
  if (work.op_class == OpClass::kNothing) return work;
  const OpType* row = FindOpType(op.type);
  work.flops = op.flops;
  work.bytes = BytesMoved(graph, op, row);
  work.read_again = ReadAgain(graph, op);
  work.dtype = IsContraction(work.op_class) ? DtypeOfProduct(graph, op) : DtypeOf(graph, op);
  work.elements = ElementsWritten(graph, op, row);
  if (!op.outputs.empty() && !op.outputs.front().shape.empty())
    work.row = static_cast<double>(op.outputs.front().shape.back());
  work.family = FamilyOf(op.type, work.op_class);
  work.type = op.type;
  if (work.op_class == OpClass::kElementwise) work.broadcasts = Broadcasts(graph, op);
  if (IsContraction(work.op_class)) work.tf32 = Tf32Of(graph, op, work.op_class);
  if (row != nullptr) work.product = ProductOf(op, row->grid);
  if (op.type == kGroupedProduct && work.product) {
    work.experts = ExpertsOf(graph, op);
    SplitByExperts(graph, op, *work.product);
  }
  work.attention = AttentionOf(graph, op);
  if (work.attention) {  // graphs count what a mask hides, too
    AttentionShape whole = *work.attention;
    whole.is_causal = false;
    whole.window = 0;
    work.flops *= work.attention->Flops() / whole.Flops();
  }
  if (IsConvolution(op)) work.taps = TapsOf(op);
  if (work.op_class == OpClass::kConvolution && work.product)
    work.positions = PositionsOf(work.product, op.outputs.front());
  return work;
}

std::vector<OpWork> KernelsOf(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
  if (op.type != kConvolutionBackward || op.inputs.size() < 3) return {WorkOf(graph, index)};
  return BackwardKernels(graph, op);
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
