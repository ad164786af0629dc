// GraphML, as networkx, Gephi and yEd read it: a node for each op with device, module, type, phase, microseconds there and
// bytes; an edge for each tensor or control dependency.
#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"
#include "sim/analysis/modules.h"

namespace stowplan::scenarios {
namespace {

// What XML 1.0 has no character for becomes U+FFFD.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) < ' ') {
          out += "\uFFFD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

struct Key {
  const char* name;
  const char* of;
  const char* type;
};
constexpr Key kKeys[] = {{"device", "node", "string"},  {"module", "node", "string"},
                         {"type", "node", "string"},    {"phase", "node", "string"},
                         {"time_us", "node", "double"}, {"persistent_bytes", "node", "long"},
                         {"bytes", "edge", "long"},     {"control", "edge", "boolean"}};

void AppendEdge(std::string& text, const sim::Op& from, const sim::Op& to, sim::Bytes bytes, bool control) {
  text += fmt::format(
      "    <edge source=\"{}\" target=\"{}\"><data key=\"bytes\">{}</data><data "
      "key=\"control\">{}</data></edge>\n",
      Escaped(from.name), Escaped(to.name), bytes, control);
}

}  // namespace

Exported ExportGraphMl(const ExportInput& input) {
  const sim::OpGraph& graph = input.problem.graph();
  const sim::ModuleTree tree = sim::MakeModuleTree(graph);
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml "
      "xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const Key& key : kKeys) {
    text += fmt::format("  <key id=\"{0}\" for=\"{1}\" attr.name=\"{0}\" attr.type=\"{2}\"/>\n", key.name,
                        key.of, key.type);
  }
  text += fmt::format("  <graph id=\"{}\" edgedefault=\"directed\">\n", Escaped(graph.name));
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const sim::Op& what = graph.ops[i];
    const sim::DeviceIndex device = input.placement.device[i];
    text += fmt::format("    <node id=\"{}\">", Escaped(what.name));
    const auto data = [&](const char* key, const std::string& value) {
      text += fmt::format("<data key=\"{}\">{}</data>", key, Escaped(value));
    };
    data("device", input.problem.cluster().devices[static_cast<std::size_t>(device)].name);
    data("module", tree.modules[static_cast<std::size_t>(tree.module_of_op[i])].path);
    data("type", what.type);
    data("phase", what.phase);
    data("time_us", fmt::format("{}", sim::ToMicros(input.problem.costs().at(op, device))));
    data("persistent_bytes", std::to_string(what.persistent_bytes));
    text += "</node>\n";
  }
  for (const sim::Op& op : graph.ops) {
    for (const sim::TensorRef& from : op.inputs) {
      const sim::Op& producer = graph.ops[static_cast<std::size_t>(from.op)];
      AppendEdge(text, producer, op, producer.outputs[static_cast<std::size_t>(from.output)].bytes, false);
    }
    for (const sim::OpIndex before : op.control)
      AppendEdge(text, graph.ops[static_cast<std::size_t>(before)], op, 0, true);
  }
  return {.text = text + "  </graph>\n</graphml>\n", .notes = {}};
}

}  // namespace stowplan::scenarios
