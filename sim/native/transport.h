// Transfers carry what ops on other devices need over the links (docs/model.md section 4). A layer of a run (run.h).
//
// Booked links (links/booked_links.h) know the start and the end of a transfer when it queues. Others find them step by
// step (links/queued_links.h); light transfers are booked everywhere, as they share nothing.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sim/native/host_threads.h"
#include "sim/native/transfers.h"

namespace stowplan::sim {

template <typename Links, typename Moment>
class Transport : protected HostThreads<Moment> {
 public:
  static constexpr bool kBooked = Links::kBooked;

  // links: constructed from what make_links() returns.
  template <typename MakeLinks>
  Transport(const Problem& problem, const Moments<Moment>& moments, const MakeLinks& make_links)
      : HostThreads(problem, moments),
        links_(make_links()),
        reached_(c_.devices),
        arrivals_(static_cast<std::size_t>(c_.devices)),
        readers_to_(static_cast<std::size_t>(c_.devices)) {
    if (kBooked && Devices::slowed_by_copies()) copies_.reserve(2 * c_.most_transfers);
    if (kBooked) return;
    transfers_.resize(c_.most_transfers);
    copy_.resize(c_.most_transfers);
    readers_.resize(c_.edges.size());
    for (auto* list : {&arrived_, &started_}) list->reserve(c_.most_transfers);
  }

  void Reset() {
    links_.Reset();
    copies_.clear();
    queued_ = readers_end_ = 0;
    changed_ = false;
  }
  // When something is due that is no event of the clock.
  Moment Next() const {
    Moment next = copies_.empty() ? kNone : copies_.front().moment;
    if constexpr (!kBooked) {
      if (const Picos due = links_.next(); due != kNever) next = std::min(next, moments_.Due(due, now_));
    }
    return next;
  }

  // What an op that has ended sends. To the readers' devices in their order; then each reader learns when it arrives, if
  // that is known. By what is ready those on the op's device too.
  template <Way kWay>
  void Send(OpIndex op, DeviceIndex device) {
    const Id senders_end = c_.rows[op + 1].sender;
    for (Id i = c_.rows[op].sender; i < senders_end; ++i) {
      SendToMany<kWay>(op, device, c_.senders[i], [this, i](const auto& visit) {
        for (Id e = c_.senders[i].edge; e < c_.senders[i + 1].edge; ++e) visit(e);
      });
    }
  }
  // By lists: what it has readers for on other devices.
  void SendRemote(OpIndex op, DeviceIndex device) {
    const std::span<const Id> edges = HostThreads::RemoteEdges(op);
    Id i = c_.rows[op].sender;
    const bool one_sender = i + 1 == c_.rows[op + 1].sender;
    for (auto first = edges.begin(); first != edges.end();) {
      auto end = edges.end();
      if (!one_sender) {
        while (c_.senders[i + 1].edge <= *first) ++i;
        for (end = first + 1; end != edges.end() && *end < c_.senders[i + 1].edge;) ++end;
      }
      if (end - first == 1) {
        Tell<Way::kByList>(c_.edges[*first], MakeTransfer(op, c_.senders[i], device, DeviceAt(*first), 1));
      } else {
        SendToMany<Way::kByList>(op, device, c_.senders[i], [first, end](const auto& visit) {
          for (auto e = first; e != end; ++e) visit(*e);
        });
      }
      first = end;
    }
  }
  void SendByPass(OpIndex op) {
    const DeviceIndex device = HostThreads::DeviceOf(op);
    if (HostThreads::MaySend(op, device)) Send<Way::kByPass>(op, device);
  }
  // Those due now, where links are not booked.
  template <Way kWay>
  void EndTransfers() {
    if constexpr (!kBooked) {
      if (links_.next() != now_time()) return;
      changed_ = true;
      arrived_.clear();
      links_.End(now_time(), transfers_, arrived_);
      for (const TransferIndex t : arrived_) {
        const Transfer& transfer = transfers_[t];
        Memory::EndCopy(copy_[t], now_);
        if (Devices::slowed_by_copies()) AddCopies(transfer.route, transfer.move, -1);
        Recorder::RecordTransferEnd(t);
        for (Id i = transfer.first_reader; i < transfer.readers_end; ++i) {
          Memory::SetInput(readers_[i].input, copy_[t]);
          HostThreads::template Satisfy<kWay>(readers_[i].consumer, now_, t);
        }
      }
    }
  }
  void StartTransfers() {
    if constexpr (!kBooked) {
      if (!std::exchange(changed_, false)) return;
      started_.clear();
      links_.Start(now_time(), transfers_, started_);
      for (const TransferIndex t : started_) {
        const Transfer& transfer = transfers_[t];
        copy_[t] = Memory::AddCopy(c_.senders[transfer.sender], transfer.producer,
                                   c_.routes[transfer.route].to, now_, now_);
        if (Devices::slowed_by_copies()) AddCopies(transfer.route, transfer.move, 1);
        Recorder::RecordTransferStart(t);
      }
    }
  }
  // Copies that slow ops down, where they were booked to begin and end now.
  void CountCopies() {
    while (!copies_.empty() && copies_.front().moment <= now_) {
      AddCopies(copies_.front().route, copies_.front().move, copies_.front().change);
      std::pop_heap(copies_.begin(), copies_.end(), std::greater<>());
      copies_.pop_back();
    }
  }

  void Report(std::vector<LinkUse>& links) const { links_.Report(links); }

 protected:
  using Clock = sim::Clock<Moment>;
  using Recorder = sim::Recorder<Moment>;
  using Memory = sim::Memory<Moment>;
  using Devices = sim::Devices<Moment>;
  using HostThreads = sim::HostThreads<Moment>;
  using Clock::c_, Clock::kNone, Clock::moments_, Clock::now_, Clock::now_time, typename Clock::Id;

 private:
  struct Arrival {  // of an output on a device
    Moment when;
    BlockId copy;
    std::int32_t number;
  };
  struct CopyEvent {
    Moment moment;
    Picos move;
    Id route;
    int change;
    friend bool operator>(const CopyEvent& a, const CopyEvent& b) { return a.moment > b.moment; }
  };

  DeviceIndex DeviceAt(Id edge) const { return HostThreads::DeviceOf(c_.edges[edge].consumer); }
  // for_each_edge(visit) calls visit() for edges of the sender.
  template <Way kWay, typename ForEachEdge>
  void SendToMany(OpIndex op, DeviceIndex device, const Compiled::Sender& sender,
                  const ForEachEdge& for_each_edge) {
    constexpr bool kLocals = kWay == Way::kByReady;  // among those that are told
    for_each_edge([&](Id e) {
      const DeviceIndex to = DeviceAt(e);
      if (kWay == Way::kByPass && to == device) return;
      reached_.Add(to);
      if (!kBooked) ++readers_to_[to];
    });
    reached_.Drain([&](DeviceIndex to) {
      const Id readers = kBooked ? 0 : std::exchange(readers_to_[to], 0);
      arrivals_[to] = kLocals && to == device ? Arrival{HostThreads::LocalsKnown(device), Memory::kLocal,
                                                        HostThreads::LocalsNumber(device)}
                                              : MakeTransfer(op, sender, device, to, readers);
    });
    for_each_edge([&](Id e) {
      const DeviceIndex to = DeviceAt(e);
      if (kWay != Way::kByPass || to != device) Tell<kWay>(c_.edges[e], arrivals_[to]);
    });
  }
  // A reader learns when it arrives, or is noted where that is not known.
  template <Way kWay>
  void Tell(const Compiled::Edge& edge, const Arrival& arrival) {
    if (!kBooked && arrival.when == kNone) {
      readers_[transfers_[arrival.number].readers_end++] = edge;
      return;
    }
    Memory::SetInput(edge.input, arrival.copy);
    HostThreads::template Satisfy<kWay>(edge.consumer, arrival.when, arrival.number);
  }

  // Inlined by request: a call for each transfer costs several percent of a run.
  [[gnu::always_inline]] Arrival MakeTransfer(OpIndex op, const Compiled::Sender& sender, DeviceIndex from,
                                              DeviceIndex to, Id readers) {
    const Id route = c_.RouteIndex(from, to);
    const TransferIndex number = queued_++;
    if (sender.bytes == 0) {
      const Moment end = moments_.End(now_, c_.routes[route].latency);
      Recorder::RecordTransfer(op, sender, route, now_, end);
      return {end, kNoBlock, number};
    }
    if constexpr (kBooked) {
      const auto [start, end] = links_.Book(route, sender.output, sender.bytes, now_);
      if (Devices::slowed_by_copies()) BookCopies(route, start, end);
      Recorder::RecordTransfer(op, sender, route, start, end);
      return {end, Memory::AddCopy(sender, op, to, start, end), number};
    } else {
      const Picos move = c_.MoveTime(c_.routes[route], sender.output);
      const auto place = static_cast<Id>(&sender - c_.senders.data());
      transfers_[number] = {move, sender.bytes, op, place, route, readers_end_, readers_end_};
      readers_end_ += readers;
      links_.Queue(number, transfers_[number]);
      changed_ = true;
      Recorder::RecordTransfer(op, sender, route, 0, 0);
      return {kNone, kNoBlock, number};
    }
  }
  void AddCopies(Id index, Picos move, int change) {
    const Compiled::Route& route = c_.routes[index];
    if (move + route.latency == 0) return;
    for (const DeviceIndex device : {route.from, route.to}) Devices::AddCopies(device, change);
  }
  // They begin and end later.
  void BookCopies(Id route, Moment start, Moment end) {
    const Picos move = moments_.TimeOf(end) - moments_.TimeOf(start) - c_.routes[route].latency;
    for (const CopyEvent event : {CopyEvent{start, move, route, 1}, CopyEvent{end, move, route, -1}}) {
      copies_.push_back(event);
      std::push_heap(copies_.begin(), copies_.end(), std::greater<>());
    }
  }

  Links links_;
  TransferIndex queued_ = 0;       // so many transfers have
  std::vector<CopyEvent> copies_;  // booked; a heap

  // Of links that are not booked.
  Transfers transfers_;
  ById<BlockId> copy_;            // by transfer that has started
  ById<Compiled::Edge> readers_;  // of transfers in turn
  Id readers_end_ = 0;
  bool changed_ = false;

  // Scratch.
  IndexSet reached_;        // of one sender
  ById<Arrival> arrivals_;  // of one sender, by device
  ById<Id> readers_to_;     // of one sender, by device, where links are not booked
  std::vector<TransferIndex> arrived_, started_;
};

}  // namespace stowplan::sim
