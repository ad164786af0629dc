// Native runs on devices that work alone (solo_devices.h), over any interconnect: what queues, starts and
// ends is asked of its `Links` pass by pass. Internal to sim/; included only by the files of
// sim/interconnect/. The steps of a pass bear the numbers of docs/model.md section 6.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "sim/error.h"
#include "sim/interconnect.h"
#include "sim/native/index_set.h"
#include "sim/native/link_meter.h"
#include "sim/native/solo_devices.h"
#include "sim/native/transfers.h"

namespace berth::sim {

template <typename Links>
class SoloSimulator {
 public:
  explicit SoloSimulator(const Problem& problem);

  // Issues in the order of `list`, of all ops; if that is empty in the order of becoming issuable. Records
  // nothing. nullptr if it takes longer than moments can hold.
  const Outcome* Run(const Placement& placement, std::span<const OpIndex> list);

 private:
  using Id = Problem::Compiled::Id;
  using BlockId = SoloDevices::BlockId;
  using Sender = SoloDevices::Sender;
  using Edge = SoloDevices::Edge;

  void CompileConsumers();
  void CountTransfers();
  Moment NextPass() const;
  void Pass();
  void EndOp(OpIndex op);                                            // 1
  void EndTransfers();                                               // 2
  void CatchUp(DeviceIndex device);                                  // 4
  void Satisfy(OpIndex op, std::int32_t dependencies, Moment when);  // 1, 2, 4
  void SatisfyLocals(OpIndex op, DeviceIndex device, Moment when);   // 1, 4
  void QueueTransfers(OpIndex op);                                   // 6
  TransferIndex MakeTransfer(OpIndex op, const Sender& sender, DeviceIndex from, DeviceIndex to,
                             Id readers_end);
  void StartTransfers();  // 7

  const Problem::Compiled& c_;
  SoloDevices s_;
  Links links_;
  LinkMeter<Links::kExclusive> meter_;
  DueHeap light_;
  bool listed_ = false;
  Moment now_ = 0;
  OpIndex ended_count_ = 0;
  bool transfers_changed_ = false;

  ById<std::int32_t> consumer_dependencies_;  // by place in Compiled::consumer: on that op, of how many edges
  // An issue is looked at when something else happens to its device, and at the op's end at the latest.
  ById<std::int32_t> seen_;   // by device: those of places in SoloDevices::order before this one have been
  ById<Moment> issued_;       // by place in SoloDevices::order
  ById<Id> route_transfers_;  // heavy transfers, by route

  // By queue number. The readers of a transfer stand behind those of the one before.
  ById<Transfer> planned_;
  ById<Id> numbers_;
  ById<BlockId> sent_block_, copy_block_;
  ById<Edge> readers_;
  TransferIndex queued_ = 0;
  const Transfers transfers_{planned_, numbers_};

  // Scratch: of a pass, and of one sender by device.
  std::vector<OpIndex> sending_;
  std::vector<TransferIndex> arrived_, started_;
  struct Destination {
    Id readers = 0;
    Id next = 0;
  };
  ById<Destination> destinations_;
  const IndexSet no_devices_;
  Outcome outcome_;
};

template <typename Links>
SoloSimulator<Links>::SoloSimulator(const Problem& problem)
    : c_(problem.compiled()),
      s_(problem),
      links_(c_, 0),
      meter_(c_),
      seen_(static_cast<std::size_t>(c_.devices)),
      issued_(static_cast<std::size_t>(c_.ops)),
      route_transfers_(c_.routes.size()),
      planned_(c_.most_transfers),
      numbers_(c_.most_transfers),
      sent_block_(c_.most_transfers),
      copy_block_(c_.most_transfers),
      readers_(c_.edge_consumer.size()),
      destinations_(static_cast<std::size_t>(c_.devices)),
      no_devices_(c_.devices) {
  std::iota(numbers_.begin(), numbers_.end(), 0);
  light_.Reserve(c_.most_light);
  sending_.reserve(static_cast<std::size_t>(c_.ops));
  for (auto* list : {&arrived_, &started_}) list->reserve(c_.most_transfers);
  CompileConsumers();
}

template <typename Links>
void SoloSimulator<Links>::CompileConsumers() {
  consumer_dependencies_.resize(c_.consumer.size());
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const auto begin = c_.consumer.begin() + c_.rows[op].consumer;
    const auto end = c_.consumer.begin() + c_.rows[op + 1].consumer;
    for (Id e = c_.rows[op].edge; e < c_.rows[op + 1].edge; ++e)
      ++consumer_dependencies_[static_cast<Id>(std::lower_bound(begin, end, c_.edge_consumer[e]) -
                                               c_.consumer.begin())];
  }
}

template <typename Links>
const Outcome* SoloSimulator<Links>::Run(const Placement& placement, std::span<const OpIndex> list) {
  s_.Reset(placement);
  CountTransfers();
  links_.Reset(route_transfers_);
  meter_.Reset();
  light_.Clear();
  listed_ = !list.empty();
  now_ = 0;
  ended_count_ = 0;
  queued_ = 0;
  for (DeviceIndex d = 0; d < c_.devices; ++d) seen_[d] = s_.servers[d].ended;
  if (listed_) {
    s_.SetLists(list);
  } else {
    for (OpIndex op = 0; op < c_.ops; ++op) Satisfy(op, 0, 0);
  }
  for (Moment next = NextPass(); next != EndTree::kNone; next = NextPass()) {
    if (next >= Moments::kTooLate) return nullptr;
    now_ = next;
    Pass();
  }
  BERTH_CHECK_EQ(ended_count_, c_.ops);
  s_.Finish(now_, outcome_);
  meter_.Report(outcome_.links);
  return &outcome_;
}

template <typename Links>
void SoloSimulator<Links>::CountTransfers() {
  std::fill(route_transfers_.begin(), route_transfers_.end(), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = s_.waiting[op].device;
    for (Id i = s_.rows[op].sender; i < s_.rows[op + 1].sender; ++i) {
      if (s_.senders[i].bytes == 0) continue;
      IndexSet reached = no_devices_;
      for (Id e = s_.senders[i].edge; e < s_.senders[i + 1].edge; ++e) {
        const DeviceIndex to = s_.waiting[s_.edges[e].consumer].device;
        reached.Add(to);
        destinations_[to].readers = to != device;
      }
      // With many devices the set may hold some that are not reached.
      reached.Drain([&](DeviceIndex to) {
        route_transfers_[c_.RouteIndex(device, to)] += std::exchange(destinations_[to].readers, 0);
      });
    }
  }
}

// What is due at the instant of this pass is due in the next one.
template <typename Links>
Moment SoloSimulator<Links>::NextPass() const {
  const Moment end = s_.ends.next().moment;
  const Picos due = std::min(links_.next(), light_.next());
  if (due == kNever) return end;
  return std::min(end, due == s_.moments.TimeOf(now_) ? now_ + 1 : s_.moments.At(due));
}

template <typename Links>
void SoloSimulator<Links>::Pass() {
  sending_.clear();
  for (auto next = s_.ends.next(); next.moment == now_; next = s_.ends.next()) EndOp(next.op);
  if (std::min(links_.next(), light_.next()) == s_.moments.TimeOf(now_)) EndTransfers();
  for (const OpIndex op : sending_) QueueTransfers(op);
  StartTransfers();
}

template <typename Links>
void SoloSimulator<Links>::EndOp(OpIndex op) {
  const DeviceIndex device = s_.waiting[op].device;
  ++ended_count_;
  CatchUp(device);
  s_.PopEnd(device);
  if (listed_ || s_.IsCpu(device)) SatisfyLocals(op, device, s_.IsCpu(device) ? now_ : 0);
  if (s_.rows[op].sender < s_.rows[op + 1].sender) sending_.push_back(op);
}

// On an accelerator what is local need only have been issued. In a list it has been, when the turn of its
// reader comes; else its readers become issuable by that. What is issued at this moment is looked at later:
// step 4 comes after all that is processed at it before.
template <typename Links>
void SoloSimulator<Links>::CatchUp(DeviceIndex device) {
  if (listed_ || s_.IsCpu(device)) return;
  std::int32_t& seen = seen_[device];
  while (seen < s_.servers[device].scheduled && issued_[seen] < now_) {
    const std::int32_t place = seen++;
    SatisfyLocals(s_.order[place], device, issued_[place]);
  }
}

template <typename Links>
void SoloSimulator<Links>::SatisfyLocals(OpIndex op, DeviceIndex device, Moment when) {
  for (Id i = s_.rows[op].sender; i < s_.rows[op + 1].sender; ++i) {
    const BlockId block = s_.BlockOf(s_.senders[i]);
    for (Id e = s_.senders[i].edge; e < s_.senders[i + 1].edge; ++e)
      s_.input_block[s_.edges[e].input] = block;
  }
  for (Id i = c_.rows[op].consumer; i < c_.rows[op + 1].consumer; ++i) {
    const OpIndex consumer = c_.consumer[i];
    if (s_.waiting[consumer].device == device) Satisfy(consumer, consumer_dependencies_[i], when);
  }
}

template <typename Links>
inline void SoloSimulator<Links>::Satisfy(OpIndex op, std::int32_t dependencies, Moment when) {
  SoloDevices::Waiting& waiting = s_.waiting[op];
  waiting.known = std::max(waiting.known, when);
  waiting.missing -= dependencies;
  if (waiting.missing > 0) return;
  const SoloDevices::Server& server = s_.servers[waiting.device];
  if (!listed_) {
    const std::int32_t place = server.last;
    issued_[place] = s_.Append(op);
  } else if (server.next == op) {
    s_.ScheduleReady(waiting.device);
  }
}

template <typename Links>
void SoloSimulator<Links>::EndTransfers() {
  transfers_changed_ = true;
  const Picos time = s_.moments.TimeOf(now_);
  arrived_.clear();
  links_.End(time, transfers_, arrived_);
  light_.PopDue(time, arrived_);
  if (arrived_.size() > 1) std::sort(arrived_.begin(), arrived_.end());
  for (const TransferIndex t : arrived_) {
    const Transfer& transfer = planned_[t];
    CatchUp(c_.routes[transfer.route].to);
    BlockId block = SoloDevices::kNothing;
    if (!transfer.light()) {
      meter_.End(transfer, time);
      s_.Hold(sent_block_[t], now_);
      block = copy_block_[t];
    }
    for (Id i = t == 0 ? 0 : planned_[t - 1].readers_end; i < transfer.readers_end; ++i) {
      s_.input_block[readers_[i].input] = block;
      Satisfy(readers_[i].consumer, 1, now_);
    }
  }
}

template <typename Links>
void SoloSimulator<Links>::QueueTransfers(OpIndex op) {
  const DeviceIndex device = s_.waiting[op].device;
  for (Id i = s_.rows[op].sender; i < s_.rows[op + 1].sender; ++i) {
    const Sender& sender = s_.senders[i];
    const Id edges_end = s_.senders[i + 1].edge;
    IndexSet reached = no_devices_;
    for (Id e = sender.edge; e < edges_end; ++e) {
      const DeviceIndex to = s_.waiting[s_.edges[e].consumer].device;
      reached.Add(to);
      ++destinations_[to].readers;
    }
    reached.Drain([&](DeviceIndex to) {
      Destination& destination = destinations_[to];
      const Id readers = std::exchange(destination.readers, 0);
      if (to == device || readers == 0) return;
      destination.next = queued_ == 0 ? 0 : planned_[queued_ - 1].readers_end;
      const TransferIndex t = MakeTransfer(op, sender, device, to, destination.next + readers);
      const Transfer& transfer = planned_[t];
      if (transfer.light()) {
        light_.Push(s_.moments.TimeOf(now_) + c_.routes[transfer.route].latency, t);
      } else {
        links_.Queue(t, transfer);
      }
    });
    for (Id e = sender.edge; e < edges_end; ++e) {
      const DeviceIndex to = s_.waiting[s_.edges[e].consumer].device;
      if (to != device) readers_[destinations_[to].next++] = s_.edges[e];
    }
  }
}

template <typename Links>
TransferIndex SoloSimulator<Links>::MakeTransfer(OpIndex op, const Sender& sender, DeviceIndex from,
                                                 DeviceIndex to, Id readers_end) {
  transfers_changed_ = true;
  Transfer& transfer = planned_[queued_];
  transfer.bytes = sender.bytes;
  transfer.producer = op;
  transfer.output = sender.output;
  transfer.route = c_.RouteIndex(from, to);
  transfer.readers_end = readers_end;
  transfer.move = sender.bytes == 0 ? 0 : c_.MoveTime(c_.routes[transfer.route], sender.output);
  sent_block_[queued_] = s_.BlockOf(sender);
  return queued_++;
}

template <typename Links>
void SoloSimulator<Links>::StartTransfers() {
  if (!transfers_changed_) return;
  transfers_changed_ = false;
  const Picos time = s_.moments.TimeOf(now_);
  started_.clear();
  links_.Start(time, transfers_, started_);
  for (const TransferIndex t : started_) {
    const Transfer& transfer = planned_[t];
    meter_.Start(transfer, time);
    copy_block_[t] =
        s_.Allocate(now_, now_, transfer.bytes, c_.routes[transfer.route].to, ~transfer.producer);
  }
}

}  // namespace berth::sim
