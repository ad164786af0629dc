// The graph for Graphviz: a box for each device, its ops inside, bytes on the edges that cross.
#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"

namespace stowplan::scenarios {
namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

Exported ExportDot(const ExportInput& input) {
  const sim::OpGraph& graph = input.problem.graph();
  const std::vector<sim::Device>& devices = input.problem.cluster().devices;
  const auto device_of = [&](sim::OpIndex op) {
    return input.placement.device[static_cast<std::size_t>(op)];
  };
  std::string text =
      "digraph " + Quoted(graph.name) + " {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n";
  for (std::size_t d = 0; d < devices.size(); ++d) {
    text += fmt::format("  subgraph cluster_{} {{\n    label={};\n", d, Quoted(devices[d].name));
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      if (static_cast<std::size_t>(device_of(op)) != d) continue;
      const sim::Op& what = graph.ops[static_cast<std::size_t>(op)];
      text += fmt::format("    {} [tooltip={}];\n", Quoted(what.name), Quoted(what.type));
    }
    text += "  }\n";
  }
  for (const sim::Op& op : graph.ops) {
    const sim::OpIndex to = graph.Find(op.name);
    for (const sim::TensorRef& input_of : op.inputs) {
      const sim::Op& from = graph.ops[static_cast<std::size_t>(input_of.op)];
      const sim::Bytes bytes = from.outputs[static_cast<std::size_t>(input_of.output)].bytes;
      text += fmt::format("  {} -> {}", Quoted(from.name), Quoted(op.name));
      text += device_of(input_of.op) == device_of(to) ? ";\n"
                                                      : fmt::format(" [label=\"{} B\", color=red];\n", bytes);
    }
    for (const sim::OpIndex before : op.control) {
      text += fmt::format("  {} -> {} [style=dashed];\n",
                          Quoted(graph.ops[static_cast<std::size_t>(before)].name), Quoted(op.name));
    }
  }
  return {.text = text + "}\n", .notes = {}};
}

}  // namespace stowplan::scenarios
