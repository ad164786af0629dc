#include "scenarios/importers/trace/kernel_classes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "sim/base/units.h"

namespace stowplan::scenarios::trace {
namespace {

using profiler::Marker;

struct NamePart {
  std::string_view part;  // in small letters
  std::string_view means;
};

// The first that is found decides.
constexpr std::array kKernelClasses = {NamePart{"nccl", "Collective"},
                                       NamePart{"bounds_check_indices", "Check"},
                                       NamePart{"permute_2d", "Permute"},
                                       NamePart{"rccl", "Collective"},
                                       NamePart{"triton_", "Fused"},
                                       NamePart{"flash", "Attention"},
                                       NamePart{"fmha", "Attention"},
                                       NamePart{"attn", "Attention"},
                                       NamePart{"attention", "Attention"},
                                       NamePart{"split_embedding", "EmbeddingBag"},
                                       NamePart{"embeddingbag", "EmbeddingBag"},
                                       NamePart{"embedding", "GatherV2"},
                                       NamePart{"wgrad", "ConvBackward"},
                                       NamePart{"dgrad", "ConvBackward"},
                                       NamePart{"conv", "Conv2D"},
                                       NamePart{"fprop", "Conv2D"},
                                       NamePart{"gemm", "MatMul"},
                                       NamePart{"gemv", "MatMul"},
                                       NamePart{"cijk_", "MatMul"},
                                       NamePart{"nvjet", "MatMul"},
                                       NamePart{"cutlass", "MatMul"},
                                       NamePart{"splitk", "MatMul"},
                                       NamePart{"softmax", "Softmax"},
                                       NamePart{"batch_norm", "FusedBatchNorm"},
                                       NamePart{"bn_fw", "FusedBatchNorm"},
                                       NamePart{"bn_bw", "FusedBatchNorm"},
                                       NamePart{"rms", "RMSNorm"},
                                       NamePart{"layer_norm", "LayerNorm"},
                                       NamePart{"layernorm", "LayerNorm"},
                                       NamePart{"multi_tensor", "Optimizer"},
                                       NamePart{"reduce", "Reduction"},
                                       NamePart{"memcpy", "Copy"},
                                       NamePart{"catarray", "ConcatV2"},
                                       NamePart{"elementwise", "Elementwise"}};

// What follows is longer first, as one name may hold another.
constexpr std::array kCollectives = {NamePart{"reducescatter", "ReduceScatter"},
                                     NamePart{"allreduce", "AllReduce"},
                                     NamePart{"allgather", "AllGather"},
                                     NamePart{"alltoall", "AllToAll"},
                                     NamePart{"sendrecv", "AllToAll"},
                                     NamePart{"broadcast", "Broadcast"},
                                     NamePart{"barrier", "Barrier"},
                                     NamePart{"scatter", "Scatter"},
                                     NamePart{"gather", "Gather"},
                                     NamePart{"reduce", "Reduce"},
                                     NamePart{"send", "Send"},
                                     NamePart{"recv", "Recv"}};

std::string_view Meaning(std::string_view name, const auto& parts) {
  const auto found = std::ranges::find_if(
      parts, [&](const NamePart& part) { return name.find(part.part) != std::string_view::npos; });
  return found != parts.end() ? found->means : std::string_view();
}

std::string SmallLetters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

// Of the first tensor of a range, by what record_shapes=True recorded of it.
std::int64_t FirstInputBytes(const Marker& marker) {
  const sim::Attribute* const dims = sim::FindAttribute(marker.attributes, "Input Dims");
  const sim::Attribute* const types = sim::FindAttribute(marker.attributes, "Input type");
  if (dims == nullptr || types == nullptr) return 0;
  const auto* const shapes = std::get_if<sim::Attribute::List>(&dims->value);
  const auto* const names = std::get_if<sim::Attribute::List>(&types->value);
  if (shapes == nullptr || names == nullptr || shapes->empty() || names->empty()) return 0;
  const auto* const shape = std::get_if<sim::Attribute::List>(&shapes->front().value);
  const auto* const type = std::get_if<std::string>(&names->front().value);
  if (shape == nullptr || shape->empty() || type == nullptr) return 0;
  std::int64_t bytes = ElementBytes(*type);
  for (const sim::Attribute& dim : *shape) {
    const auto* const size = std::get_if<std::int64_t>(&dim.value);
    if (size == nullptr || *size < 0 || (*size > 0 && bytes > sim::kMaxBytes / *size)) return 0;
    bytes *= *size;
  }
  return bytes;
}

std::int64_t WholeNumber(const Marker& marker, const std::string& key) {
  const double value = sim::FindNumber(marker.attributes, key).value_or(0);
  return value > 0 && value <= static_cast<double>(sim::kMaxBytes) ? static_cast<std::int64_t>(value) : 0;
}

void ReadRange(const Marker& marker, Collective& collective) {
  if (const auto name = sim::FindString(marker.attributes, "Collective name"); name && !name->empty()) {
    if (const std::string_view type = CollectiveNamed(*name); !type.empty()) collective.type = type;
    collective.dtype = sim::FindString(marker.attributes, "dtype").value_or("");
    const std::int64_t elements = WholeNumber(marker, "In msg nelems"), of = ElementBytes(collective.dtype);
    if (elements > 0 && of > 0 && elements <= sim::kMaxBytes / of) collective.bytes = elements * of;
    collective.ranks = WholeNumber(marker, "Group size");
    collective.group = sim::FindString(marker.attributes, "Process Group Name").value_or("");
  } else if (marker.name.starts_with("nccl:")) {
    if (const std::string_view type = CollectiveNamed(marker.name); !type.empty()) collective.type = type;
  }
  if (collective.bytes == 0) collective.bytes = FirstInputBytes(marker);
}

}  // namespace

std::string_view KernelClass(std::string_view kernel) {
  std::string small = SmallLetters(kernel);
  constexpr std::string_view kNoProduct = "fbgemm";  // a library of embeddings, too
  for (std::size_t at; (at = small.find(kNoProduct)) != std::string::npos;)
    small.erase(at, kNoProduct.size());
  const std::string_view means = Meaning(small, kKernelClasses);
  return means.empty() ? "Kernel" : means;
}

std::string_view CollectiveNamed(std::string_view name) {
  std::string small = SmallLetters(name);
  std::erase(small, '_');
  return Meaning(small, kCollectives);
}

std::optional<Collective> CollectiveOf(const std::vector<Marker>& markers, const Ranges& ranges,
                                       std::size_t around, std::string_view kernel) {
  const bool is_kernel = KernelClass(kernel) == "Collective";
  if (!is_kernel) return std::nullopt;
  Collective collective;
  collective.type = CollectiveNamed(kernel);
  const auto is_told = [](const Marker& marker) {
    return marker.name.starts_with("nccl:") || marker.name == "record_param_comms";
  };
  for (std::size_t range = ranges.Nearest(around, is_told); range != kNoRange;
       range = ranges.Nearest(ranges.Outer(range), is_told))
    ReadRange(markers[range], collective);
  if (collective.type.empty()) collective.type = "Collective";
  return collective;
}

sim::Attributes AttributesOf(const Collective& collective) {
  sim::Attributes attributes = {{"collective", {collective.type}}};
  if (collective.bytes > 0) attributes.emplace_back("bytes", sim::Attribute{collective.bytes});
  if (collective.ranks > 0) attributes.emplace_back("group_size", sim::Attribute{collective.ranks});
  if (!collective.group.empty()) attributes.emplace_back("process_group", sim::Attribute{collective.group});
  if (!collective.dtype.empty()) attributes.emplace_back("dtype", sim::Attribute{collective.dtype});
  return attributes;
}

std::int64_t ElementBytes(std::string_view type) {
  std::string small = SmallLetters(type);
  if (small.starts_with("c10::")) small.erase(0, 5);
  struct Size {
    std::string_view name;
    std::int64_t bytes;
  };
  static constexpr std::array kSizes = {
      Size{"float", 4},     Size{"double", 8}, Size{"half", 2},          Size{"bfloat16", 2},
      Size{"long", 8},      Size{"int", 4},    Size{"long int", 8},      Size{"short", 2},
      Size{"short int", 2}, Size{"char", 1},   Size{"signed char", 1},   Size{"unsigned char", 1},
      Size{"byte", 1},      Size{"bool", 1},   Size{"float8_e4m3fn", 1}, Size{"float8_e5m2", 1}};
  const auto found = std::ranges::find(kSizes, std::string_view(small), &Size::name);
  return found != kSizes.end() ? found->bytes : 0;
}

}  // namespace stowplan::scenarios::trace
