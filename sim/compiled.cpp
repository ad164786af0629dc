#include "sim/compiled.h"

#include <algorithm>
#include <tuple>

#include "sim/error.h"

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
  std::size_t outputs = 0;
  for (const Op& op : graph.ops) outputs += op.outputs.size();
  c.output_producer.reserve(outputs);
  c.output_shares.reserve(outputs);
  for (auto* bytes : {&c.output_bytes, &c.output_storage}) bytes->reserve(outputs);
  for (OpIndex op = 0; op < graph.size(); ++op) {
    c.rows[op].output = static_cast<Compiled::Id>(c.output_bytes.size());
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) {
      c.output_producer.push_back(op);
      c.output_bytes.push_back(output.bytes);
      c.output_storage.push_back(output.storage == Output::Storage::kOwn ? output.bytes : 0);
    }
  }
  c.rows[graph.size()].output = static_cast<Compiled::Id>(c.output_bytes.size());
}

void CompileEdges(const OpGraph& graph, Compiled& c) {
  const std::vector<RawEdge> edges = DistinctEdges(graph);
  std::vector<Compiled::Id> next_input(graph.ops.size() + 1, 0);
  for (auto* column : {&c.edge_output, &c.edge_consumer, &c.edge_input}) column->reserve(edges.size());
  std::size_t consumers = 0;
  for (OpIndex op = 0; op < graph.size(); ++op) consumers += graph.consumers(op).size();
  c.consumer.reserve(consumers);
  for (const RawEdge& edge : edges) {
    ++c.rows[edge.producer + 1].edge;
    if (edge.output >= 0) ++c.rows[edge.consumer + 1].input;
  }
  for (OpIndex op = 0; op < graph.size(); ++op) {
    c.rows[op + 1].edge += c.rows[op].edge;
    c.rows[op + 1].input += c.rows[op].input;
    next_input[static_cast<std::size_t>(op) + 1] = c.rows[op + 1].input;
    c.consumer.insert(c.consumer.end(), graph.consumers(op).begin(), graph.consumers(op).end());
    c.rows[op + 1].consumer = static_cast<Compiled::Id>(c.consumer.size());
  }
  c.inputs = c.rows[graph.size()].input;
  for (const RawEdge& edge : edges) {
    const bool data = edge.output >= 0;
    c.edge_output.push_back(data ? c.rows[edge.producer].output + edge.output : Compiled::kNone);
    c.edge_consumer.push_back(edge.consumer);
    c.edge_input.push_back(data ? next_input[static_cast<std::size_t>(edge.consumer)]++ : Compiled::kNone);
  }
}

// Needs outputs and edges. Each output, and the control dependencies of an op, goes to each other device once.
void CountTransfers(Compiled& c) {
  const auto edges = static_cast<Compiled::Id>(c.edge_consumer.size());
  Compiled::Id end = 0;
  for (OpIndex op = 0; op < c.ops; ++op) {
    for (Compiled::Id begin = c.rows[op].edge; begin < c.rows[op + 1].edge; begin = end) {
      const Compiled::Id output = c.edge_output[begin];
      for (end = begin; end < c.rows[op + 1].edge && c.edge_output[end] == output;) ++end;
      const auto most = static_cast<std::size_t>(std::min(end - begin, c.devices - 1));
      c.most_transfers += most;
      if (output == Compiled::kNone || c.output_bytes[output] == 0) c.most_light += most;
    }
  }
  BERTH_CHECK_EQ(end, edges);
}

// Needs outputs and edges.
void CompileViews(const OpGraph& graph, Compiled& c) {
  ById<Compiled::Id> read(static_cast<std::size_t>(c.inputs));  // by in-edge: the output
  for (Compiled::Id e = 0; e < static_cast<Compiled::Id>(c.edge_input.size()); ++e) {
    if (c.edge_input[e] != Compiled::kNone) read[c.edge_input[e]] = c.edge_output[e];
  }
  for (OpIndex op = 0; op < graph.size(); ++op) {
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) {
      Compiled::Id shares = Compiled::kNone;
      if (output.storage == Output::Storage::kInput) {
        const Compiled::Id alias = c.rows[output.alias.op].output + output.alias.output;
        for (shares = c.rows[op].input; read[shares] != alias;) ++shares;
        c.views.push_back(static_cast<Compiled::Id>(c.output_shares.size()));
      }
      c.output_shares.push_back(shares);
    }
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
      route.from = from;
      route.to = to;
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

// Bandwidths are few on real machines, so that M need not be divided out for every transfer of every run.
void CompileMoves(Compiled& c) {
  std::vector<std::int64_t> bandwidths;
  for (auto& route : c.routes) {
    if (route.curved || route.narrowest == 0) continue;
    const auto found = std::find(bandwidths.begin(), bandwidths.end(), route.narrowest);
    const auto number = static_cast<Compiled::Id>(found - bandwidths.begin());
    if (found == bandwidths.end()) {
      if (number == Compiled::kMoveClasses) continue;
      bandwidths.push_back(route.narrowest);
      ById<Picos>& moves = c.moves.emplace_back();
      moves.reserve(c.output_bytes.size());
      for (const Bytes bytes : c.output_bytes)
        moves.push_back(MulDivNearest(bytes, kPicosPerSecond, route.narrowest));
    }
    route.move_class = number;
  }
}

}  // namespace

Problem::Compiled::Compiled(const OpGraph& graph, const Cluster& cluster_in, const CostTable& costs)
    : ops(graph.size()),
      devices(cluster_in.size()),
      rows(graph.ops.size() + 1),
      cost(costs.picos),
      program_order(graph.topological_order()),
      cluster(&cluster_in) {
  CompileOutputs(graph, *this);
  CompileEdges(graph, *this);
  CountTransfers(*this);
  CompileViews(graph, *this);
  persistent.reserve(graph.ops.size());
  for (OpIndex i = 0; i < ops; ++i) {
    const Op& op = graph.ops[static_cast<std::size_t>(i)];
    persistent.push_back(op.persistent_bytes);
    rows[i].workspace = op.workspace_bytes;
    rows[i].dispatch_ops = op.IsSource() ? 0 : op.framework_ops;
  }
  CompileDevices(cluster_in, *this);
  CompileRoutes(cluster_in, *this);
  CompileMoves(*this);
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
