#include "profiler/executor/initial_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stowplan::profiler {
namespace {

// Weights keep the size of what they multiply: uniform with variance 1 / (all axes but the last).
float Bound(const sim::Op& op, const sim::Output& output) {
  if (op.type != "Variable" || output.shape.size() < 2) return 0.5F;
  double inputs = 1;
  for (std::size_t i = 0; i + 1 < output.shape.size(); ++i) inputs *= static_cast<double>(output.shape[i]);
  return static_cast<float>(std::sqrt(3 / std::max(inputs, 1.0)));
}

}  // namespace

void FillWithSmallNumbers(const sim::Op& op, const sim::Output& output, void* block, sim::Bytes bytes) {
  std::memset(block, 0, static_cast<std::size_t>(bytes));
  const sim::Bytes words = std::min(bytes, output.bytes) / 4;
  const float bound = Bound(op, output);
  std::uint32_t state = 12345;
  for (sim::Bytes i = 0; i < words; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    if (output.dtype == "i32") {
      static_cast<std::int32_t*>(block)[i] = static_cast<std::int32_t>(state >> 16);
    } else if (output.dtype == "f32") {
      static_cast<float*>(block)[i] = bound * (static_cast<float>(state >> 8) * 0x1p-23F - 1.F);
    }
  }
}

void InitialValues::Prepare(const sim::OpGraph& graph) {
  const auto make = [this](const sim::Op& op, sim::OpIndex index, std::int32_t number,
                           const sim::Output& output, sim::Bytes bytes) {
    if (blocks_.contains({index, number})) return;
    Block block = maker_(bytes);
    FillWithSmallNumbers(op, output, block.get(), bytes);
    blocks_.emplace(std::pair(index, number), std::move(block));
  };
  for (sim::OpIndex index = 0; index < graph.size(); ++index) {
    const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const sim::Output& output = op.outputs[i];
      if (output.storage == sim::Output::Storage::kPersistent) {
        make(op, index, -1, output, std::max(output.bytes, op.persistent_bytes));
      } else if (op.IsSource() && output.storage == sim::Output::Storage::kOwn) {
        make(op, index, static_cast<std::int32_t>(i), output, output.bytes);
      }
    }
  }
}

void* InitialValues::Find(const Storage& storage) const {
  const bool persistent = storage.kind == Storage::Kind::kPersistent;
  if (!persistent && storage.kind != Storage::Kind::kSource) return nullptr;
  return blocks_.at({storage.op, persistent ? -1 : storage.output}).get();
}

}  // namespace stowplan::profiler
