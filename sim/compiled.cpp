#include "sim/compiled.h"

#include <algorithm>
#include <tuple>

namespace berth::sim {
namespace {

using Compiled = Problem::Compiled;

struct RawEdge {
  OpIndex producer;
  std::int32_t output;  // -1 = control
  OpIndex consumer;
  friend auto operator<=>(const RawEdge&, const RawEdge&) = default;
};

std::vector<RawEdge> DistinctEdges(const OpGraph& graph) {
  std::vector<RawEdge> edges;
  for (OpIndex op = 0; op < graph.size(); ++op) {
    const Op& current = graph.ops[static_cast<std::size_t>(op)];
    for (const auto& input : current.inputs) edges.push_back({input.op, input.output, op});
    for (const OpIndex control : current.control) edges.push_back({control, -1, op});
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

void CompileOutputs(const OpGraph& graph, Compiled& c) {
  c.output_begin.push_back(0);
  for (const Op& op : graph.ops) {
    c.output_begin.push_back(c.output_begin.back() + static_cast<Compiled::Id>(op.outputs.size()));
  }
  for (OpIndex op = 0; op < graph.size(); ++op) {
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) {
      c.output_producer.push_back(op);
      c.output_bytes.push_back(output.bytes);
      c.output_storage.push_back(output.storage);
      c.output_alias.push_back(output.storage == Output::Storage::kInput
                                   ? c.output_begin[static_cast<std::size_t>(output.alias.op)] +
                                         output.alias.output
                                   : Compiled::kNone);
    }
  }
}

void CompileEdges(const OpGraph& graph, Compiled& c) {
  const std::vector<RawEdge> edges = DistinctEdges(graph);
  const auto count = graph.ops.size();
  c.edge_begin.assign(count + 1, 0);
  c.input_begin.assign(count + 1, 0);
  for (const RawEdge& edge : edges) {
    ++c.edge_begin[static_cast<std::size_t>(edge.producer) + 1];
    if (edge.output >= 0) ++c.input_begin[static_cast<std::size_t>(edge.consumer) + 1];
    c.edge_output.push_back(edge.output < 0
                                ? Compiled::kNone
                                : c.output_begin[static_cast<std::size_t>(edge.producer)] + edge.output);
    c.edge_consumer.push_back(edge.consumer);
    c.edge_producer.push_back(edge.producer);
  }
  for (std::size_t i = 0; i < count; ++i) {
    c.edge_begin[i + 1] += c.edge_begin[i];
    c.input_begin[i + 1] += c.input_begin[i];
  }
  c.input_edge.resize(static_cast<std::size_t>(c.input_begin.back()));
  std::vector<Compiled::Id> next(c.input_begin.begin(), c.input_begin.end() - 1);
  std::vector<OpIndex> last_producer(count, -1);  // of each consumer: edges come sorted by producer
  c.edge_first.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto consumer = static_cast<std::size_t>(edges[e].consumer);
    if (edges[e].output >= 0)
      c.input_edge[static_cast<std::size_t>(next[consumer]++)] = static_cast<Compiled::Id>(e);
    c.edge_first[e] = last_producer[consumer] != edges[e].producer;
    last_producer[consumer] = edges[e].producer;
  }
  c.consumer_begin.push_back(0);
  for (OpIndex op = 0; op < graph.size(); ++op) {
    c.consumer.insert(c.consumer.end(), graph.consumers(op).begin(), graph.consumers(op).end());
    c.consumer_begin.push_back(static_cast<Compiled::Id>(c.consumer.size()));
  }
}

void CompileDevices(const Cluster& cluster, Compiled& c) {
  for (const Device& device : cluster.devices) {
    c.is_cpu.push_back(device.device_class == DeviceClass::kCpu);
    c.dispatch_cost.push_back(cluster.dispatch.automatic ? device.launch_cost : cluster.dispatch.cost);
    const bool shared = device.copy_engines == 1;
    c.engine_count.push_back(shared ? 1 : (device.copy_engines + 1) / 2);
    c.engine_count.push_back(shared ? 0 : device.copy_engines / 2);
  }
}

Compiled::Id EnginePool(const Cluster& cluster, DeviceIndex from, DeviceIndex to) {
  const Device& source = cluster.devices[static_cast<std::size_t>(from)];
  const Device& target = cluster.devices[static_cast<std::size_t>(to)];
  if (source.device_class == DeviceClass::kGpu) return 2 * from;
  if (target.device_class == DeviceClass::kGpu) return target.copy_engines == 1 ? 2 * to : 2 * to + 1;
  return Compiled::kNone;
}

void CompileRoutes(const Cluster& cluster, Compiled& c) {
  for (DeviceIndex from = 0; from < cluster.size(); ++from) {
    for (DeviceIndex to = 0; to < cluster.size(); ++to) {
      Compiled::Route route;
      route.first = static_cast<Compiled::Id>(c.route_directions.size());
      for (const auto& hop : cluster.route(from, to)) {
        const Link& link = cluster.links[static_cast<std::size_t>(hop.link)];
        route.latency += link.latency;
        route.narrowest = route.narrowest == 0 ? link.bandwidth : std::min(route.narrowest, link.bandwidth);
        route.curved = route.curved || !link.curve.empty();
        c.route_directions.push_back(2 * hop.link + (hop.forward || link.duplex == Duplex::kHalf ? 0 : 1));
        c.route_links.push_back(hop.link);
      }
      route.last = static_cast<Compiled::Id>(c.route_directions.size());
      if (from != to && !cluster.links.empty()) route.engine = EnginePool(cluster, from, to);
      c.routes.push_back(route);
    }
  }
}

}  // namespace

Problem::Compiled::Compiled(const OpGraph& graph, const Cluster& cluster_in, const CostTable& costs)
    : ops(graph.size()),
      devices(cluster_in.size()),
      cost(costs.picos),
      program_order(graph.topological_order()),
      cluster(&cluster_in) {
  CompileOutputs(graph, *this);
  CompileEdges(graph, *this);
  for (const Op& op : graph.ops) {
    persistent.push_back(op.persistent_bytes);
    workspace.push_back(op.workspace_bytes);
    dispatch_ops.push_back(op.IsSource() ? 0 : op.framework_ops);
  }
  CompileDevices(cluster_in, *this);
  CompileRoutes(cluster_in, *this);
}

Picos Problem::Compiled::TransferTime(const Route& route, Bytes bytes) const {
  if (route.narrowest == 0) return 0;
  if (!route.curved) return MulDivNearest(bytes, kPicosPerSecond, route.narrowest);
  Picos longest = 0;
  for (Id i = route.first; i < route.last; ++i) {
    const Link& link = cluster->links[static_cast<std::size_t>(route_links[static_cast<std::size_t>(i)])];
    longest = std::max(longest, LoneTime(link, bytes) - link.latency);
  }
  return longest;
}

}  // namespace berth::sim
