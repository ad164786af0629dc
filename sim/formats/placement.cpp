// stowplan.placement: JSON, checked against graph and cluster.
#include "sim/placement.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

using sim::Cluster;
using sim::DeviceIndex;
using sim::OpGraph;
using sim::OpIndex;
using sim::Placement;

constexpr std::string_view kPlacementKeys[] = {"format",    "version",  "graph",
                                               "placement", "priority", "order"};

OpIndex FindOp(const OpGraph& graph, std::string_view name, const Value& place) {
  const OpIndex op = graph.Find(std::string(name));
  if (op < 0)
    place.Fail(
        fmt::format("names the op {}, which the graph \"{}\" does not have", Quoted(name), graph.name));
  return op;
}

DeviceIndex FindDevice(const Cluster& cluster, const Value& value) {
  const DeviceIndex device = cluster.Find(std::string(value.Text()));
  if (device < 0) {
    std::vector<std::string> names;
    for (const auto& known : cluster.devices) names.push_back(known.name);
    value.Fail(fmt::format("is {}, but must be one of the devices of \"{}\": {}", Quoted(value.Text()),
                           cluster.name, JoinNames(names)));
  }
  return device;
}

std::vector<DeviceIndex> ReadDevices(const Value& value, const OpGraph& graph, const Cluster& cluster) {
  std::vector<DeviceIndex> devices(graph.ops.size(), -1);
  for (const auto [name, device] : value.members()) {
    devices[static_cast<std::size_t>(FindOp(graph, name, device))] = FindDevice(cluster, device);
  }
  // What is not named is where an op that it is colocated with is: so a placement of one micro-batch is one of all.
  std::vector<DeviceIndex> of_set(static_cast<std::size_t>(graph.colocation_sets()), -1);
  const auto set_of = [&](std::size_t op) -> DeviceIndex& {
    return of_set[static_cast<std::size_t>(graph.colocation_set()[op])];
  };
  for (std::size_t op = 0; op < devices.size(); ++op)
    if (devices[op] >= 0) set_of(op) = devices[op];
  for (std::size_t op = 0; op < devices.size(); ++op)
    if (devices[op] < 0) devices[op] = set_of(op);
  const auto missing = std::count(devices.begin(), devices.end(), -1);
  if (missing > 0) {
    const auto first = std::find(devices.begin(), devices.end(), -1) - devices.begin();
    value.Fail(fmt::format("places {} of {} ops; missing is \"{}\"{}",
                           devices.size() - static_cast<std::size_t>(missing), devices.size(),
                           graph.ops[static_cast<std::size_t>(first)].name,
                           missing > 1 ? fmt::format(" and {} more", missing - 1) : ""));
  }
  return devices;
}

// Ops that are not named have priority 0.
std::vector<double> ReadPriority(const Value& value, const OpGraph& graph) {
  std::vector<double> priority(graph.ops.size(), 0.0);
  for (const auto [name, number] : value.members()) {
    priority[static_cast<std::size_t>(FindOp(graph, name, number))] = number.Number();
  }
  return priority;
}

}  // namespace

Placement ParsePlacement(std::string_view json, const std::string& source, const OpGraph& graph,
                         const Cluster& cluster) {
  const Document document = ParseJson(json, source);
  CheckFormat(document, "stowplan.placement", 1);
  const Fields top(document.root(), kPlacementKeys);
  top.String("graph", "");  // whose it was; what counts is that every op is placed
  Placement placement;
  placement.device = ReadDevices(top.Require("placement"), graph, cluster);
  if (const auto priority = top.Find("priority")) placement.priority = ReadPriority(*priority, graph);
  if (const auto order = top.Find("order")) {
    if (top.Has("priority")) order->Fail("is given beside \"priority\"; give one of them");
    for (const Value name : order->items()) placement.order.push_back(FindOp(graph, name.Text(), name));
  }
  CheckedAt(source, [&] { sim::CheckPlacement(graph, cluster, placement); });
  return placement;
}

Placement ReadPlacement(const std::string& path, const OpGraph& graph, const Cluster& cluster) {
  return ParsePlacement(ReadFile(path), SourceOf(path), graph, cluster);
}

std::string PrintPlacement(const Placement& placement, const OpGraph& graph, const Cluster& cluster) {
  std::string out =
      "{\"format\": \"stowplan.placement\", \"version\": 1, \"graph\": " + JsonString(graph.name);
  const auto print_by_op = [&](std::string_view key, const auto& print) {
    fmt::format_to(std::back_inserter(out), ",\n \"{}\": {{", key);
    const char* separator = "\n  ";
    for (std::size_t op = 0; op < graph.ops.size(); ++op) {
      out += std::exchange(separator, ",\n  ");
      AppendJsonString(out, graph.ops[op].name);
      out += ": ";
      print(op);
    }
    out += '}';
  };
  print_by_op("placement", [&](std::size_t op) {
    AppendJsonString(out, cluster.devices[static_cast<std::size_t>(placement.device[op])].name);
  });
  if (!placement.priority.empty()) {
    print_by_op("priority", [&](std::size_t op) { AppendJsonNumber(out, placement.priority[op]); });
  }
  if (!placement.order.empty()) {
    out += ",\n \"order\": [";
    const char* separator = "\n  ";
    for (const OpIndex op : placement.order) {
      out += std::exchange(separator, ",\n  ");
      AppendJsonString(out, graph.ops[static_cast<std::size_t>(op)].name);
    }
    out += ']';
  }
  return out + "}\n";
}

}  // namespace stowplan::formats
