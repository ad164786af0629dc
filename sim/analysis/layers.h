// Numbered layers of a model, as the paths of its modules spell them: "model.layers.3.mlp", "h.3", "layer3.attention".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/op_graph.h"

namespace stowplan::sim {

struct LayerName {
  std::string stack;  // what stands before the number
  int number = 0;
  bool operator==(const LayerName&) const = default;
};

// The outermost layer that a path (ModulePath(), modules.h) is in; none = it is in no layer.
std::optional<LayerName> LayerOf(const std::string& path);

// What layers are made of, as far as their names say: experts, other feed-forward, attention, anything else.
enum class LayerPart : std::uint8_t { kExperts, kFeedForward, kAttention, kOther };
LayerPart PartOf(const std::string& path);

// Whether an op is of the forward pass: neither backward nor update.
bool IsForward(const Op& op);

// Whether an op is work of the forward pass. Of a step over micro-batches the first one tells: the others are on the same
// devices.
bool ComputesForward(const Op& op);

}  // namespace stowplan::sim
