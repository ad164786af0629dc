#include "profiler/traces/nvtx_ops.h"

#include <optional>
#include <string_view>

#include "sim/base/error.h"
#include "sim/formats/document/json_reader.h"

namespace stowplan::profiler {
namespace {

constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.";

// "[[64, 32], [], [3]]" from its first bracket to the one that closes it.
std::optional<std::string_view> ListAt(std::string_view text) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (open == 0) return text.substr(0, i + 1);
  }
  return std::nullopt;
}

std::optional<sim::Attribute> SizesOf(std::string_view name) {
  constexpr std::string_view kSizes = ", sizes = ";
  const auto at = name.find(kSizes);
  if (at == std::string_view::npos) return std::nullopt;
  const auto list = ListAt(name.substr(at + kSizes.size()));
  if (!list) return std::nullopt;
  try {
    const formats::Document document = formats::ParseJson(*list, "sizes");
    return document.root().IsList() ? std::optional(document.root().Free()) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;  // of some other program's range
  }
}

// PyTorch's own ops, and those of libraries beside it where the range says what only emit_nvtx() says.
bool IsOfFramework(std::string_view name) {
  const std::string_view op = name.substr(0, name.find(", "));
  const auto colons = op.find("::");
  if (colons == op.npos || colons == 0 || op.find_first_not_of(kOfNames) != op.npos) return false;
  if (op.starts_with("aten::")) return true;
  const std::string_view more = name.substr(op.size());
  return more.starts_with(", seq = ") || more.starts_with(", op_id = ") || more.starts_with(", sizes = ");
}

}  // namespace

void TellNvtxOps(ActivityTrace& trace) {
  for (Marker& marker : trace.markers) {
    if (marker.what != Marker::What::kAnnotation) continue;
    if (!IsOfFramework(marker.name)) continue;
    const std::string op = marker.name.substr(0, marker.name.find(", "));
    if (auto sizes = SizesOf(marker.name)) marker.attributes.emplace_back("Input Dims", std::move(*sizes));
    marker.what = Marker::What::kOp;
    marker.name = op;
  }
}

}  // namespace stowplan::profiler
