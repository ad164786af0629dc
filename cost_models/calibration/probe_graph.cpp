#include "cost_models/calibration/probe_graph.h"

#include <algorithm>

#include "cost_models/ops/op_types.h"
#include "profiler/op_graphs.h"

namespace stowplan::cost_models {

std::optional<ProbeGraph> GraphOf(const ObservedOp& observed) {
  profiler::OpCase one;
  one.op = observed.op;
  one.format = observed.format;
  one.shape = observed.shape;
  one.phase = observed.phase;
  std::optional<sim::OpGraph> graph = profiler::GraphOf(one);
  if (!graph) return std::nullopt;
  const auto computed = std::ranges::count_if(graph->ops, [](const sim::Op& op) { return !op.IsSource(); });
  if (computed != 1 || FindOpType(graph->ops.back().type) == nullptr) return std::nullopt;
  const sim::OpIndex last = graph->size() - 1;
  return ProbeGraph{std::make_shared<sim::OpGraph>(std::move(*graph)), last, observed.op == "gemm"};
}

}  // namespace stowplan::cost_models
