#include "sim/analysis/layers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stowplan::sim {

std::optional<LayerName> LayerOf(const std::string& path) {
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t dot = std::min(path.find('.', at), path.size());
    const std::size_t digits = path.find_last_not_of("0123456789", dot - 1);
    const std::size_t first = digits == std::string::npos || digits < at ? at : digits + 1;
    const bool numbered = first < dot && dot - first < 6 &&
                          (first == at ? at > 0
                                       : path.compare(at, first - at, "layer") == 0 ||
                                             path.compare(at, first - at, "block") == 0);
    if (numbered) return LayerName{path.substr(0, first), std::stoi(path.substr(first, dot - first))};
    at = dot + 1;
  }
  return std::nullopt;
}

LayerPart PartOf(const std::string& path) {
  using Word = std::pair<std::string_view, LayerPart>;
  constexpr std::array<Word, 6> kWords = {
      Word{"expert", LayerPart::kExperts},           Word{"mlp", LayerPart::kFeedForward},
      Word{"feed_forward", LayerPart::kFeedForward}, Word{"ffn", LayerPart::kFeedForward},
      Word{"attn", LayerPart::kAttention},           Word{"attention", LayerPart::kAttention}};
  for (const auto& [word, part] : kWords) {
    if (path.find(word) != std::string::npos) return part;
  }
  return LayerPart::kOther;
}

bool IsForward(const Op& op) {
  return op.phase != "backward" && op.phase != "update";
}

bool ComputesForward(const Op& op) {
  return IsForward(op) && !op.IsSource() && FindNumber(op.attributes, "micro_batch").value_or(0) == 0;
}

}  // namespace stowplan::sim
