#include "sim/native/list_simulator.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/error.h"
#include "sim/native/bookings.h"
#include "sim/native/end_tree.h"
#include "sim/native/index_set.h"
#include "sim/native/peaks.h"
#include "sim/native/shared_device.h"

namespace berth::sim {
namespace {

using Compiled = Problem::Compiled;
using Id = Compiled::Id;

class BookedLists final : public ListSimulator {
 public:
  BookedLists(const Problem& problem, const Moments& moments);
  const Outcome* Run(const Placement& placement, std::span<const OpIndex> list) override;

 private:
  using BlockId = std::int32_t;  // place in blocks_

  // Where the rows of an op begin.
  struct OpRow {
    Id sender = 0;
    Id output = 0;
    Id input = 0;
    std::int32_t dispatch_ops = 0;
    Bytes workspace = 0;
  };
  // All dependencies on one output of an op, or all its control dependencies.
  struct Sender {
    Id edge = 0;      // the first of its edges_
    Id output = 0;    // kNone for control
    Bytes bytes = 0;  // 0: its transfers are light
  };
  struct Edge {
    OpIndex consumer;
    Id input;
  };
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
  // Of an output on a device.
  struct Arrival {
    Moment when;
    BlockId block;
  };
  static constexpr Moment kWanted = ~Moment{0};
  static constexpr BlockId kNothing = 0;

  void CompileGraph();
  void Reset(const Placement& placement, std::span<const OpIndex> list);
  void Schedule(DeviceIndex device);
  void ScheduleOp(OpIndex op, DeviceIndex device, Server& server);
  void Send(OpIndex op, const Sender& sender, Id edges_end, DeviceIndex device, Moment now);
  Arrival Transfer(OpIndex op, const Sender& sender, BlockId block, DeviceIndex from, DeviceIndex to,
                   Moment now);
  BlockId Allocate(Moment at, Moment freed, Bytes bytes, DeviceIndex device, OpIndex owner);
  void Hold(BlockId block, Moment until) { blocks_[block].freed = std::max(blocks_[block].freed, until); }
  void FinishOutcome(Moment last);
  void FinishMemory(Moment last);

  OpIndex Nobody() const { return c_.ops; }
  // Outputs, workspaces and copies, and nothing.
  std::size_t MostBlocks() const {
    return c_.output_bytes.size() + static_cast<std::size_t>(c_.ops) + c_.edge_consumer.size() + 1;
  }

  const Problem& problem_;
  const Compiled& c_;
  const Moments moments_;
  Bookings links_;
  ById<Bytes> granularity_;  // by device
  ById<OpRow> rows_;         // by op, and the end
  ById<Sender> senders_;     // and the end
  ById<Edge> edges_;
  ById<std::int32_t> dependencies_;  // by op

  ById<Waiting> waiting_;  // by op; the last one is nobody, who is never ready
  ById<Server> servers_;
  ById<OpIndex> list_;  // a stretch for each device, and nobody
  EndTree ends_;
  ById<Moment> end_;    // by op
  ById<Block> blocks_;  // what has been allocated; the first one is nothing
  BlockId blocks_end_ = 0;
  ById<BlockId> input_block_;   // by in-edge: what it holds
  ById<BlockId> output_block_;  // by output: its own, or that which it shares
  ById<Bytes> persistent_;      // by device
  Peaks peaks_;
  ById<Arrival> arrivals_;  // scratch of one sender, by device
  const IndexSet no_devices_;
  Outcome outcome_;
};

BookedLists::BookedLists(const Problem& problem, const Moments& moments)
    : problem_(problem),
      c_(problem.compiled()),
      moments_(moments),
      links_(c_, moments_),
      rows_(static_cast<std::size_t>(c_.ops) + 1),
      dependencies_(static_cast<std::size_t>(c_.ops)),
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
      no_devices_(c_.devices) {
  for (const Device& device : problem.cluster().devices) granularity_.push_back(device.granularity);
  CompileGraph();
}

void BookedLists::CompileGraph() {
  for (OpIndex op = 0; op <= c_.ops; ++op) {
    const Compiled::OpRow& row = c_.rows[op];
    rows_[op] = {static_cast<Id>(senders_.size()), row.output, row.input, row.dispatch_ops, row.workspace};
    if (op == c_.ops) break;
    for (Id e = row.edge; e < c_.rows[op + 1].edge; ++e) {
      const Id output = c_.edge_output[e];
      const bool data = output != Compiled::kNone;
      if (e == row.edge || output != c_.edge_output[e - 1])
        senders_.push_back({e, output, data ? c_.output_bytes[output] : 0});
      edges_.push_back({c_.edge_consumer[e], data ? c_.edge_input[e] : c_.inputs});
      ++dependencies_[c_.edge_consumer[e]];
    }
  }
  senders_.push_back({static_cast<Id>(edges_.size()), Compiled::kNone, 0});
}

void BookedLists::Reset(const Placement& placement, std::span<const OpIndex> list) {
  BERTH_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c_.ops));
  for (Server& server : servers_) server = {};
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = placement.device[static_cast<std::size_t>(op)];
    waiting_[op] = {0, dependencies_[op], device};
    ++servers_[device].last;
    if (c_.persistent[op] != 0) persistent_[device] += RoundUp(c_.persistent[op], granularity_[device]);
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
}

const Outcome* BookedLists::Run(const Placement& placement, std::span<const OpIndex> list) {
  Reset(placement, list);
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    Server& server = servers_[d];
    server.next = server.scheduled < server.last ? list_[server.scheduled] : Nobody();
    if (waiting_[server.next].missing == 0) Schedule(d);
  }
  OpIndex ended = 0;
  Moment last = 0;  // whatever arrives does so before the end of an op that reads it
  EndTree::End next;
  for (; (next = ends_.next()).moment < Moments::kTooLate; ++ended) {
    last = next.moment;
    const DeviceIndex device = waiting_[next.op].device;
    Server& server = servers_[device];
    if (++server.ended < server.scheduled) {
      const OpIndex after = list_[server.ended];
      ends_.Set(device, {end_[after], after});
    } else {
      ends_.SetNone(device);
    }
    const Id senders_end = rows_[next.op + 1].sender;
    for (Id s = rows_[next.op].sender; s < senders_end; ++s)
      Send(next.op, senders_[s], senders_[s + 1].edge, device, last);
  }
  if (next.moment != EndTree::kNone) return nullptr;
  BERTH_CHECK_EQ(ended, c_.ops);
  FinishOutcome(last);
  return &outcome_;
}

// All that the device's list has ready, at least one op.
void BookedLists::Schedule(DeviceIndex device) {
  Server& server = servers_[device];
  const bool idle = server.ended == server.scheduled;
  const OpIndex first = server.next;
  do {
    ScheduleOp(server.next, device, server);
    server.next = ++server.scheduled < server.last ? list_[server.scheduled] : Nobody();
  } while (waiting_[server.next].missing == 0);
  if (idle) ends_.Set(device, {end_[first], first});
}

inline void BookedLists::ScheduleOp(OpIndex op, DeviceIndex device, Server& server) {
  const OpRow &row = rows_[op], &next = rows_[op + 1];
  const Picos cost = c_.CostOf(op, device);
  server.issued = moments_.Issued(std::max(server.issued, waiting_[op].known),
                                  c_.dispatch_cost[device] * row.dispatch_ops);
  const Moment start = std::max(server.free, server.issued);
  const Moment end = moments_.End(start, cost);
  server.free = end;
  server.busy += cost;
  end_[op] = end;
  for (Id i = row.input; i < next.input; ++i) Hold(input_block_[i], end);
  for (Id o = row.output; o < next.output; ++o) {
    const Id shares = c_.output_shares[o];
    output_block_[o] = shares == Compiled::kNone ? Allocate(start, end, c_.output_storage[o], device, op)
                                                 : input_block_[shares];
  }
  if (row.workspace != 0) Allocate(start, end, row.workspace, device, op);
}

inline BookedLists::BlockId BookedLists::Allocate(Moment at, Moment freed, Bytes bytes, DeviceIndex device,
                                                  OpIndex owner) {
  if (bytes == 0) return kNothing;
  blocks_[blocks_end_] = {at, freed, RoundUp(bytes, granularity_[device]), device, owner};
  return blocks_end_++;
}

// To the readers' devices in their order; then each reader learns when it arrives. What is local has arrived, and
// on an accelerator it need not have.
inline void BookedLists::Send(OpIndex op, const Sender& sender, Id edges_end, DeviceIndex device,
                              Moment now) {
  IndexSet reached = no_devices_;
  for (Id e = sender.edge; e < edges_end; ++e) {
    const DeviceIndex to = waiting_[edges_[e].consumer].device;
    reached.Add(to);
    arrivals_[to].when = kWanted;
  }
  const BlockId block = sender.output == Compiled::kNone ? kNothing : output_block_[sender.output];
  reached.Drain([&](DeviceIndex to) {
    Arrival& arrival = arrivals_[to];
    if (to == device) {
      arrival = {c_.is_cpu[device] != 0 ? now : 0, block};
    } else if (arrival.when == kWanted) {
      arrival = Transfer(op, sender, block, device, to, now);
    }
  });
  for (Id e = sender.edge; e < edges_end; ++e) {
    const Edge edge = edges_[e];
    Waiting& waiting = waiting_[edge.consumer];
    const Arrival& arrival = arrivals_[waiting.device];
    input_block_[edge.input] = arrival.block;
    waiting.known = std::max(waiting.known, arrival.when);
    if (--waiting.missing == 0 && servers_[waiting.device].next == edge.consumer) Schedule(waiting.device);
  }
}

inline BookedLists::Arrival BookedLists::Transfer(OpIndex op, const Sender& sender, BlockId block,
                                                  DeviceIndex from, DeviceIndex to, Moment now) {
  const Id route = c_.RouteIndex(from, to);
  if (sender.bytes == 0) return {links_.Light(route, now), kNothing};
  const auto [start, end] = links_.Book(route, sender.output, sender.bytes, now);
  Hold(block, end);
  return {end, Allocate(start, start, sender.bytes, to, ~op)};
}

// ---- the outcome ------------------------------------------------------------------------------------------

void BookedLists::FinishOutcome(Moment last) {
  outcome_.runtime = moments_.TimeOf(last);
  FinishMemory(last);
  outcome_.devices.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d) outcome_.devices.push_back({servers_[d].busy, peaks_.peak(d)});
  links_.Report(outcome_.links);
}

void BookedLists::FinishMemory(Moment last) {
  peaks_.Find(persistent_, {blocks_.data() + 1, blocks_.data() + blocks_end_}, last);
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
    persistent_[d] += RoundUp(c_.persistent[op], granularity_[d]);
    if (persistent_[d] <= capacity(d)) continue;
    outcome_.oom = {d, op, OutOfMemory::What::kPersistent, 0, persistent_[d], capacity(d)};
    return;
  }
}

// ---- which runs are of this kind ----------------------------------------------------------------------------

// How many ops and transfers may take no time.
std::int64_t WithoutDuration(const Compiled& c) {
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

Picos LongestDuration(const Compiled& c) {
  Picos longest = 0;
  for (OpIndex op = 0; op < c.ops; ++op) {
    for (DeviceIndex d = 0; d < c.devices; ++d)
      longest = std::max({longest, c.CostOf(op, d), c.dispatch_cost[d] * c.rows[op].dispatch_ops});
  }
  Bytes most = 0;
  for (const Bytes bytes : c.output_bytes) most = std::max(most, bytes);
  for (const Compiled::Route& route : c.routes)
    longest = std::max(longest, route.latency + c.TransferTime(route, most));
  return longest;
}

}  // namespace

bool CanRunLists(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  const Compiled& c = problem.compiled();
  return cluster.dispatch.per == Dispatch::Per::kDevice &&
         std::all_of(cluster.devices.begin(), cluster.devices.end(), HasFixedRate) &&
         !RouteResources(c, Sharing::kExclusive).has_flows() &&
         LongestDuration(c) <= Moments(WithoutDuration(c)).longest();
}

std::unique_ptr<ListSimulator> MakeListSimulator(const Problem& problem) {
  return std::make_unique<BookedLists>(problem, Moments(WithoutDuration(problem.compiled())));
}

}  // namespace berth::sim
