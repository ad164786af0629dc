#include "scenarios/onnx_files/onnx_nodes.h"

#include "scenarios/onnx_files/wire_format.h"

namespace stowplan::scenarios {
namespace {

// Fields of onnx.proto.
constexpr std::uint32_t kModelGraph = 7, kGraphNode = 1, kNodeAttribute = 5, kAttributeGraph = 6,
                        kAttributeGraphs = 11;
constexpr int kDeepest = 64;

void ReadGraph(std::string_view graph, int depth, std::vector<OnnxNode>& nodes);

void ReadNode(std::string_view message, int depth, std::vector<OnnxNode>& nodes) {
  const std::size_t at = nodes.size();
  nodes.emplace_back().nested = depth > 0;
  while (const auto field = TakeField(message)) {
    OnnxNode& node = nodes[at];
    if (field->number == 1) node.inputs.push_back(field->body);
    if (field->number == 2) node.outputs.push_back(field->body);
    if (field->number == 3) node.name = field->body;
    if (field->number == 4) node.type = field->body;
    if (field->number != kNodeAttribute || depth == kDeepest) continue;
    std::string_view attribute = field->body;
    while (const auto inner = TakeField(attribute)) {
      if (inner->wire_type == 2 && (inner->number == kAttributeGraph || inner->number == kAttributeGraphs))
        ReadGraph(inner->body, depth + 1, nodes);
    }
  }
}

void ReadGraph(std::string_view graph, int depth, std::vector<OnnxNode>& nodes) {
  while (const auto field = TakeField(graph)) {
    if (field->number == kGraphNode && field->wire_type == 2) ReadNode(field->body, depth, nodes);
  }
}

}  // namespace

std::vector<OnnxNode> ReadOnnxNodes(std::string_view model) {
  std::vector<OnnxNode> nodes;
  while (const auto field = TakeField(model)) {
    if (field->number == kModelGraph && field->wire_type == 2) ReadGraph(field->body, 0, nodes);
  }
  return nodes;
}

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

std::optional<std::size_t> OpsByNode::Take(const OnnxNode& node) {
  return Take(!node.name.empty() || node.outputs.empty() ? node.name : std::string(node.outputs[0]));
}

std::optional<std::size_t> BiasOf(const sim::OpGraph& graph, std::size_t op) {
  for (const sim::OpIndex reader : graph.consumers(static_cast<sim::OpIndex>(op))) {
    const sim::Op& bias = graph.ops[static_cast<std::size_t>(reader)];
    if (!bias.inputs.empty() && bias.inputs[0].op == static_cast<sim::OpIndex>(op) &&
        bias.name.starts_with(graph.ops[op].name + std::string(kBiasAdd)))
      return static_cast<std::size_t>(reader);
  }
  return std::nullopt;
}

}  // namespace stowplan::scenarios
