#include "scenarios/exporters/onnx_nodes.h"

#include <filesystem>

#include <fmt/format.h>

#include "scenarios/importers/onnx.h"
#include "sim/error.h"
#include "sim/formats/formats.h"

namespace berth::scenarios {

std::string NodeNameOf(const sim::Op& op) {
  return sim::FindString(op.attributes, "onnx_node").value_or(op.name);
}

OpsByNode::OpsByNode(const sim::OpGraph& graph) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (!graph.ops[i].IsSource()) ops_[NodeNameOf(graph.ops[i])].push_back(i);
  }
}

std::optional<std::size_t> OpsByNode::Take(const std::string& node) {
  const auto ops = ops_.find(node);
  if (ops == ops_.end()) return std::nullopt;
  const std::size_t op = ops->second.front();
  if (ops->second.size() > 1) ops->second.pop_front();
  return op;
}

std::string ReadPlacedOnnx(const ExportInput& input, const char* exporter) {
  const bool is_file = std::filesystem::is_regular_file(input.graph_file);
  std::string model = is_file ? formats::ReadFile(input.graph_file) : std::string();
  if (!RecognisesOnnx(model)) {
    throw InputError(
        fmt::format("{}: needs the ONNX file that was placed, but the graph is {}; give the model itself as "
                    "--graph, or take --to onnxruntime.",
                    exporter, input.graph_file));
  }
  return model;
}

}  // namespace berth::scenarios
