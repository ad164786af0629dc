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
  using What = OutOfMemory::What;

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
  struct Copy {
    Moment start;
    Bytes bytes;  // rounded
    DeviceIndex device;
    OpIndex producer;
  };
  static constexpr Moment kWanted = ~Moment{0};

  static std::int64_t WithoutDuration(const Compiled& compiled);
  bool DurationsFit() const;
  void CompileEdges();
  void Reset(const Placement& placement, std::span<const OpIndex> list);
  void Schedule(DeviceIndex device);
  void ScheduleOp(OpIndex op, DeviceIndex device, Server& server);
  void End(OpIndex op, DeviceIndex device, Moment now);
  void Send(Sender sender, Id edges_end, DeviceIndex device, Moment now);
  void Arrive(Edge edge, StorageId storage, Moment when);
  StorageId Transfer(Id output, DeviceIndex from, DeviceIndex to, Moment now, Moment& arrival);
  template <typename Allocate, typename Free>
  void ForEachChange(const Allocate& allocate, const Free& free) const;
  void FinishOutcome();
  void FinishMemory();

  OpIndex Nobody() const { return c_.ops; }
  Bytes Rounded(DeviceIndex device, Bytes bytes) const { return RoundUp(bytes, granularity_[device]); }
  StorageId FirstCopy() const { return static_cast<StorageId>(c_.output_bytes.size()); }
  // One that takes no bytes.
  StorageId Nothing() const { return FirstCopy() + static_cast<StorageId>(c_.edge_consumer.size()); }

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
  ById<Moment> start_, end_;       // by op
  ById<Bytes> request_;            // by op: what it allocates at its start
  ById<StorageId> input_storage_;  // by in-edge
  ById<StorageId> storage_;        // by output: its own, or that which it shares
  ById<Moment> freed_;             // by storage: outputs, copies in the order of queueing, nothing
  ById<Copy> copies_;
  std::int32_t copies_count_ = 0;
  Moment latest_ = 0;       // of all ends
  ById<Bytes> persistent_;  // by device
  Peaks peaks_;
  // Scratch of one sender, by device: when it arrives there, and as what.
  ById<Moment> arrival_;
  ById<StorageId> arrives_as_;
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
      start_(static_cast<std::size_t>(c_.ops)),
      end_(static_cast<std::size_t>(c_.ops)),
      request_(static_cast<std::size_t>(c_.ops)),
      input_storage_(static_cast<std::size_t>(c_.inputs) + 1),
      storage_(c_.output_bytes.size()),
      freed_(c_.output_bytes.size() + c_.edge_consumer.size() + 1),
      copies_(c_.edge_consumer.size()),
      persistent_(static_cast<std::size_t>(c_.devices)),
      peaks_(problem.cluster(), c_.ops,
             2 * static_cast<std::size_t>(c_.ops) + c_.output_bytes.size() + 2 * c_.edge_consumer.size()),
      arrival_(static_cast<std::size_t>(c_.devices)),
      arrives_as_(static_cast<std::size_t>(c_.devices)),
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
  copies_count_ = 0;
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
  start_[op] = start;
  end_[op] = end;
  for (Id i = row.input; i < next.input; ++i) {
    Moment& freed = freed_[input_storage_[i]];
    freed = std::max(freed, end);
  }
  Bytes request = Rounded(device, row.workspace);
  for (Id o = row.output; o < next.output; ++o) {
    const Id shares = c_.output_shares[o];
    storage_[o] = shares == Compiled::kNone ? o : input_storage_[shares];
    freed_[o] = end;
    request += Rounded(device, c_.output_storage[o]);
  }
  request_[op] = request;
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
  const Moment here = c_.is_cpu[device] != 0 ? now : 0;
  const StorageId storage = sender.output == Compiled::kNone ? Nothing() : storage_[sender.output];
  if (edges_end - sender.edge == 1) {
    const Edge edge = edges_[sender.edge];
    const DeviceIndex to = waiting_[edge.consumer].device;
    if (to == device) return Arrive(edge, storage, here);
    Moment arrival;
    const StorageId copy = Transfer(sender.output, device, to, now, arrival);
    return Arrive(edge, copy, arrival);
  }
  for (Id e = sender.edge; e < edges_end; ++e) {
    const DeviceIndex to = waiting_[edges_[e].consumer].device;
    reached_.Add(to);
    arrival_[to] = kWanted;
  }
  reached_.Drain([&](DeviceIndex to) {
    if (arrival_[to] != kWanted) return;
    if (to == device) {
      arrival_[to] = here;
      arrives_as_[to] = storage;
    } else {
      arrives_as_[to] = Transfer(sender.output, device, to, now, arrival_[to]);
    }
  });
  for (Id e = sender.edge; e < edges_end; ++e) {
    const DeviceIndex to = waiting_[edges_[e].consumer].device;
    Arrive(edges_[e], arrives_as_[to], arrival_[to]);
  }
}

template <typename Links>
inline void ListSimulator<Links>::Arrive(Edge edge, StorageId storage, Moment when) {
  Waiting& waiting = waiting_[edge.consumer];
  input_storage_[edge.input] = storage;
  waiting.known = std::max(waiting.known, when);
  if (--waiting.missing == 0 && servers_[waiting.device].next == edge.consumer) Schedule(waiting.device);
}

// Returns the copy's storage.
template <typename Links>
inline StorageId ListSimulator<Links>::Transfer(Id output, DeviceIndex from, DeviceIndex to, Moment now,
                                                Moment& arrival) {
  const Id route = c_.RouteIndex(from, to);
  const Compiled::Route& row = c_.routes[route];
  const Bytes bytes = output == Compiled::kNone ? 0 : c_.output_bytes[output];
  if (bytes == 0) {
    arrival = moments_.End(now, row.latency);
    latest_ = std::max(latest_, row.latency > moments_.longest() ? Moments::kTooLate : arrival);
    return Nothing();
  }
  const Picos duration = row.latency + c_.MoveTime(row, output);
  const auto booked = links_.Book(route, bytes, now, duration);
  arrival = booked.end;
  latest_ = std::max(latest_, duration > moments_.longest() ? Moments::kTooLate : arrival);
  Moment& freed = freed_[storage_[output]];
  freed = std::max(freed, booked.end);
  const StorageId copy = FirstCopy() + copies_count_;
  freed_[copy] = 0;
  copies_[copies_count_++] = {booked.start, Rounded(to, bytes), to, c_.output_producer[output]};
  return copy;
}

// ---- the outcome ------------------------------------------------------------------------------------------

template <typename Links>
void ListSimulator<Links>::FinishOutcome() {
  outcome_.runtime = moments_.TimeOf(latest_);
  FinishMemory();
  outcome_.devices.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d)
    outcome_.devices.push_back({servers_[d].busy, peaks_.peaks()[d]});
  links_.Report(outcome_.links);
}

template <typename Links>
template <typename Allocate, typename Free>
void ListSimulator<Links>::ForEachChange(const Allocate& allocate, const Free& free) const {
  for (OpIndex op = 0; op < c_.ops; ++op) {
    if (request_[op] == 0) continue;
    const Compiled::OpRow &row = c_.rows[op], &next = c_.rows[op + 1];
    const DeviceIndex device = waiting_[op].device;
    allocate(device, Peaks::Request{start_[op], What::kOutput, op}, request_[op]);
    if (row.workspace != 0) free(device, end_[op], Rounded(device, row.workspace));
    for (Id o = row.output; o < next.output; ++o) {
      if (c_.output_storage[o] != 0) free(device, freed_[o], Rounded(device, c_.output_storage[o]));
    }
  }
  for (std::int32_t i = 0; i < copies_count_; ++i) {
    const Copy& copy = copies_[i];
    allocate(copy.device, Peaks::Request{copy.start, What::kCopy, i}, copy.bytes);
    free(copy.device, freed_[FirstCopy() + i], copy.bytes);
  }
}

template <typename Links>
void ListSimulator<Links>::FinishMemory() {
  peaks_.Find(persistent_, latest_,
              [this](const auto& allocate, const auto& free) { ForEachChange(allocate, free); });
  outcome_.oom.reset();
  const auto capacity = [this](DeviceIndex d) {
    return problem_.cluster().devices[static_cast<std::size_t>(d)].capacity();
  };
  const auto& refused = peaks_.refused();
  if (refused) {
    const Peaks::Request& request = refused->request;
    const OpIndex op = request.what == What::kCopy ? copies_[request.number].producer : request.number;
    outcome_.oom = {refused->device,          op, request.what, moments_.TimeOf(request.at), refused->live,
                    capacity(refused->device)};
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
    outcome_.oom = {d, op, What::kPersistent, 0, persistent_[d], capacity(d)};
    return;
  }
}

}  // namespace berth::sim
