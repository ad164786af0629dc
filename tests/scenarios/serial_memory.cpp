#include "tests/scenarios/serial_memory.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tests/scenarios/graph_view.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;
using sim::TensorRef;

bool SumsWeightGradients(const sim::OpGraph& graph, const sim::Op& op) {
  constexpr std::size_t kPrefix = 10;  // "gradients/"
  if (op.type != "AddN") return false;
  const std::string of = op.name.substr(kPrefix, op.name.rfind('/') - kPrefix);
  return At(graph, graph.Find(of)).type == "Variable";
}

// The tensor whose storage each tensor shares.
class Storage {
 public:
  Storage(const sim::OpGraph& graph, bool accumulate) : graph_(graph) {
    if (!accumulate) return;
    for (OpIndex i = 0; i < graph.size(); ++i) {
      const sim::Op& op = At(graph, i);
      if (!SumsWeightGradients(graph, op)) continue;
      for (const TensorRef part : op.inputs) merged_[part] = {i, 0};
    }
  }

  TensorRef Root(TensorRef tensor) const {
    for (;;) {
      if (const auto merged = merged_.find(tensor); merged != merged_.end()) {
        tensor = merged->second;
        continue;
      }
      const sim::Output& output = At(graph_, tensor.op).outputs[static_cast<std::size_t>(tensor.output)];
      if (output.storage != sim::Output::Storage::kInput) return tensor;
      tensor = output.alias;
    }
  }

 private:
  const sim::OpGraph& graph_;
  std::map<TensorRef, TensorRef> merged_;
};

}  // namespace

SerialMemory SerialPeak(const sim::OpGraph& graph, bool accumulate) {
  const Storage storage(graph, accumulate);
  std::vector<OpIndex> position(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    position[static_cast<std::size_t>(graph.topological_order()[i])] = static_cast<OpIndex>(i);
  }
  struct Life {
    OpIndex first;
    OpIndex last;
    sim::Bytes bytes;
  };
  std::map<TensorRef, Life> lives;
  const auto touch = [&](TensorRef root, OpIndex at) {
    const sim::Output& output = At(graph, root.op).outputs[static_cast<std::size_t>(root.output)];
    if (output.storage == sim::Output::Storage::kPersistent) return;
    const auto [life, fresh] = lives.try_emplace(root, Life{at, at, output.bytes});
    life->second.first = std::min(life->second.first, at);
    life->second.last = std::max(life->second.last, at);
  };
  for (OpIndex i = 0; i < graph.size(); ++i) {
    const OpIndex at = position[static_cast<std::size_t>(i)];
    const sim::Op& op = At(graph, i);
    for (std::int32_t o = 0; o < static_cast<std::int32_t>(op.outputs.size()); ++o)
      touch(storage.Root({i, o}), at);
    for (const TensorRef input : op.inputs) touch(storage.Root(input), at);
  }

  std::vector<sim::Bytes> change(graph.ops.size() + 1, 0);
  for (const auto& [root, life] : lives) {
    change[static_cast<std::size_t>(life.first)] += life.bytes;
    change[static_cast<std::size_t>(life.last) + 1] -= life.bytes;
  }
  SerialMemory memory;
  memory.persistent = graph.totals().persistent_bytes;
  sim::Bytes live = memory.persistent;
  for (const sim::Bytes bytes : change) {
    live += bytes;
    memory.peak = std::max(memory.peak, live);
  }
  return memory;
}

}  // namespace stowplan::scenarios
