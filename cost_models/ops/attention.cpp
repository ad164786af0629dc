#include "cost_models/ops/attention.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

using Heads = std::array<double, 4>;  // batch, heads, length, size

// Empty where the tensor has neither four axes nor three with a number of heads.
std::optional<Heads> HeadsOf(const std::vector<std::int64_t>& shape, std::optional<double> heads) {
  if (std::ranges::any_of(shape, [](std::int64_t one) { return one < 1; })) return std::nullopt;
  const auto at = [&](std::size_t axis) { return static_cast<double>(shape[axis]); };
  if (shape.size() == 4) return Heads{at(0), at(1), at(2), at(3)};
  if (shape.size() != 3 || !heads || *heads < 1) return std::nullopt;
  return Heads{at(0), *heads, at(1), at(2) / *heads};
}

AttentionKernel KernelOf(const sim::Op& op) {
  const std::string name = sim::FindString(op.attributes, "kernel").value_or("current");
  if (name == "current") return AttentionKernel::kCurrent;
  if (name == "flash_2") return AttentionKernel::kFlash2;
  if (name == "flash_1_triton") return AttentionKernel::kFlash1Triton;
  throw InputError(
      fmt::format("op {}: kernel {}: there is no such kernel of attention; there are current, flash_2 and "
                  "flash_1_triton.",
                  op.name, name));
}

}  // namespace

double AttentionShape::Pairs() const {
  const double most = window > 0 ? std::min(window, keys) : keys;
  if (!is_causal) return queries * most;
  // The first query sees `keys - queries + 1` of them, each further one more until the window is full.
  const double first = std::max(1.0, keys - queries + 1);
  const double growing = std::clamp(most - first + 1, 0.0, queries);
  return growing * first + growing * (growing - 1) / 2 + (queries - growing) * most;
}

double AttentionShape::ElementsOfKeys() const {
  const double seen = window > 0 ? std::min(keys, queries + window - 1) : keys;
  return batch * key_heads * seen * (size + value_size);
}

double SlownessOf(AttentionKernel kernel, std::string_view chip) {
  constexpr double kFlash2 = 1.7, kFlash1Triton = 1.8;
  if (kernel == AttentionKernel::kCurrent) return 1;
  const double flash_2 = chip == "GH100" || chip == "GB100" ? kFlash2 : 1;
  return kernel == AttentionKernel::kFlash2 ? flash_2 : flash_2 * kFlash1Triton;
}

std::optional<AttentionShape> AttentionOf(const sim::OpGraph& graph, const sim::Op& op) {
  const bool backward = op.type == "AttentionGrad";
  if (!backward && op.type != "Attention") return std::nullopt;
  if ((backward ? op.outputs.size() : op.inputs.size()) < 3) return std::nullopt;
  const auto number = [&](const char* key) { return sim::FindNumber(op.attributes, key); };
  const auto heads = number("heads");
  const auto key_heads = number("key_heads").has_value() ? number("key_heads") : heads;
  const auto of = [&](std::size_t i) {
    const sim::TensorRef input = backward ? sim::TensorRef{} : op.inputs[i];
    const sim::Output& tensor =
        backward
            ? op.outputs[i]
            : graph.ops[static_cast<std::size_t>(input.op)].outputs[static_cast<std::size_t>(input.output)];
    return HeadsOf(tensor.shape, i == 0 ? heads : key_heads);
  };
  const auto query = of(0), key = of(1), value = of(2);
  if (!query || !key || !value) return std::nullopt;
  AttentionShape shape;
  shape.batch = (*query)[0];
  shape.heads = (*query)[1];
  shape.key_heads = std::min((*key)[1], shape.heads);
  shape.queries = (*query)[2];
  shape.keys = (*key)[2] + number("past").value_or(0);
  shape.size = (*query)[3];
  shape.value_size = (*value)[3];
  shape.window = std::max(0.0, number("window").value_or(0));
  shape.is_causal = sim::FindBool(op.attributes, "causal").value_or(false);
  shape.kernel = KernelOf(op);
  return shape;
}

}  // namespace stowplan::cost_models
