#include "sim/compiled.h"

#include <algorithm>
#include <tuple>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

// Of the routes of all pairs that a placement may use: half a gigabyte.
constexpr std::size_t kMaxDirections = std::size_t{1} << 26;

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
  c.output_shares.reserve(outputs);
  for (auto* bytes : {&c.output_bytes, &c.output_storage}) bytes->reserve(outputs);
  for (OpIndex op = 0; op < graph.size(); ++op) {
    c.rows[op].output = static_cast<Compiled::Id>(c.output_bytes.size());
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) {
      c.output_bytes.push_back(output.bytes);
      c.output_storage.push_back(output.storage == Output::Storage::kOwn ? output.bytes : 0);
    }
  }
  c.rows[graph.size()].output = static_cast<Compiled::Id>(c.output_bytes.size());
}

void CompileEdges(const OpGraph& graph, Compiled& c) {
  const std::vector<RawEdge> raw = DistinctEdges(graph);
  c.dependencies.resize(graph.ops.size());
  std::size_t senders = 1;
  const RawEdge* last = nullptr;
  const auto begins_sender = [](const RawEdge* before, const RawEdge& edge) {
    return before == nullptr || before->producer != edge.producer || before->output != edge.output;
  };
  for (const RawEdge& edge : raw) {
    ++c.dependencies[edge.consumer];
    if (edge.output >= 0) ++c.rows[edge.consumer + 1].input;
    senders += begins_sender(last, edge);
    last = &edge;
  }
  std::vector<Compiled::Id> next_input(graph.ops.size() + 1, 0);
  for (OpIndex op = 0; op < graph.size(); ++op) {
    c.rows[op + 1].input += c.rows[op].input;
    next_input[static_cast<std::size_t>(op) + 1] = c.rows[op + 1].input;
  }
  c.inputs = c.rows[graph.size()].input;
  c.input_output.resize(static_cast<std::size_t>(c.inputs));
  c.input_reader.resize(static_cast<std::size_t>(c.inputs));
  c.senders.reserve(senders);
  c.edges.reserve(raw.size());
  c.edge_producer.reserve(raw.size());
  auto edge = raw.begin();
  for (OpIndex op = 0; op < graph.size(); ++op) {
    c.rows[op].sender = static_cast<Compiled::Id>(c.senders.size());
    for (const auto first = edge; edge != raw.end() && edge->producer == op; ++edge) {
      const bool data = edge->output >= 0;
      const Compiled::Id output = data ? c.rows[op].output + edge->output : Compiled::kNone;
      if (begins_sender(edge == first ? nullptr : &*edge - 1, *edge)) {
        c.senders.push_back(
            {static_cast<Compiled::Id>(c.edges.size()), output, data ? c.output_bytes[output] : 0});
      }
      const Compiled::Id input = data ? next_input[static_cast<std::size_t>(edge->consumer)]++ : c.inputs;
      if (data) {
        c.input_output[input] = output;
        c.input_reader[input] = edge->consumer;
      }
      c.edges.push_back({edge->consumer, input});
      c.edge_producer.push_back(op);
    }
  }
  c.rows[graph.size()].sender = static_cast<Compiled::Id>(c.senders.size());
  c.senders.push_back({static_cast<Compiled::Id>(c.edges.size()), Compiled::kNone, 0});
}

// A sender's dependencies cannot need more transfers than there are other devices.
void CountTransfers(Compiled& c) {
  for (std::size_t i = 0; i + 1 < c.senders.size(); ++i) {
    const auto most = static_cast<std::size_t>(
        std::min(c.senders.data()[i + 1].edge - c.senders.data()[i].edge, c.devices - 1));
    c.most_transfers += most;
    if (c.senders.data()[i].bytes == 0) c.most_light += most;
  }
}

void CompileViews(const OpGraph& graph, Compiled& c) {
  for (OpIndex op = 0; op < graph.size(); ++op) {
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) {
      Compiled::Id shares = Compiled::kNone;
      if (output.storage == Output::Storage::kInput) {
        const Compiled::Id alias = c.rows[output.alias.op].output + output.alias.output;
        for (shares = c.rows[op].input; c.input_output[shares] != alias;) ++shares;
      }
      c.output_shares.push_back(shares);
    }
  }
}

void CompileCollectives(const OpGraph& graph, Compiled& c) {
  c.collectives = CollectivesOf(graph);
  if (c.collectives.empty()) return;
  c.collective_of.assign(graph.ops.size(), Compiled::kNone);
  for (std::size_t i = 0; i < c.collectives.size(); ++i)
    for (const OpIndex member : c.collectives[i].members)
      c.collective_of[member] = static_cast<Compiled::Id>(i);
}

// The longest path of consumers, each where it takes least. No op ends sooner after its start than by its cost: rates
// are at most 1.
void CompileTails(const OpGraph& graph, Compiled& c) {
  c.tail.resize(graph.ops.size());
  const std::vector<OpIndex>& order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    for (const OpIndex consumer : graph.consumers(*op)) {
      c.tail[*op] = std::max(c.tail[*op], std::ranges::min(c.CostsOf(consumer)) + c.tail[consumer]);
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

// Devices between which there are routes.
std::vector<DeviceIndex> PairedDevices(const Cluster& cluster, const std::vector<DeviceIndex>* used) {
  if (used != nullptr) return *used;
  std::vector<DeviceIndex> all;
  for (DeviceIndex d = 0; d < cluster.size() && cluster.size() <= kMaxPaired; ++d) all.push_back(d);
  return all;
}

void CompileRoutes(const Cluster& cluster, const std::vector<DeviceIndex>& devices, Compiled& c) {
  c.paired = static_cast<DeviceIndex>(devices.size());
  c.paired_number.assign(cluster.devices.size(), Compiled::kNone);
  for (DeviceIndex i = 0; i < c.paired; ++i) c.paired_number[devices[static_cast<std::size_t>(i)]] = i;
  for (const DeviceIndex from : devices) {
    for (const DeviceIndex to : devices) {
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
      if (c.route_directions.size() > kMaxDirections) {
        throw InputError("the routes between the " + std::to_string(devices.size()) +
                         " devices of a placement on cluster '" + cluster.name + "' have more than " +
                         std::to_string(kMaxDirections) + " links together; use fewer devices");
      }
      if (from != to && !cluster.links.empty()) route.engine = EnginePool(cluster, from, to);
      c.routes.push_back(route);
    }
  }
}

// Kinds of links are few on real machines, so that M need not be divided out for every transfer of every run.
void CompileMoves(Compiled& c) {
  std::vector<const Compiled::Route*> examples;
  for (auto& route : c.routes) {
    if (route.narrowest == 0) continue;
    const auto found = std::find_if(examples.begin(), examples.end(),
                                    [&](const auto* example) { return c.SameMoves(*example, route); });
    const auto number = static_cast<Compiled::Id>(found - examples.begin());
    if (found == examples.end()) {
      if (number == Compiled::kMoveClasses) continue;
      examples.push_back(&route);
      ById<Picos>& moves = c.moves.emplace_back();
      moves.reserve(c.output_bytes.size());
      for (const Bytes bytes : c.output_bytes) moves.push_back(c.TransferTime(route, bytes));
    }
    route.move_class = number;
  }
}

}  // namespace

Compiled::Compiled(const OpGraph& graph, const Cluster& cluster_in, const CostTable& costs,
                   const std::vector<DeviceIndex>* used)
    : ops(graph.size()),
      devices(cluster_in.size()),
      rows(graph.ops.size() + 1),
      cost(costs.picos),
      cost_columns(static_cast<std::size_t>(costs.columns())),
      program_order(graph.topological_order()),
      cluster(&cluster_in) {
  for (DeviceIndex d = 0; d < devices; ++d) cost_column.push_back(costs.ColumnOf(d));
  CompileOutputs(graph, *this);
  CompileEdges(graph, *this);
  CompileViews(graph, *this);
  CountTransfers(*this);
  CompileCollectives(graph, *this);
  CompileTails(graph, *this);
  persistent.reserve(graph.ops.size());
  for (OpIndex i = 0; i < ops; ++i) {
    const Op& op = graph.ops[static_cast<std::size_t>(i)];
    persistent.push_back(op.persistent_bytes);
    rows[i].workspace = op.workspace_bytes;
    rows[i].dispatch_ops = op.DispatchUnits();
    host_waits.push_back(op.HostWaits() ? 1 : 0);
  }
  if (std::ranges::find(host_waits, 1) == host_waits.end()) host_waits.clear();
  CompileDevices(cluster_in, *this);
  CompileRoutes(cluster_in, PairedDevices(cluster_in, used), *this);
  CompileMoves(*this);
}

Picos Compiled::TransferTime(const Route& route, Bytes bytes) const {
  if (route.narrowest == 0) return 0;
  if (!route.curved) return MulDivNearest(bytes, kPicosPerSecond, route.narrowest);
  Picos longest = 0;
  for (Id i = route.first; i < route.last; ++i) {
    const Link& link = cluster->links[static_cast<std::size_t>(route_links[static_cast<std::size_t>(i)])];
    longest = std::max(longest, LoneTime(link, bytes) - link.latency);
  }
  return longest;
}

bool Compiled::SameMoves(const Route& a, const Route& b) const {
  if (!a.curved || !b.curved) return a.curved == b.curved && a.narrowest == b.narrowest;
  const auto same = [this](Id one, Id other) {
    const Link& left = cluster->links[static_cast<std::size_t>(one)];
    const Link& right = cluster->links[static_cast<std::size_t>(other)];
    return left.bandwidth == right.bandwidth && left.latency == right.latency && left.curve == right.curve;
  };
  return a.narrowest == b.narrowest &&
         std::equal(route_links.begin() + a.first, route_links.begin() + a.last,
                    route_links.begin() + b.first, route_links.begin() + b.last, same);
}

}  // namespace stowplan::sim
