// The arrays that a run reads: a problem as compressed rows, independent of any placement. Internal to sim/.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/exact.h"
#include "sim/simulator.h"

namespace berth::sim {

struct Problem::Compiled {
  using Id = std::int32_t;
  static constexpr Id kNone = -1;

  Compiled(const OpGraph& graph, const Cluster& cluster, const CostTable& costs);

  OpIndex ops = 0;
  DeviceIndex devices = 0;

  // Outputs, numbered through the graph: op's are [output_begin[op], output_begin[op + 1]).
  std::vector<Id> output_begin;
  std::vector<OpIndex> output_producer;
  std::vector<Bytes> output_bytes;
  std::vector<Output::Storage> output_storage;
  std::vector<Id> output_alias;  // output id whose storage it shares, for views

  // Dependencies as out-edges of the producer, sorted by (output, consumer), control (-1) first; each once.
  std::vector<Id> edge_begin;   // by op
  std::vector<Id> edge_output;  // output id, kNone for control
  std::vector<OpIndex> edge_consumer;
  std::vector<std::uint8_t> edge_first;  // 1 for the first edge of each (producer, consumer) pair

  // Distinct consumers of an op, ascending.
  std::vector<Id> consumer_begin;
  std::vector<OpIndex> consumer;

  // Data dependencies as in-edges: edge ids, in the order of the edge ids.
  std::vector<Id> input_begin;
  std::vector<Id> input_edge;
  std::vector<OpIndex> edge_producer;

  // By op.
  std::vector<Bytes> persistent;
  std::vector<Bytes> workspace;
  std::vector<std::int32_t> dispatch_ops;  // framework ops that dispatch is charged for; 0 for free ops
  std::vector<Picos> cost;                 // [op * devices + device]
  std::vector<OpIndex> program_order;

  // By device.
  std::vector<Picos> dispatch_cost;  // of one framework op
  std::vector<std::uint8_t> is_cpu;

  // A route between two devices, [from * devices + to].
  struct Route {
    Picos latency = 0;           // L: sum over its links of T(0)
    std::int64_t narrowest = 0;  // [B/s]; 0 = there are no links
    bool curved = false;         // some link has a curve
    Id first = 0, last = 0;      // its link directions in route_directions
    Id engine = kNone;           // engine pool it needs, kNone = none
  };
  std::vector<Route> routes;
  std::vector<Id> route_directions;        // 2 * link + (0 forward, 1 backward); half duplex: always forward
  std::vector<Id> route_links;             // link of the same place
  std::vector<std::int32_t> engine_count;  // by pool: 2 * device (out, or both), 2 * device + 1 (in)

  const Route& route(DeviceIndex from, DeviceIndex to) const {
    return routes[static_cast<std::size_t>(from) * static_cast<std::size_t>(devices) +
                  static_cast<std::size_t>(to)];
  }
  // M of docs/model.md section 4: the time a lone transfer takes beyond its latency.
  Picos TransferTime(const Route& route, Bytes bytes) const;

  const Cluster* cluster = nullptr;
};

}  // namespace berth::sim
