// Native runs in which every time is known in advance. Internal to sim/; included only by the files of
// sim/interconnect/.
//
// Where each device has its own thread that issues from a list, and runs one op at a time at a fixed rate, an
// op's issue, start and end follow from those of the op before it in the list and from when its inputs arrive.
// Where transfers can be booked (sim/interconnect/bookings.h) so do their times from the end of their producer.
// Thus the only events are ends of ops, and each edge is looked at twice: when its producer has ended, and when
// its consumer's end is known, which may hold a storage. Storages are accounted for after the run (peaks.h).
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "sim/error.h"
#include "sim/native/end_tree.h"
#include "sim/native/index_set.h"
#include "sim/native/peaks.h"
#include "sim/native/plan.h"
#include "sim/native/shared_device.h"

namespace berth::sim {

template <typename Links>
class ListSimulator {
 public:
  // Whether devices and threads are of this kind.
  static bool CanRun(const Cluster& cluster) {
    return cluster.dispatch.per == Dispatch::Per::kDevice &&
           std::all_of(cluster.devices.begin(), cluster.devices.end(), HasFixedRate);
  }
  explicit ListSimulator(const Problem& problem);

  // Issues in the order of `list`, of all ops. nullptr if some time is more than moments can hold.
  const Outcome* Run(const Placement& placement, std::span<const OpIndex> list);

 private:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;
  using BlockId = std::int32_t;  // place in blocks_

  // An op that has not been scheduled.
  struct Waiting {
    Moment known = 0;          // when the last of its inputs arrives, of those that are known
    std::int32_t missing = 0;  // dependencies whose producers have not ended
    DeviceIndex device = 0;
  };
  // A device, its thread and its list: of places [ended, scheduled) of list_ the ends are known and to come.
  struct Server {
    OpIndex next = 0;  // to be scheduled
    std::int32_t ended = 0, scheduled = 0, last = 0;
    Moment issued = 0;  // when the thread is free again
    Moment free = 0;    // and the device
    Picos busy = 0;
  };
  // All dependencies on one output of an op, or all its control dependencies.
  struct Sender {
    Id output = 0;  // kNone for control
    Id edge = 0;    // the first of its edges_
  };
  struct Edge {
    OpIndex consumer;
    Id input;
  };
  // Of an output on a device.
  struct Arrival {
    Moment when;
    BlockId block;
  };
  static constexpr Moment kWanted = ~Moment{0};
  static constexpr BlockId kNothing = 0;

  static std::int64_t WithoutDuration(const Compiled& compiled);
  bool DurationsFit() const;
  void CompileEdges();
  void Reset(const Placement& placement, std::span<const OpIndex> list);
  void Schedule(DeviceIndex device);
  void ScheduleOp(OpIndex op, DeviceIndex device, Server& server);
  void End(OpIndex op, DeviceIndex device, Moment now);
  void Send(Sender sender, Id edges_end, DeviceIndex device, Moment now);
  Arrival Transfer(Id output, BlockId block, DeviceIndex from, DeviceIndex to, Moment now);
  BlockId Allocate(Moment at, Bytes bytes, DeviceIndex device, OpIndex owner);
  void Hold(BlockId block, Moment until) { blocks_[block].freed = std::max(blocks_[block].freed, until); }
  void FinishOutcome();
  void FinishMemory();

  OpIndex Nobody() const { return c_.ops; }
  Bytes Rounded(DeviceIndex device, Bytes bytes) const { return RoundUp(bytes, granularity_[device]); }
  // Outputs, workspaces and copies, and nothing.
  std::size_t MostBlocks() const {
    return c_.output_bytes.size() + static_cast<std::size_t>(c_.ops) + c_.edge_consumer.size() + 1;
  }

  const Problem& problem_;
  const Compiled& c_;
  const Moments moments_;
  const bool durations_fit_;
  Links links_;
  ById<Bytes> granularity_;  // by device
  ById<Sender> senders_;
  ById<Id> first_sender_;  // by op, and the end
  ById<Edge> edges_;
  ById<std::int32_t> dependencies_;  // by op

  ById<Waiting> waiting_;  // by op; the last one is nobody, who is never ready
  ById<Server> servers_;
  ById<OpIndex> list_;  // a stretch for each device
  EndTree ends_;
  ById<Moment> end_;    // by op
  ById<Block> blocks_;  // what has been allocated; the first one is nothing
  BlockId blocks_end_ = 0;
  ById<BlockId> input_block_;   // by in-edge: what it holds
  ById<BlockId> output_block_;  // by output: its own, or that which it shares
  Moment latest_ = 0;           // of all ends
  ById<Bytes> persistent_;      // by device
  Peaks peaks_;
  ById<Arrival> arrivals_;  // scratch of one sender, by device
  IndexSet reached_;
  Outcome outcome_;
};

template <typename Links>
ListSimulator<Links>::ListSimulator(const Problem& problem)
    : problem_(problem),
      c_(problem.compiled()),
      moments_(WithoutDuration(c_)),
      durations_fit_(DurationsFit()),
      links_(c_, moments_),
      waiting_(static_cast<std::size_t>(c_.ops) + 1),
      servers_(static_cast<std::size_t>(c_.devices)),
      list_(static_cast<std::size_t>(c_.ops)),
      ends_(c_.devices),
      end_(static_cast<std::size_t>(c_.ops)),
      blocks_(MostBlocks()),
      input_block_(static_cast<std::size_t>(c_.inputs) + 1),
      output_block_(c_.output_bytes.size()),
      persistent_(static_cast<std::size_t>(c_.devices)),
      peaks_(problem.cluster(), c_.ops, MostBlocks()),
      arrivals_(static_cast<std::size_t>(c_.devices)),
      reached_(c_.devices) {
  for (const Device& device : problem.cluster().devices) granularity_.push_back(device.granularity);
  CompileEdges();
}

// How many ops and transfers may take no time.
template <typename Links>
std::int64_t ListSimulator<Links>::WithoutDuration(const Compiled& c) {
  std::int64_t number = 0;
  for (OpIndex op = 0; op < c.ops; ++op) {
    bool some = false;
    for (DeviceIndex d = 0; d < c.devices; ++d) some = some || c.CostOf(op, d) == 0;
    number += some;
  }
  const bool at_once = std::any_of(c.routes.begin(), c.routes.end(), [](const Compiled::Route& route) {
    return route.from != route.to && route.latency == 0;
  });
  return number + (at_once ? static_cast<std::int64_t>(c.edge_consumer.size()) : 0);
}

// Those of transfers are looked at when they are known.
template <typename Links>
bool ListSimulator<Links>::DurationsFit() const {
  Picos longest = 0;
  for (OpIndex op = 0; op < c_.ops; ++op) {
    for (DeviceIndex d = 0; d < c_.devices; ++d)
      longest = std::max({longest, c_.CostOf(op, d), c_.dispatch_cost[d] * c_.rows[op].dispatch_ops});
  }
  return longest <= moments_.longest();
}

template <typename Links>
void ListSimulator<Links>::CompileEdges() {
  dependencies_.resize(static_cast<std::size_t>(c_.ops));
  for (OpIndex op = 0; op < c_.ops; ++op) {
    first_sender_.push_back(static_cast<Id>(senders_.size()));
    for (Id e = c_.rows[op].edge; e < c_.rows[op + 1].edge; ++e) {
      if (e == c_.rows[op].edge || c_.edge_output[e] != c_.edge_output[e - 1])
        senders_.push_back({c_.edge_output[e], e});
      const bool data = c_.edge_input[e] != Compiled::kNone;
      edges_.push_back({c_.edge_consumer[e], data ? c_.edge_input[e] : c_.inputs});
      ++dependencies_[c_.edge_consumer[e]];
    }
  }
  first_sender_.push_back(static_cast<Id>(senders_.size()));
  senders_.push_back({Compiled::kNone, static_cast<Id>(edges_.size())});
}

template <typename Links>
void ListSimulator<Links>::Reset(const Placement& placement, std::span<const OpIndex> list) {
  for (Server& server : servers_) server = {};
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = placement.device[static_cast<std::size_t>(op)];
    waiting_[op] = {0, dependencies_[op], device};
    ++servers_[device].last;
    persistent_[device] += Rounded(device, c_.persistent[op]);
  }
  waiting_[Nobody()] = {0, std::numeric_limits<std::int32_t>::max(), 0};
  std::int32_t begin = 0;
  for (Server& server : servers_) {
    server.ended = server.scheduled = begin;
    begin += server.last;
    server.last = server.scheduled;
  }
  for (const OpIndex op : list) list_[servers_[waiting_[op].device].last++] = op;
  ends_.Clear();
  links_.Reset();
  blocks_end_ = kNothing + 1;
  latest_ = 0;
}

template <typename Links>
const Outcome* ListSimulator<Links>::Run(const Placement& placement, std::span<const OpIndex> list) {
  BERTH_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c_.ops));
  if (!durations_fit_) return nullptr;
  Reset(placement, list);
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    Server& server = servers_[d];
    server.next = server.scheduled < server.last ? list_[server.scheduled] : Nobody();
    if (waiting_[server.next].missing == 0) Schedule(d);
  }
  OpIndex ended = 0;
  for (auto next = ends_.next(); next.moment != EndTree::kNone; next = ends_.next(), ++ended) {
    const DeviceIndex device = waiting_[next.op].device;
    Server& server = servers_[device];
    if (++server.ended < server.scheduled) {
      const OpIndex after = list_[server.ended];
      ends_.Set(device, {end_[after], after});
    } else {
      ends_.SetNone(device);
    }
    End(next.op, device, next.moment);
  }
  if (latest_ >= Moments::kTooLate) return nullptr;
  BERTH_CHECK_EQ(ended, c_.ops);
  FinishOutcome();
  return &outcome_;
}

// All that the device's list has ready, at least one op.
template <typename Links>
void ListSimulator<Links>::Schedule(DeviceIndex device) {
  Server& server = servers_[device];
  const bool idle = server.ended == server.scheduled;
  const OpIndex first = server.next;
  do {
    ScheduleOp(server.next, device, server);
    server.next = ++server.scheduled < server.last ? list_[server.scheduled] : Nobody();
  } while (waiting_[server.next].missing == 0);
  if (idle) ends_.Set(device, {end_[first], first});
}

template <typename Links>
void ListSimulator<Links>::ScheduleOp(OpIndex op, DeviceIndex device, Server& server) {
  const Compiled::OpRow &row = c_.rows[op], &next = c_.rows[op + 1];
  const Picos cost = c_.CostOf(op, device);
  server.issued = moments_.Issued(std::max(server.issued, waiting_[op].known),
                                  c_.dispatch_cost[device] * row.dispatch_ops);
  const Moment start = std::max(server.free, server.issued);
  const Moment end = moments_.End(start, cost);
  server.free = end;
  server.busy += cost;
  latest_ = std::max(latest_, end);
  end_[op] = end;
  for (Id i = row.input; i < next.input; ++i) Hold(input_block_[i], end);
  for (Id o = row.output; o < next.output; ++o) {
    const Id shares = c_.output_shares[o];
    output_block_[o] =
        shares == Compiled::kNone ? Allocate(start, c_.output_storage[o], device, op) : input_block_[shares];
    Hold(output_block_[o], end);
  }
  if (row.workspace != 0) Hold(Allocate(start, row.workspace, device, op), end);
}

template <typename Links>
inline typename ListSimulator<Links>::BlockId ListSimulator<Links>::Allocate(Moment at, Bytes bytes,
                                                                             DeviceIndex device,
                                                                             OpIndex owner) {
  if (bytes == 0) return kNothing;
  blocks_[blocks_end_] = {at, at, Rounded(device, bytes), device, owner};
  return blocks_end_++;
}

template <typename Links>
void ListSimulator<Links>::End(OpIndex op, DeviceIndex device, Moment now) {
  for (Id s = first_sender_[op]; s < first_sender_[op + 1]; ++s)
    Send(senders_[s], senders_[s + 1].edge, device, now);
}

// To the readers' devices in their order; then each reader learns when it arrives. What is local has arrived, and
// on an accelerator it need not have.
template <typename Links>
void ListSimulator<Links>::Send(Sender sender, Id edges_end, DeviceIndex device, Moment now) {
  const BlockId block = sender.output == Compiled::kNone ? kNothing : output_block_[sender.output];
  IndexSet reached = reached_;
  for (Id e = sender.edge; e < edges_end; ++e) {
    const DeviceIndex to = waiting_[edges_[e].consumer].device;
    reached.Add(to);
    arrivals_[to].when = kWanted;
  }
  reached.Drain([&](DeviceIndex to) {
    Arrival& arrival = arrivals_[to];
    if (to == device) {
      arrival = {c_.is_cpu[device] != 0 ? now : 0, block};
    } else if (arrival.when == kWanted) {
      arrival = Transfer(sender.output, block, device, to, now);
    }
  });
  for (Id e = sender.edge; e < edges_end; ++e) {
    const Edge edge = edges_[e];
    Waiting& waiting = waiting_[edge.consumer];
    const Arrival arrival = arrivals_[waiting.device];
    input_block_[edge.input] = arrival.block;
    waiting.known = std::max(waiting.known, arrival.when);
    if (--waiting.missing == 0 && servers_[waiting.device].next == edge.consumer) Schedule(waiting.device);
  }
}

template <typename Links>
inline typename ListSimulator<Links>::Arrival ListSimulator<Links>::Transfer(Id output, BlockId block,
                                                                             DeviceIndex from, DeviceIndex to,
                                                                             Moment now) {
  const Id route = c_.RouteIndex(from, to);
  const Compiled::Route& row = c_.routes[route];
  const Bytes bytes = output == Compiled::kNone ? 0 : c_.output_bytes[output];
  if (bytes == 0) {
    const Moment end = moments_.End(now, row.latency);
    latest_ = std::max(latest_, row.latency > moments_.longest() ? Moments::kTooLate : end);
    return {end, kNothing};
  }
  const Picos duration = row.latency + c_.MoveTime(row, output);
  const auto [start, end] = links_.Book(route, bytes, now, duration);
  latest_ = std::max(latest_, duration > moments_.longest() ? Moments::kTooLate : end);
  Hold(block, end);
  return {end, Allocate(start, bytes, to, ~c_.output_producer[output])};
}

// ---- the outcome ------------------------------------------------------------------------------------------

template <typename Links>
void ListSimulator<Links>::FinishOutcome() {
  outcome_.runtime = moments_.TimeOf(latest_);
  FinishMemory();
  outcome_.devices.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d) outcome_.devices.push_back({servers_[d].busy, peaks_.peak(d)});
  links_.Report(outcome_.links);
}

template <typename Links>
void ListSimulator<Links>::FinishMemory() {
  peaks_.Find(persistent_, {blocks_.data() + 1, blocks_.data() + blocks_end_}, latest_);
  outcome_.oom.reset();
  const auto capacity = [this](DeviceIndex d) {
    return problem_.cluster().devices[static_cast<std::size_t>(d)].capacity();
  };
  if (const auto& refused = peaks_.refused()) {
    const Block& block = *refused->block;
    const bool copy = block.owner < 0;
    outcome_.oom = {block.device,
                    copy ? ~block.owner : block.owner,
                    copy ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput,
                    moments_.TimeOf(block.allocated),
                    refused->live,
                    capacity(block.device)};
  }
  // Persistent bytes come before everything else.
  bool fit = true;
  for (DeviceIndex d = 0; d < c_.devices; ++d) fit = fit && persistent_[d] <= capacity(d);
  if (fit) return;
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex d = waiting_[op].device;
    persistent_[d] += Rounded(d, c_.persistent[op]);
    if (persistent_[d] <= capacity(d)) continue;
    outcome_.oom = {d, op, OutOfMemory::What::kPersistent, 0, persistent_[d], capacity(d)};
    return;
  }
}

}  // namespace berth::sim
