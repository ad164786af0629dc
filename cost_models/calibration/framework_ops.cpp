#include "cost_models/calibration/framework_ops.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/base/units.h"

namespace stowplan::cost_models {
namespace {

using Dims = std::vector<std::int64_t>;
using Shape = std::vector<std::pair<std::string, std::int64_t>>;

// One op without its number format, which is the same for all of a call.
struct Work {
  const char* op;
  const char* phase;
  Shape shape;
};
using Told = std::variant<std::vector<Work>, std::string>;  // else why not

constexpr char kNoShapes[] = "sizes not recorded, or of another rank";
constexpr char kNoArguments[] = "recorded without arguments (\"Concrete Inputs\")";
constexpr char kTwoShapes[] = "operands of two shapes";

const sim::Attribute::List* ListAt(const profiler::Marker& marker, const char* key) {
  const sim::Attribute* found = sim::FindAttribute(marker.attributes, key);
  return found != nullptr ? std::get_if<sim::Attribute::List>(&found->value) : nullptr;
}

std::optional<Dims> Numbers(const sim::Attribute& value) {
  const auto* list = std::get_if<sim::Attribute::List>(&value.value);
  if (list == nullptr) return std::nullopt;
  Dims numbers;
  for (const sim::Attribute& item : *list) {
    const auto* whole = std::get_if<std::int64_t>(&item.value);
    if (whole == nullptr) return std::nullopt;
    numbers.push_back(*whole);
  }
  return numbers;
}

// That a type is one of tensors: "float", "c10::Half"; not "Scalar", "TensorList" or "".
bool IsOfNumbers(const sim::Attribute& type) {
  const auto* name = std::get_if<std::string>(&type.value);
  return name != nullptr && !name->empty() && name->find("Scalar") == name->npos &&
         name->find("List") == name->npos;
}

std::int64_t Product(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

// That all tensors of all arguments together are of sizes that a memory may have, so that no product of them wraps.
bool AreOfThisWorld(const std::vector<std::vector<Dims>>& inputs) {
  std::int64_t sum = 0;
  for (const std::vector<Dims>& tensors : inputs) {
    for (const Dims& dims : tensors) {
      std::int64_t product = 1;
      for (const std::int64_t dim : dims) {
        if (dim < 0 || dim > sim::kMaxBytes || __builtin_mul_overflow(product, dim, &product)) return false;
      }
      if (product > sim::kMaxBytes - sum) return false;
      sum += product;
    }
  }
  return true;
}

// The arguments of a call as its marker has them: sizes of tensors, and in newer versions the other values as text.
class Arguments {
 public:
  explicit Arguments(const profiler::Marker& marker) : values_(ListAt(marker, "Concrete Inputs")) {
    const sim::Attribute::List* const dims = ListAt(marker, "Input Dims");
    const sim::Attribute::List* const types = ListAt(marker, "Input type");
    if (dims == nullptr) return;
    for (const sim::Attribute& entry : *dims) {
      std::vector<Dims> tensors;
      if (const auto one = Numbers(entry)) {
        // A tensor of one number has no axes, as what is no tensor: its type tells.
        const bool number = one->empty() && types != nullptr && inputs_.size() < types->size() &&
                            IsOfNumbers((*types)[inputs_.size()]);
        tensors.push_back(number ? Dims{1} : *one);
      } else if (const auto* list = std::get_if<sim::Attribute::List>(&entry.value)) {
        for (const sim::Attribute& item : *list)
          if (const auto tensor = Numbers(item)) tensors.push_back(*tensor);
      }
      inputs_.push_back(std::move(tensors));
    }
    if (!AreOfThisWorld(inputs_)) inputs_.clear();
  }

  // Empty for what is no tensor, and for tensors without elements.
  Dims tensor(std::size_t i) const {
    const bool one = i < inputs_.size() && inputs_[i].size() == 1;
    return one && std::ranges::all_of(inputs_[i][0], [](std::int64_t dim) { return dim > 0; }) ? inputs_[i][0]
                                                                                               : Dims{};
  }
  // Of a tensor, or of all tensors of a list; 0 = none, or a number.
  std::int64_t elements(std::size_t i) const {
    std::int64_t sum = 0;
    for (const Dims& dims : i < inputs_.size() ? inputs_[i] : std::vector<Dims>{})
      if (!dims.empty()) sum += Product(dims);
    return sum;
  }
  // Tensors of as many elements as the first; empty where there are others, but for single numbers.
  std::optional<std::size_t> equal_tensors() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::int64_t size = elements(i);
      if (size > 1 && size != elements(0)) return std::nullopt;
      count += size > 0 && size == elements(0) ? 1 : 0;
    }
    return count;
  }
  // Of "True", or "[True, False, True]".
  std::vector<bool> flags(std::size_t i) const {
    if (values_ == nullptr || i >= values_->size()) return {};
    const auto* text = std::get_if<std::string>(&(*values_)[i].value);
    std::vector<bool> found;
    for (std::size_t at = 0; text != nullptr && at < text->size(); ++at) {
      if (text->compare(at, 4, "True") == 0) found.push_back(true);
      if (text->compare(at, 5, "False") == 0) found.push_back(false);
    }
    return found;
  }
  // Whole numbers of an argument such as "[1, 1]" or "2"; nothing where arguments were not recorded. Those
  // beyond 2^50, which no axis, size or padding is, count as that.
  std::optional<Dims> numbers(std::size_t i) const {
    if (values_ == nullptr || i >= values_->size()) return std::nullopt;
    const auto* text = std::get_if<std::string>(&(*values_)[i].value);
    if (text == nullptr) return std::nullopt;
    Dims found;
    const char *at = text->data(), *const end = at + text->size();
    while (at < end) {
      std::int64_t number = 0;
      const auto [next, error] = std::from_chars(at, end, number);
      const bool is_number = error != std::errc::invalid_argument;
      if (error == std::errc::result_out_of_range) number = sim::kMaxBytes;
      if (is_number) found.push_back(std::clamp(number, -sim::kMaxBytes, sim::kMaxBytes));
      at = is_number ? next : at + 1;
    }
    return found;
  }

 private:
  std::vector<std::vector<Dims>> inputs_;  // [argument][tensor of a list]
  const sim::Attribute::List* values_;
};

Told One(const char* op, Shape shape, const char* phase = "forward") {
  return std::vector<Work>{{op, phase, std::move(shape)}};
}

// ---- contractions -----------------------------------------------------------------------------------------

// Of the arguments at `first` and behind it: of addmm and baddbmm the matrix that is added comes before them.
template <std::size_t first>
Told Matrices(const char* op, const Arguments& with) {
  const Dims a = with.tensor(first), b = with.tensor(first + 1);
  if (a.size() != 2 || b.size() != 2) return kNoShapes;
  return One(op, {{"m", a[0]}, {"n", b[1]}, {"k", a[1]}});
}
template <std::size_t first>
Told Batches(const char* op, const Arguments& with) {
  const Dims a = with.tensor(first), b = with.tensor(first + 1);
  if (a.size() != 3 || b.size() != 3) return kNoShapes;
  return One(op, {{"batch", a[0]}, {"m", a[1]}, {"n", b[2]}, {"k", a[2]}});
}

// Of square images, square strides and the padding that keeps ceil(side / stride), as graphs of ours have them.
struct Convolution {
  Dims images, filter;  // NCHW, OIHW
  std::optional<Dims> strides, paddings, dilations, groups;
};
Told Convolved(const char* op, const Convolution& made, const std::vector<const char*>& phases) {
  const auto& [images, filter, strides, paddings, dilations, groups] = made;
  if (images.size() != 4 || filter.size() != 4) return kNoShapes;
  if (!strides || !paddings || !dilations || !groups) return kNoArguments;
  const auto all = [](const Dims& numbers, std::int64_t value) {
    return std::ranges::all_of(numbers, [&](std::int64_t one) { return one == value; });
  };
  if (strides->empty() || paddings->empty() || !all(*strides, strides->front()) || images[2] != images[3])
    return "a convolution that is not square";
  if (!all(*dilations, 1) || !all(*groups, 1)) return "a convolution with dilations or groups";
  const std::int64_t side = images[2], stride = strides->front();
  if (stride < 1) return kNoArguments;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t padding = (*paddings)[std::min(axis, paddings->size() - 1)];
    if ((side + 2 * padding - filter[2 + axis]) / stride + 1 != (side + stride - 1) / stride)
      return "a convolution with another padding than SAME";
  }
  std::vector<Work> work;
  for (const char* phase : phases) {
    work.push_back({op,
                    phase,
                    {{"batch", images[0]},
                     {"side", side},
                     {"in", images[1]},
                     {"out", filter[0]},
                     {"kernel_h", filter[2]},
                     {"kernel_w", filter[3]},
                     {"stride", stride}}});
  }
  return work;
}

Told ConvolutionForward(const char* op, const Arguments& with) {
  return Convolved(
      op,
      {with.tensor(0), with.tensor(1), with.numbers(3), with.numbers(2), with.numbers(4), with.numbers(5)},
      {"forward"});
}
// The gradients that its mask asks for: [images, filter, bias]; of the first layer of a network not the images'.
Told ConvolutionBackward(const char* op, const Arguments& with) {
  const std::vector<bool> transposed = with.flags(7), wanted = with.flags(10);
  if (wanted.size() != 3 || transposed.size() != 1) return kNoArguments;
  if (transposed[0]) return "a transposed convolution";
  std::vector<const char*> phases;
  if (wanted[0]) phases.push_back("data_gradient");
  if (wanted[1]) phases.push_back("filter_gradient");
  if (phases.empty()) return "a convolution that makes no gradient";
  return Convolved(
      op,
      {with.tensor(1), with.tensor(2), with.numbers(4), with.numbers(5), with.numbers(6), with.numbers(9)},
      phases);
}

// ---- what moves bytes ---------------------------------------------------------------------------------------

Told Count(const char* op, std::int64_t count) {
  if (count == 0) return kNoShapes;
  return One(op, {{"elements", count}});
}
Told AllElements(const char* op, const Arguments& with) {
  return Count(op, with.elements(0));
}
// A number, or a row that is read again and again, costs next to nothing beside the other operand.
Told Operands(const char* op, std::int64_t first, std::int64_t second) {
  constexpr std::int64_t kSmall = 16;
  if (first == second) return Count(op, first);
  const std::int64_t most = std::max(first, second), least = std::min(first, second);
  return most >= kSmall * least ? Count("scale", most) : Told(kTwoShapes);
}
Told TwoOperands(const char* op, const Arguments& with) {
  return Operands(op, with.elements(0), with.elements(1));
}
// Behind the gradient of a loss, which is one number.
Told LastTwoOperands(const char* op, const Arguments& with) {
  return with.elements(0) == 1 ? Operands(op, with.elements(1), with.elements(2)) : Told(kTwoShapes);
}

// What a compiler made of a chain of element-wise ops: one kernel that reads and writes each of its tensors once.
Told FusedElementwise(const Arguments& with) {
  constexpr const char* kWords[] = {"fill", "scale", "add"};  // of one, two, three tensors
  const auto tensors = with.equal_tensors();
  if (!tensors || *tensors == 0) return kTwoShapes;
  if (*tensors > std::size(kWords)) return fmt::format("one kernel over {} tensors", *tensors);
  return Count(kWords[*tensors - 1], with.elements(0));
}

// Over the axis that is the argument at `axis`, the last one where arguments were not recorded.
template <std::size_t axis>
Told Softmax(const char* op, const Arguments& with) {
  const Dims dims = with.tensor(0);
  if (dims.empty()) return kNoShapes;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const Dims given = with.numbers(axis).value_or(Dims{rank - 1});
  if (given.size() != 1) return kNoArguments;
  if (given.front() != rank - 1 && given.front() != -1) return "a softmax over another axis than the last";
  constexpr std::size_t kOfForward = 1;
  return One(op, {{"rows", Product(dims) / dims.back()}, {"columns", dims.back()}},
             axis == kOfForward ? "forward" : "backward");
}

// Of the tensor at `input`, over as many of the last axes as the shape behind it names; where arguments were not
// recorded, as the weights have.
template <std::size_t input>
Told LayerNorm(const char* op, const Arguments& with) {
  const Dims dims = with.tensor(input);
  if (dims.empty()) return kNoShapes;
  Dims normalized = with.numbers(input + 1).value_or(Dims{});
  if (normalized.empty()) normalized = with.tensor(input == 0 ? 2 : 5);  // the weights, which may be missing
  if (normalized.empty()) normalized = {dims.back()};
  const bool suits =
      normalized.size() <= dims.size() && std::equal(normalized.rbegin(), normalized.rend(), dims.rbegin());
  if (!suits) return "a layer norm whose shape is not that of the last axes";
  const std::int64_t columns = Product(normalized);
  return One(op, {{"rows", Product(dims) / columns}, {"columns", columns}},
             input == 0 ? "forward" : "backward");
}

Told Images(const char* op, const Dims& images, const char* phase) {
  if (images.size() != 4) return kNoShapes;
  if (images[2] != images[3]) return "images that are not square";
  return One(op, {{"batch", images[0]}, {"side", images[2]}, {"channels", images[1]}}, phase);
}
Told ImagesForward(const char* op, const Arguments& with) {
  return Images(op, with.tensor(0), "forward");
}
Told ImagesBackward(const char* op, const Arguments& with) {
  return Images(op, with.tensor(0), "backward");
}

// Over the last axes, over the first ones, or over all.
Told Reduction(const char* op, const Arguments& with) {
  const Dims dims = with.tensor(0);
  std::optional<Dims> axes = with.numbers(1);
  if (dims.empty()) return kNoShapes;
  if (!axes) return kNoArguments;
  const auto rank = static_cast<std::int64_t>(dims.size()), count = static_cast<std::int64_t>(axes->size());
  for (std::int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(*axes);
  const bool distinct = std::ranges::adjacent_find(*axes) == axes->end();
  if (!distinct || (count > 0 && (axes->front() < 0 || axes->back() >= rank)))
    return "a reduction over axes that its tensor does not have";
  const std::int64_t all = Product(dims);
  if (count == 0 || count == rank) return One(op, {{"rows", 1}, {"columns", all}});
  const bool neighbours = axes->back() - axes->front() == count - 1;
  const bool last = axes->back() == rank - 1, first = axes->front() == 0;
  if (!neighbours || last == first) return "a reduction over axes in the middle";
  const auto split = dims.begin() + (last ? axes->front() : count);
  const std::int64_t before = Product({dims.begin(), split});
  return One(last ? op : "column_sum", {{"rows", before}, {"columns", all / before}});
}

// The numbers of rows are the argument at `ids`.
template <std::size_t ids>
Told Lookup(const char* op, const Arguments& with) {
  const Dims table = with.tensor(0);
  const std::int64_t tokens = with.elements(ids);
  if (table.size() != 2 || tokens == 0) return kNoShapes;
  return One(op, {{"rows", table[0]}, {"width", table[1]}, {"tokens", tokens}});
}

// index_select: of rows alone.
Told Selection(const char* op, const Arguments& with) {
  const auto axis = with.numbers(1);
  if (!axis || axis->size() != 1) return kNoArguments;
  const auto rank = static_cast<std::int64_t>(with.tensor(0).size());
  if (axis->front() != 0 && axis->front() != -rank) return "a selection along another axis than the first";
  return Lookup<2>(op, with);
}

// ---- the table ----------------------------------------------------------------------------------------------

// What a marker of this name did: the probes' word, and how its arguments say the shape. Sorted by name. Positions of
// arguments are those of the signatures in PyTorch's native_functions.yaml.
struct Row {
  std::string_view name;
  const char* op;
  Told (*tell)(const char* op, const Arguments& with);
};
constexpr Row kRows[] = {
    {"aten::_foreach_add_", "add", TwoOperands},
    {"aten::_foreach_mul_", "mul", TwoOperands},
    {"aten::_fused_adam_", "adam", AllElements},
    {"aten::_fused_adamw_", "adamw", AllElements},
    {"aten::_log_softmax", "softmax", Softmax<1>},
    {"aten::_log_softmax_backward_data", "softmax", Softmax<2>},
    {"aten::_softmax", "softmax", Softmax<1>},
    {"aten::_softmax_backward_data", "softmax", Softmax<2>},
    {"aten::add", "add", TwoOperands},
    {"aten::add_", "add", TwoOperands},
    {"aten::addmm", "gemm", Matrices<1>},
    {"aten::baddbmm", "bmm", Batches<1>},
    {"aten::bmm", "bmm", Batches<0>},
    {"aten::cat", "copy", AllElements},
    {"aten::clamp", "relu", AllElements},
    {"aten::clamp_min", "relu", AllElements},
    {"aten::clamp_min_", "relu", AllElements},
    {"aten::convolution_backward", "conv2d", ConvolutionBackward},
    {"aten::copy_", "copy", AllElements},
    {"aten::cudnn_batch_norm", "batch_norm", ImagesForward},
    {"aten::cudnn_batch_norm_backward", "batch_norm", ImagesBackward},
    {"aten::cudnn_convolution", "conv2d", ConvolutionForward},
    {"aten::div", "div", TwoOperands},
    {"aten::div_", "div", TwoOperands},
    {"aten::embedding", "embedding", Lookup<1>},
    {"aten::exp", "exp", AllElements},
    {"aten::exp_", "exp", AllElements},
    {"aten::fill_", "fill", AllElements},
    {"aten::gelu", "gelu", AllElements},
    {"aten::gelu_backward", "gelu_grad", AllElements},
    {"aten::index_select", "embedding", Selection},
    {"aten::log", "exp", AllElements},
    {"aten::log_", "exp", AllElements},
    {"aten::mean", "sum", Reduction},
    {"aten::mm", "gemm", Matrices<0>},
    {"aten::mse_loss", "sub", TwoOperands},
    {"aten::mse_loss_backward", "sub", LastTwoOperands},
    {"aten::mul", "mul", TwoOperands},
    {"aten::mul_", "mul", TwoOperands},
    {"aten::nan_to_num", "relu", AllElements},
    {"aten::native_batch_norm", "batch_norm", ImagesForward},
    {"aten::native_batch_norm_backward", "batch_norm", ImagesBackward},
    {"aten::native_layer_norm", "layer_norm", LayerNorm<0>},
    {"aten::native_layer_norm_backward", "layer_norm", LayerNorm<1>},
    {"aten::neg", "neg", AllElements},
    {"aten::pow", "pow", AllElements},
    {"aten::relu", "relu", AllElements},
    {"aten::relu_", "relu", AllElements},
    {"aten::rsqrt", "rsqrt", AllElements},
    {"aten::sigmoid", "sigmoid", AllElements},
    {"aten::sigmoid_backward", "sigmoid_grad", AllElements},
    {"aten::sqrt", "sqrt", AllElements},
    {"aten::sub", "sub", TwoOperands},
    {"aten::sub_", "sub", TwoOperands},
    {"aten::sum", "sum", Reduction},
    {"aten::tanh", "tanh", AllElements},
    {"aten::tanh_backward", "tanh_grad", AllElements},
    {"aten::threshold_backward", "relu_grad", AllElements},
};

// ---- number formats -----------------------------------------------------------------------------------------

bool AnyContains(const std::vector<std::string_view>& kernels,
                 std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(kernels, [&](std::string_view kernel) {
    return std::ranges::any_of(parts,
                               [&](std::string_view part) { return kernel.find(part) != kernel.npos; });
  });
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Whether `float` is one of the types in a name as compilers mangle it, which CUPTI gives (Itanium C++ ABI, 5.1): the letter f
// outside of identifiers, which stand behind their lengths, of literals (Li4E), and of what was named before (S0_, T_).
bool HasMangledFloat(std::string_view name) {
  if (!name.starts_with("_Z")) return false;
  for (std::size_t i = 2; i < name.size(); ++i) {
    if (name[i] == 'f') return true;
    if (IsDigit(name[i])) {
      std::size_t length = 0;
      for (; i < name.size() && IsDigit(name[i]); ++i)
        length = std::min<std::size_t>(10 * length + static_cast<std::size_t>(name[i] - '0'), name.size());
      i += length - 1;
    } else if (name[i] == 'L' || name[i] == 'T' || name[i] == 'S') {
      const bool is_short = name[i] == 'S' && i + 1 < name.size() && name[i + 1] >= 'a';
      i = is_short ? i + 1 : std::min(name.find(name[i] == 'L' ? 'E' : '_', i), name.size());
    }
  }
  return false;
}

// "nvjet_tst_128x64…" of cuBLAS: operands, sums and result; h is f16, t bf16, s f32.
std::string FormatOfNvjet(std::string_view kernel) {
  constexpr std::string_view kPrefix = "nvjet_";
  if (!kernel.starts_with(kPrefix) || kernel.size() == kPrefix.size()) return "";
  const char operands = kernel[kPrefix.size()];
  return operands == 't' ? "bf16" : operands == 'h' ? "f16" : operands == 's' ? "f32" : "";
}

// In f32 and half-precision kernels' own names: cuBLAS, cuDNN, CUTLASS and PyTorch's templates.
std::string FormatOfKernels(const std::vector<std::string_view>& kernels) {
  for (const std::string_view kernel : kernels) {
    if (std::string format = FormatOfNvjet(kernel); !format.empty()) return format;
  }
  if (AnyContains(kernels, {"bf16", "BFloat16", "bfloat16"})) return "bf16";
  if (AnyContains(kernels, {"hgemm", "h16816", "h1688", "h884", "fp16", "f16f16", "_f16_", "Half", "__half"}))
    return "f16";
  const bool is_f32 = AnyContains(kernels, {"sgemm", "float", "f32", "s1688", "scudnn"}) ||
                      std::ranges::any_of(kernels, HasMangledFloat);
  return is_f32 ? "f32" : "";
}

// The type of the first tensor; where types were not recorded, what the kernels' names say.
std::string FormatOf(const profiler::Marker& marker, const std::vector<std::string_view>& kernels) {
  const sim::Attribute::List* const types = ListAt(marker, "Input type");
  if (types == nullptr) return FormatOfKernels(kernels);
  for (const sim::Attribute& type : *types) {
    const auto* name = std::get_if<std::string>(&type.value);
    if (name == nullptr) continue;
    if (*name == "float") return "f32";
    if (*name == "c10::Half") return "f16";
    if (*name == "c10::BFloat16") return "bf16";
    if (*name == "TensorList") return FormatOfKernels(kernels);
    if (!name->empty() && *name != "Scalar") return "";
  }
  return "";
}

bool RunsInTf32(const std::vector<std::string_view>& kernels) {
  return AnyContains(kernels, {"tf32", "_s1688"}) && !AnyContains(kernels, {"fp16", "_f16_"});
}

}  // namespace

ToldOp TellOp(const profiler::Marker& marker, const std::vector<std::string_view>& kernels) {
  const auto row = std::ranges::lower_bound(kRows, std::string_view(marker.name), {}, &Row::name);
  const bool known = row != std::end(kRows) && row->name == marker.name;
  const bool fused = marker.name.starts_with("triton_poi_");
  if (!known && !fused) return {.ops = {}, .why_not = marker.name};
  const auto because = [&](const std::string& why) {
    return ToldOp{.ops = {}, .why_not = marker.name + ", " + why};
  };
  if (ListAt(marker, "Input Dims") == nullptr) return because(kUnshaped);
  const Told told = known ? row->tell(row->op, Arguments(marker)) : FusedElementwise(Arguments(marker));
  if (const auto* why_not = std::get_if<std::string>(&told)) return because(*why_not);
  const std::string format = FormatOf(marker, kernels);
  if (format.empty()) return because("of other types than float, half and bfloat16");
  ToldOp made;
  for (const Work& work : std::get<std::vector<Work>>(told)) {
    const std::string_view op = work.op;
    const bool contraction = op == "gemm" || op == "bmm" || op == "conv2d";
    made.ops.push_back({.op = work.op,
                        .phase = work.phase,
                        .format = contraction && format == "f32" && RunsInTf32(kernels) ? "tf32" : format,
                        .shape = work.shape});
  }
  return made;
}

std::optional<ObservedOp> TellCollective(const profiler::Marker& marker) {
  const auto whole = [&](const char* key) -> std::int64_t {
    const sim::Attribute* found = sim::FindAttribute(marker.attributes, key);
    const auto* number = found != nullptr ? std::get_if<std::int64_t>(&found->value) : nullptr;
    return number != nullptr ? *number : 0;
  };
  const auto text = [&](const char* key) -> std::string {
    const sim::Attribute* found = sim::FindAttribute(marker.attributes, key);
    const auto* name = found != nullptr ? std::get_if<std::string>(&found->value) : nullptr;
    return name != nullptr ? *name : "";
  };
  constexpr std::string_view kPrefix = "nccl:";
  ObservedOp op{.phase = "forward"};
  std::int64_t elements = 0;
  std::string type;
  if (marker.name.starts_with(kPrefix)) {
    op.op = marker.name.substr(kPrefix.size());
    const Arguments with(marker);
    elements = with.elements(0);
    if (const auto* types = ListAt(marker, "Input type"); types != nullptr && !types->empty())
      if (const auto* name = std::get_if<std::string>(&types->front().value)) type = *name;
  } else {
    op.op = text("Collective name");
    elements = std::max(whole("In msg nelems"), whole("Out msg nelems"));
    type = text("dtype");
  }
  static const std::map<std::string_view, std::int64_t> kBytes = {
      {"float", 4},    {"Float", 4},  {"c10::Half", 2},    {"Half", 2}, {"c10::BFloat16", 2},
      {"BFloat16", 2}, {"double", 8}, {"Double", 8},       {"long", 8}, {"long int", 8},
      {"Long", 8},     {"int", 4},    {"Int", 4},          {"Byte", 1}, {"Char", 1},
      {"Bool", 1},     {"bool", 1},   {"unsigned char", 1}};
  const auto bytes = kBytes.find(type);
  if (op.op.empty() || elements <= 0 || bytes == kBytes.end()) return std::nullopt;
  if (elements > sim::kMaxBytes / bytes->second) return std::nullopt;
  op.shape = {{"bytes", elements * bytes->second}};
  if (const std::int64_t ranks = whole("Group size"); ranks > 0) op.shape.emplace_back("ranks", ranks);
  return op;
}

std::vector<std::string_view> ToldNames() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace stowplan::cost_models
