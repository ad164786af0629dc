// The part of NativeRun that sends what ops on other devices need (docs/model.md section 4). Internal to
// sim/native/.
#pragma once

#include <algorithm>
#include <utility>

#include "sim/native/run.h"

namespace stowplan::sim {

template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::SendAll(OpIndex op) {
  const DeviceIndex device = waiting_[op].device;
  // What was known at its issue: nobody else reads it.
  if (!locals_at_end_ && !kinds_[device].cpu && sends_[op] == 0) return;
  if constexpr (Links::kBooked) {
    Send<Way::kByPass>(op, device);
  } else {
    QueueTransfers(op, device);
  }
}

// To the readers' devices in their order; then each reader learns when it arrives, those on the op's device too but pass
// by pass.
template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::Send(OpIndex op, DeviceIndex device) {
  const Id senders_end = c_.rows[op + 1].sender;
  for (Id i = c_.rows[op].sender; i < senders_end; ++i) {
    const typename Compiled::Sender& sender = c_.senders[i];
    const Id edges_end = c_.senders[i + 1].edge;
    IndexSet reached = no_devices_;
    for (Id e = sender.edge; e < edges_end; ++e) {
      const DeviceIndex to = waiting_[c_.edges[e].consumer].device;
      reached.Add(to);
      arrivals_[to].when = kNone;
    }
    reached.Drain([&](DeviceIndex to) {
      Arrival& arrival = arrivals_[to];
      if (to == device) {
        arrival = kWay == Way::kByList ? Arrival{kinds_[device].cpu ? now_ : 0, BlockOf(sender), 0}
                                       : Arrival{LocalsKnown(device), BlockOf(sender), LocalsNumber(device)};
      } else if (arrival.when == kNone) {
        arrival = MakeTransfer(op, sender, device, to);
      }
    });
    for (Id e = sender.edge; e < edges_end; ++e) {
      const typename Compiled::Edge edge = c_.edges[e];
      const DeviceIndex to = waiting_[edge.consumer].device;
      if (kWay == Way::kByPass && to == device) continue;
      const Arrival& arrival = arrivals_[to];
      input_block_[edge.input] = arrival.block;
      Satisfy<kWay>(edge.consumer, arrival.when, arrival.number);
    }
  }
}

// Inlined by request: a call for each transfer costs several percent of a run.
template <typename Links, typename Moment>
[[gnu::always_inline]] inline auto NativeRun<Links, Moment>::MakeTransfer(
    OpIndex op, const typename Compiled::Sender& sender, DeviceIndex from, DeviceIndex to) -> Arrival {
  const Id route = c_.RouteIndex(from, to);
  if (timeline_) RecordTransfer(op, sender, route);
  const TransferIndex number = queued_++;
  if (sender.bytes == 0) {
    const Moment end = moments_.End(now_, c_.routes[route].latency);
    if (timeline_) RecordTimes(number, kNothing, now_, end);
    return {end, kNothing, number};
  }
  if constexpr (Links::kBooked) {
    const auto [start, end] = links_.Book(route, sender.output, sender.bytes, now_);
    Hold(BlockOf(sender), end);
    if (counts_copies_) BookCopies(route, start, end);
    if (timeline_) RecordTimes(number, BlockOf(sender), start, end);
    return {end, Allocate(start, start, sender.bytes, to, ~op), number};
  }
  return {kNone, kNothing, number};
}

// ---- links that are not booked ------------------------------------------------------------------------------

// Light transfers are: they share nothing.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::QueueTransfers(OpIndex op, DeviceIndex device) {
  const Id senders_end = c_.rows[op + 1].sender;
  for (Id i = c_.rows[op].sender; i < senders_end; ++i) {
    const typename Compiled::Sender& sender = c_.senders[i];
    const Id edges_end = c_.senders[i + 1].edge;
    IndexSet reached = no_devices_;
    for (Id e = sender.edge; e < edges_end; ++e) {
      const DeviceIndex to = waiting_[c_.edges[e].consumer].device;
      reached.Add(to);
      ++queueing_[to].readers;
    }
    reached.Drain([&](DeviceIndex to) {
      const Id readers = std::exchange(queueing_[to].readers, 0);
      if (to == device || readers == 0) return;
      arrivals_[to] = QueueTransfer(op, sender, device, to, readers);
      queueing_[to].next = FirstReader(arrivals_[to].number);
    });
    for (Id e = sender.edge; e < edges_end; ++e) {
      const typename Compiled::Edge edge = c_.edges[e];
      const DeviceIndex to = waiting_[edge.consumer].device;
      if (to == device) continue;
      if (sender.bytes > 0) {
        readers_[queueing_[to].next++] = edge;
      } else {
        input_block_[edge.input] = kNothing;
        Satisfy<Way::kByPass>(edge.consumer, arrivals_[to].when, arrivals_[to].number);
      }
    }
  }
}

template <typename Links, typename Moment>
auto NativeRun<Links, Moment>::QueueTransfer(OpIndex op, const typename Compiled::Sender& sender,
                                             DeviceIndex from, DeviceIndex to, Id readers) -> Arrival {
  const Arrival arrival = MakeTransfer(op, sender, from, to);
  Transfer& transfer = transfers_[arrival.number];
  transfer.readers_end = FirstReader(arrival.number);
  if (sender.bytes == 0) return arrival;
  transfer.readers_end += readers;
  transfer.route = c_.RouteIndex(from, to);
  transfer.bytes = sender.bytes;
  transfer.producer = op;
  transfer.move = c_.MoveTime(c_.routes[transfer.route], sender.output);
  sent_block_[arrival.number] = BlockOf(sender);
  links_.Queue(arrival.number, transfer);
  transfers_changed_ = true;
  return arrival;
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::EndTransfers() {
  transfers_changed_ = true;
  arrived_.clear();
  links_.End(now_time(), transfers_, arrived_);
  for (const TransferIndex t : arrived_) {
    const Transfer& transfer = transfers_[t];
    Hold(sent_block_[t], now_);
    if (counts_copies_) AddCopies(transfer.route, transfer.move, -1);
    if (timeline_) RecordTimes(t, sent_block_[t], moments_.At(TimesOfTransfer(t).start), now_);
    for (Id i = FirstReader(t); i < transfer.readers_end; ++i) {
      input_block_[readers_[i].input] = copy_block_[t];
      Satisfy<Way::kByPass>(readers_[i].consumer, now_, t);
    }
  }
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::StartTransfers() {
  if (!std::exchange(transfers_changed_, false)) return;
  started_.clear();
  links_.Start(now_time(), transfers_, started_);
  for (const TransferIndex t : started_) {
    const Transfer& transfer = transfers_[t];
    copy_block_[t] = Allocate(now_, now_, transfer.bytes, c_.routes[transfer.route].to, ~transfer.producer);
    if (counts_copies_) AddCopies(transfer.route, transfer.move, 1);
    if (timeline_) TimesOfTransfer(t).start = now_time();
  }
}

// ---- copies that slow ops down ------------------------------------------------------------------------------

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::AddCopies(Id index, Picos move, int change) {
  const typename Compiled::Route& route = c_.routes[index];
  if (move + route.latency == 0) return;
  for (const DeviceIndex device : {route.from, route.to}) {
    if (IsAlone(device)) continue;
    shared_[kinds_[device].shared].AddCopies(now_time(), change);
    rates_to_update_.Add(device);
  }
}

// Booked: they begin and end later.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::BookCopies(Id route, Moment start, Moment end) {
  const Picos move = moments_.TimeOf(end) - moments_.TimeOf(start) - c_.routes[route].latency;
  for (const CopyEvent event : {CopyEvent{start, move, route, 1}, CopyEvent{end, move, route, -1}}) {
    copies_.push_back(event);
    std::push_heap(copies_.begin(), copies_.end(), std::greater<>());
  }
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::TakeCopyEvents() {
  while (!copies_.empty() && copies_.front().moment <= now_) {
    AddCopies(copies_.front().route, copies_.front().move, copies_.front().change);
    std::pop_heap(copies_.begin(), copies_.end(), std::greater<>());
    copies_.pop_back();
  }
}

}  // namespace stowplan::sim
