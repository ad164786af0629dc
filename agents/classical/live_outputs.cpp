#include "agents/classical/live_outputs.h"

namespace stowplan::agents {

using sim::OpIndex;

sim::Bytes OwnOutputBytes(const sim::Op& op) {
  sim::Bytes bytes = 0;
  for (const sim::Output& output : op.outputs) {
    if (output.storage == sim::Output::Storage::kOwn) bytes += output.bytes;
  }
  return bytes;
}

LiveOutputs::LiveOutputs(ListSchedule& list) : list_(list) {
  const sim::OpGraph& graph = list.task().problem->graph();
  holders_.resize(graph.ops.size());
  viewed_.resize(graph.ops.size());
  copies_.resize(graph.ops.size());
  for (OpIndex op = 0; op < graph.size(); ++op) {
    const auto i = static_cast<std::size_t>(op);
    holders_[i] += 1 + static_cast<std::int32_t>(graph.consumers(op).size());
    for (const sim::Output& output : graph.ops[i].outputs) {
      if (output.storage != sim::Output::Storage::kInput) continue;
      viewed_[i].push_back(output.alias.op);
      ++holders_[static_cast<std::size_t>(output.alias.op)];
    }
  }
}

void LiveOutputs::Hold(OpIndex op) {
  const sim::Op& held = list_.task().problem->graph().ops[static_cast<std::size_t>(op)];
  list_.Take(list_.DeviceOf(list_.UnitOf(op)), OwnOutputBytes(held));
}

void LiveOutputs::Copy(OpIndex op, sim::DeviceIndex d, sim::Bytes bytes) {
  list_.Take(d, bytes);
  copies_[static_cast<std::size_t>(op)].emplace_back(d, bytes);
}

void LiveOutputs::LetGo(OpIndex first) {
  std::vector<OpIndex> let_go = {first};
  while (!let_go.empty()) {
    const OpIndex op = let_go.back();
    const auto i = static_cast<std::size_t>(op);
    let_go.pop_back();
    if (--holders_[i] > 0) continue;
    const sim::Op& freed = list_.task().problem->graph().ops[i];
    list_.Take(list_.DeviceOf(list_.UnitOf(op)), -OwnOutputBytes(freed));
    for (const auto& [d, bytes] : copies_[i]) list_.Take(d, -bytes);
    let_go.insert(let_go.end(), viewed_[i].begin(), viewed_[i].end());
  }
}

}  // namespace stowplan::agents
