#include "scenarios/importers/onnx/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "sim/base/error.h"

namespace stowplan::scenarios::onnx_import {

namespace {

// The names that a node reads, behind them those that its subgraphs read.
void AddNamesRead(const onnx::NodeProto& node, std::vector<std::string>& names) {
  names.insert(names.end(), node.input().begin(), node.input().end());
  const auto add_graph = [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) AddNamesRead(inner, names);
    for (const auto& output : graph.output()) names.push_back(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) add_graph(graph);
  }
}

[[noreturn]] void FailOnCycle(const Nodes& nodes, const std::vector<std::vector<int>>& producers,
                              const std::vector<int>& missing, const std::string& source) {
  const auto stuck = [&](int node) { return missing[static_cast<std::size_t>(node)] > 0; };
  int at = static_cast<int>(std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; }) -
                            missing.begin());
  std::vector<int> path;
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    const auto& before = producers[static_cast<std::size_t>(at)];
    at = *std::find_if(before.begin(), before.end(), stuck);
  }
  constexpr std::ptrdiff_t kMostShown = 8;
  const auto begin = std::find(path.begin(), path.end(), at);
  std::string text = "'" + NameOf(nodes[at]) + "'";
  for (auto i = begin + 1; i < path.end() && i - begin < kMostShown; ++i) {
    text = "'" + NameOf(nodes[*i]) + "' -> " + text;
  }
  throw InputError(source + ": the nodes '" + NameOf(nodes[at]) + "' -> " +
                   (path.end() - begin > kMostShown ? "... -> " : "") + text +
                   " form a cycle; a model must have none");
}

}  // namespace

std::string NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  const auto named =
      std::find_if(node.output().begin(), node.output().end(), [](const auto& o) { return !o.empty(); });
  return named != node.output().end() ? *named : node.op_type();
}

std::vector<int> OrderOf(const Nodes& nodes, const std::string& source) {
  const auto count = static_cast<std::size_t>(nodes.size());
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const auto& output : nodes[i].output()) {
      if (!output.empty()) producer.emplace(output, i);  // a second one is refused when it is bound
    }
  }
  std::vector<std::vector<int>> producers(count);
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> names;
    AddNamesRead(nodes[i], names);
    for (std::size_t read = 0; read < names.size(); ++read) {
      const auto found = producer.find(names[read]);
      if (found == producer.end()) continue;
      // A subgraph names its own tensors too, which may not be those of this graph.
      const bool direct = read < static_cast<std::size_t>(nodes[i].input_size());
      if (found->second == i && !direct) continue;
      producers[static_cast<std::size_t>(i)].push_back(found->second);
      readers[static_cast<std::size_t>(found->second)].push_back(i);
      ++missing[static_cast<std::size_t>(i)];
    }
  }
  std::vector<int> order;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)]) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() != count) FailOnCycle(nodes, producers, missing, source);
  return order;
}

}  // namespace stowplan::scenarios::onnx_import
