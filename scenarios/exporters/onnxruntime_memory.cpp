// The memory statistics that ONNX Runtime reads, worked out instead of measured: what it sums up for a node is what its
// provider must have room for.
#include <set>

#include <fmt/format.h>

#include "scenarios/exporters/placed_onnx.h"
#include "scenarios/onnx_files/node_memory.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

// Each tensor counts where it is read first, as ONNX Runtime has it.
class Statistics {
 public:
  explicit Statistics(const sim::OpGraph& graph) : graph_(graph) {}

  NodeMemory Of(const OnnxNode& node, std::size_t op) {
    NodeMemory memory{.name = StatisticsName(node), .workspace = graph_.ops[op].workspace_bytes};
    CountSources(graph_.ops[op], memory);
    if (const auto bias = BiasOf(graph_, op)) CountSources(graph_.ops[*bias], memory);
    for (const sim::Output& output : graph_.ops[op].outputs)
      memory.outputs += output.storage == sim::Output::Storage::kOwn ? output.bytes : 0;
    return memory;
  }

 private:
  void CountSources(const sim::Op& op, NodeMemory& memory) {
    for (const sim::TensorRef& input : op.inputs) {
      const sim::Op& source = graph_.ops[static_cast<std::size_t>(input.op)];
      if (!source.IsSource() || !counted_.insert(input).second) continue;
      const sim::Bytes bytes = source.outputs[static_cast<std::size_t>(input.output)].bytes;
      (source.type == "Placeholder" ? memory.inputs : memory.weights) += bytes;
    }
  }

  const sim::OpGraph& graph_;
  std::set<sim::TensorRef> counted_;
};

}  // namespace

Exported ExportOnnxRuntimeMemory(const ExportInput& input) {
  const std::string model = ReadPlacedOnnx(input, "onnxruntime-memory");
  OpsByNode ops(input.problem.graph());
  Statistics statistics(input.problem.graph());
  std::vector<NodeMemory> nodes;
  std::int64_t without = 0;
  for (const OnnxNode& node : ReadOnnxNodes(model)) {
    if (node.nested) continue;
    const auto op = ops.Take(node);
    if (op) nodes.push_back(statistics.Of(node, *op));
    without += op ? 0 : 1;
  }
  if (nodes.empty())
    throw InputError(fmt::format("onnxruntime-memory: no node of {} has the name of an op; place it anew.",
                                 input.graph_file));
  Exported exported{
      .text = PrintNodeMemory(nodes),
      .notes = {
          "session.resource_cuda_partitioning_settings = \"KIB,FILE\" makes ONNX Runtime fill the GPU up to "
          "that "
          "limit in an order "
          "of its own; FILE stands beside the model, and its optimisers are off where nodes are to be found "
          "again"}};
  if (without > 0) {
    exported.notes.push_back(fmt::format("{} of {} nodes are no op here", without,
                                         without + static_cast<std::int64_t>(nodes.size())));
  }
  return exported;
}

}  // namespace stowplan::scenarios
