// The steps of NativeSimulator that concern transfers: they end, queue and start. Part of simulator.h.
#pragma once

#include "sim/native/simulator.h"

namespace berth::sim {

// ---- 2 and 3: transfers end, storages are freed -----------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::EndTransfers() {
  transfers_changed_ = true;
  arrived_.clear();
  s_.links.End(s_.now, transfers_, arrived_);
  s_.light.PopDue(s_.now, arrived_);
  if (arrived_.size() > 1) std::sort(arrived_.begin(), arrived_.end());
  for (const TransferIndex index : arrived_) {
    if (timeline_) TimesOfTransfer(index).end = s_.now;
    const Id slot = s_.queued[index];
    if (log_ != nullptr) log_->arrived[slot] = log_->now;
    const Transfer& transfer = plan_.transfers[slot];
    const DeviceIndex to = c_.routes[transfer.route].to;
    CatchUp(to);
    threads_to_run_.Add(ThreadOf(to));
    for (Id i = slot; i < transfer.readers_end; ++i) Satisfy(plan_.readers[i]);
    if (transfer.light()) continue;
    s_.meter.End(transfer, s_.now);
    if (!s_.shared.empty()) AddCopies(transfer, -1);
    Release(transfer.output);
  }
}

template <typename Links>
void NativeSimulator<Links>::AddCopies(const Transfer& transfer, int change) {
  const Compiled::Route& route = c_.routes[transfer.route];
  if (transfer.move + route.latency == 0) return;
  for (const DeviceIndex device : {route.from, route.to}) {
    if (kinds_[device].shared < 0) continue;
    s_.shared[kinds_[device].shared].AddCopies(s_.now, change);
    rates_to_update_.Add(device);
  }
}

// ---- 6: transfers queue -----------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::QueueTransfers() {
  if (sending_.empty()) return;
  transfers_changed_ = true;
  if (sending_.size() > 1) std::sort(sending_.begin(), sending_.end());
  for (const OpIndex op : sending_) {
    for (Id slot = c_.rows[op].edge; slot < plan_.transfers_end[op];
         slot = plan_.transfers[slot].readers_end) {
      const Transfer& transfer = plan_.transfers[slot];
      const Compiled::Route& route = c_.routes[transfer.route];
      const auto index = static_cast<TransferIndex>(s_.queued.size());
      s_.queued.push_back(slot);
      if (timeline_) {
        const Id output = transfer.output == Compiled::kNone ? -1 : transfer.output - c_.rows[op].output;
        const Picos start = transfer.light() ? s_.now : 0;
        outcome_.transfers.push_back({{op, output}, route.from, route.to, transfer.bytes, s_.now, start, 0});
      }
      if (transfer.light()) {
        s_.light.Push(s_.now + route.latency, index);
      } else {
        s_.links.Queue(index, transfer);
      }
    }
  }
}

// ---- 7: transfers start -----------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::StartTransfers() {
  if (!transfers_changed_) return;
  transfers_changed_ = false;
  started_.clear();
  s_.links.Start(s_.now, transfers_, started_);
  for (const TransferIndex index : started_) {
    if (timeline_) TimesOfTransfer(index).start = s_.now;
    const Transfer& transfer = transfers_[index];
    const DeviceIndex to = c_.routes[transfer.route].to;
    s_.meter.Start(transfer, s_.now);
    s_.memory.Allocate(to,
                       {s_.now,
                        {s_.pass, 7, index},
                        transfer.producer,
                        OutOfMemory::What::kCopy,
                        s_.memory.Rounded(to, transfer.bytes)},
                       before_);
    if (!s_.shared.empty()) AddCopies(transfer, 1);
  }
  s_.events.Set(TransferTimer(), std::min(s_.light.next(), s_.links.next()));
}

}  // namespace berth::sim
