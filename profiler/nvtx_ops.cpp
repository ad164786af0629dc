#include "profiler/nvtx_ops.h"

#include <optional>
#include <string_view>

#include "sim/error.h"
#include "sim/formats/json_reader.h"

namespace berth::profiler {
namespace {

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

}  // namespace

void TellNvtxOps(ActivityTrace& trace) {
  for (Marker& marker : trace.markers) {
    if (marker.what != Marker::What::kAnnotation) continue;
    const std::string op = marker.name.substr(0, marker.name.find(", "));
    const bool is_op = op.find("::") != std::string::npos && op.find_first_of(" (<") == std::string::npos;
    if (!is_op) continue;
    if (auto sizes = SizesOf(marker.name)) marker.attributes.emplace_back("Input Dims", std::move(*sizes));
    marker.what = Marker::What::kOp;
    marker.name = op;
  }
}

}  // namespace berth::profiler
