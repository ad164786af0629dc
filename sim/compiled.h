// The arrays that a native run reads: a problem as compressed rows, independent of any placement. Internal to
// sim/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/exact.h"
#include "sim/cluster.h"
#include "sim/collectives.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

// An array with a 32-bit number of an op, output, edge, … as its index.
template <typename T>
class ById : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  T& operator[](std::int32_t id) { return this->data()[static_cast<std::size_t>(id)]; }
  const T& operator[](std::int32_t id) const { return this->data()[static_cast<std::size_t>(id)]; }
};

struct Compiled {
  using Id = std::int32_t;
  static constexpr Id kNone = -1;

  // Reads the graph, the cluster and the costs as long as it lives. Transfers go between the devices in `used`, ascending;
  // null: between all, or nowhere in a cluster of more than kMaxPaired.
  Compiled(const OpGraph& graph, const Cluster& cluster, const CostTable& costs,
           const std::vector<DeviceIndex>* used = nullptr);

  OpIndex ops = 0;
  DeviceIndex devices = 0;

  // Where the rows of an op begin; they end where those of the next op begin.
  struct OpRow {
    Id sender = 0;
    Id output = 0;
    Id input = 0;                   // in-edges with data
    std::int32_t dispatch_ops = 0;  // how often dispatch is charged; 0 for free ops
    Bytes workspace = 0;
  };
  ById<OpRow> rows;  // by op, and the end

  // All dependencies on one output of an op, or all its control dependencies, which come first.
  struct Sender {
    Id edge = 0;      // the first of its edges
    Id output = 0;    // kNone for control
    Bytes bytes = 0;  // 0: its transfers are light
  };
  ById<Sender> senders;  // and the end
  // A dependency: of a sender's, by consumer, each once.
  struct Edge {
    OpIndex consumer;
    Id input;  // in-edge of the consumer; `inputs` for control
  };
  ById<Edge> edges;
  ById<OpIndex> edge_producer;
  Id inputs = 0;
  ById<std::int32_t> dependencies;  // by op: how many it has

  // Outputs, numbered through the graph.
  ById<Bytes> output_bytes;
  ById<Bytes> output_storage;  // bytes that it owns: 0 for views and what is persistent
  ById<Id> output_shares;      // in-edge of its op whose storage it shares, kNone = it is no view
  ById<Id> input_output;       // by in-edge: the output that is read, and who reads it
  ById<OpIndex> input_reader;

  // By op.
  ById<Bytes> persistent;
  ById<std::uint8_t>
      host_waits;               // whether the thread that issues it waits for its end; empty where none does
  ById<Picos> tail;             // no less time than this passes between its end and the end of the run
  std::span<const Picos> cost;  // [op * columns + column of the device] (CostTable)
  std::size_t cost_columns = 0;
  std::span<const OpIndex> program_order;

  std::vector<Collective> collectives;
  ById<Id> collective_of;  // by op, kNone = it is no member; empty where there are no collectives

  // No placement makes more transfers, and more light ones.
  std::size_t most_transfers = 0, most_light = 0;

  // By device.
  DeviceIndex paired = 0;  // devices that have routes
  ById<DeviceIndex> paired_number;
  ById<DeviceIndex> cost_column;
  ById<Picos> dispatch_cost;  // of one framework op
  ById<std::uint8_t> is_cpu;

  // A route between two devices, [number of from * paired + number of to].
  struct Route {
    Picos latency = 0;           // L: sum over its links of T(0)
    std::int64_t narrowest = 0;  // [B/s]; 0 = there are no links
    bool curved = false;         // some link has a curve
    Id first = 0, last = 0;      // its link directions in route_directions
    Id engine = kNone;           // engine pool it needs, kNone = none
    DeviceIndex from = 0, to = 0;
    Id move_class = kNone;  // row of `moves`; kNone: M is computed
  };
  ById<Route> routes;
  std::vector<Id> route_directions;        // 2 * link + (0 forward, 1 backward); half duplex: always forward
  std::vector<Id> route_links;             // link of the same place
  std::vector<std::int32_t> engine_count;  // by pool: 2 * device (out, or both), 2 * device + 1 (in)

  // M of every output on the routes that SameMoves(); for the first kMoveClasses kinds of them.
  static constexpr Id kMoveClasses = 4;
  std::vector<ById<Picos>> moves;

  Id FirstEdge(OpIndex op) const { return senders[rows[op].sender].edge; }  // of all its senders; the end too
  Id RouteIndex(DeviceIndex from, DeviceIndex to) const {
    return paired_number[from] * paired + paired_number[to];
  }
  const Route& route(DeviceIndex from, DeviceIndex to) const { return routes[RouteIndex(from, to)]; }
  const Picos* CostAt(OpIndex op, DeviceIndex device) const {
    return cost.data() + static_cast<std::size_t>(op) * cost_columns +
           static_cast<std::size_t>(cost_column[device]);
  }
  Picos CostOf(OpIndex op, DeviceIndex device) const { return *CostAt(op, device); }
  // All that the op may cost.
  std::span<const Picos> CostsOf(OpIndex op) const {
    return cost.subspan(static_cast<std::size_t>(op) * cost_columns, cost_columns);
  }
  // M of docs/model.md section 4: the time a lone transfer of an output takes beyond its latency.
  Picos MoveTime(const Route& route, Id output) const {
    if (route.move_class != kNone) return moves[static_cast<std::size_t>(route.move_class)][output];
    return TransferTime(route, output_bytes[output]);
  }
  Picos TransferTime(const Route& route, Bytes bytes) const;
  // M is the same on both for any bytes: of one narrowest bandwidth or, with curves, over links of the same times one by
  // one.
  bool SameMoves(const Route& a, const Route& b) const;

  const Cluster* cluster = nullptr;
};

}  // namespace stowplan::sim
