// The steps of NativeSimulator that concern ops: they end, are issued and start. Part of simulator.h.
#pragma once

#include "sim/native/simulator.h"

namespace berth::sim {

// ---- 1 and 3: ops end, storages are freed -----------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::EndOps(DeviceIndex device) {
  DeviceState& state = s_.devices[device];
  const std::int32_t shared = kinds_[device].shared;
  state.end = kNever;
  if (shared < 0) {
    state.busy += s_.now - state.since;
    s_.memory.Settle(device, before_);
    EndOp(std::exchange(state.running, -1), device);
    return;
  }
  ended_.clear();
  s_.shared[shared].PopEnded(s_.now, ended_);
  rates_to_update_.Add(device);
  if (s_.shared[shared].running() == 0) state.busy += s_.now - state.since;
  for (const OpIndex op : ended_) EndOp(op, device);
}

template <typename Links>
void NativeSimulator<Links>::EndOp(OpIndex op, DeviceIndex device) {
  const DeviceKind kind = kinds_[device];
  const Compiled::OpRow &row = c_.rows[op], &next = c_.rows[op + 1];
  ++s_.ended_ops;
  if (log_ != nullptr) log_->ended[op] = log_->now;
  if (RecordsOps()) TimesOf(op).end = s_.now;
  if (shared_thread_ && s_.threads[0].waiting == op) s_.threads[0].waiting = -1;
  if (!kind.in_order || kind.cpu) {
    CatchUp(device);
    for (Id i = row.consumer; i < plan_.locals_end[op]; ++i) {
      if (!kind.in_order) --s_.counts.unfinished[plan_.locals[i]];
      if (kind.cpu) Satisfy(plan_.locals[i]);
    }
  }
  if (plan_.transfers_end[op] > row.edge) sending_.push_back(op);
  s_.memory.Free(s_.now, device, op, OutOfMemory::What::kOutput, s_.memory.Rounded(device, row.workspace),
                 before_);
  for (Id o = row.output; o < next.output; ++o) Release(o);
  for (Id i = row.input; i < next.input; ++i) Release(plan_.input_storage[i]);
}

template <typename Links>
void NativeSimulator<Links>::Release(StorageId storage) {
  if (--s_.counts.holders[storage] == 0) FreeStorage(storage);
}

template <typename Links>
void NativeSimulator<Links>::FreeStorage(StorageId storage) {
  if (plan_.IsCopy(storage)) {
    const Transfer& transfer = plan_.transfers[plan_.TransferOf(storage)];
    const DeviceIndex to = c_.routes[transfer.route].to;
    s_.memory.Free(s_.now, to, transfer.producer, OutOfMemory::What::kCopy,
                   s_.memory.Rounded(to, transfer.bytes), before_);
    return;
  }
  const OpIndex op = c_.output_producer[storage];
  const DeviceIndex device = s_.counts.ops[op].device;
  s_.memory.Free(s_.now, device, op, OutOfMemory::What::kOutput,
                 s_.memory.Rounded(device, c_.output_storage[storage]), before_);
  // A view holds what it shares as one that is held itself.
  if (const Id shares = c_.output_shares[storage]; shares != Compiled::kNone)
    Release(plan_.input_storage[shares]);
}

// In steps 1 and 2; the thread must be run in step 4.
template <typename Links>
void NativeSimulator<Links>::Satisfy(OpIndex op) {
  Counts::OpState& state = s_.counts.ops[op];
  if (--state.missing > 0) return;
  s_.issuable.BecomesIssuable(ThreadOf(state.device), op);
}

// ---- 4: issues --------------------------------------------------------------------------------------------

// Before an op of the device learns in step 1 or 2 that something has ended: its thread does what it had to do
// earlier.
template <typename Links>
void NativeSimulator<Links>::CatchUp(DeviceIndex device) {
  if (!catch_up_) return;
  const ThreadState& thread = s_.threads[device];
  if (thread.issuing >= 0 && thread.due < before_) RunThread(device);
}

// Lets a thread finish what is due before `before_` and take what it can.
template <typename Links>
void NativeSimulator<Links>::RunThread(std::int32_t index) {
  ThreadState& thread = s_.threads[index];
  Picos at = s_.now;
  if (thread.issuing >= 0) {
    if (thread.due >= before_) return;
    at = thread.due;
    FinishIssue(index, std::exchange(thread.issuing, -1), at);
  }
  while (thread.waiting < 0 && s_.issuable.HasNext(index, s_.counts)) {
    const OpIndex op = s_.issuable.Take(index);
    if (log_ != nullptr) log_->taken[op] = log_->now;
    const Picos cost = c_.dispatch_cost[s_.counts.ops[op].device] * c_.rows[op].dispatch_ops;
    if (cost > 0 && at + cost >= before_) {
      thread.issuing = op;
      thread.due = at + cost;
      break;
    }
    at += cost;
    FinishIssue(index, op, at);
  }
  if (shared_thread_) {
    s_.events.Set(ProcessTimer(), thread.issuing < 0 ? kNever : thread.due);
  } else {
    devices_to_start_.Add(index);
  }
}

template <typename Links>
void NativeSimulator<Links>::FinishIssue(std::int32_t index, OpIndex op, Picos at) {
  const DeviceIndex device = s_.counts.ops[op].device;
  if (!std::exchange(s_.threads[index].started, false)) s_.queue[s_.devices[device].tail++] = op;
  if (shared_thread_) devices_to_start_.Add(device);
  if (RecordsOps()) TimesOf(op).issue = at;
  if (log_ != nullptr) log_->issued[op] = log_->now;
  if (kinds_[device].cpu) {
    if (shared_thread_) s_.threads[index].waiting = op;
    return;
  }
  for (Id i = c_.rows[op].consumer; i < plan_.locals_end[op]; ++i) {
    const OpIndex consumer = plan_.locals[i];
    if (--s_.counts.ops[consumer].missing == 0) s_.issuable.BecomesIssuable(index, consumer);
  }
}

// ---- 5: starts --------------------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::StartOps(DeviceIndex device) {
  DeviceState& state = s_.devices[device];
  const DeviceKind kind = kinds_[device];
  if (kind.shared < 0) {
    if (state.running < 0 && state.head < state.tail) {
      state.running = s_.queue[state.head++];
      state.since = s_.now;
      state.end = s_.now + c_.CostOf(state.running, device);
      starting_.push_back(state.running);
    } else if (state.running < 0 && catch_up_ && s_.threads[device].issuing >= 0) {
      StartIssuing(device);
    }
    SetTimer(device);
    return;
  }
  SharedDevice& shared = s_.shared[kind.shared];
  while (state.head < state.tail && !shared.full()) {
    const OpIndex op = s_.queue[state.head];
    if (!kind.in_order && s_.counts.unfinished[op] > 0) break;
    ++state.head;
    if (shared.running() == 0) state.since = s_.now;
    shared.Start(s_.now, op, c_.CostOf(op, device));
    rates_to_update_.Add(device);
    starting_.push_back(op);
  }
  SetTimer(device);
}

// The device has nothing to do until its thread has issued `issuing`: that op starts then, in the first pass
// of that instant. One that takes no time does not, because it would then have to end in the second.
template <typename Links>
void NativeSimulator<Links>::StartIssuing(DeviceIndex device) {
  DeviceState& state = s_.devices[device];
  ThreadState& thread = s_.threads[device];
  const Picos cost = c_.CostOf(thread.issuing, device);
  if (cost == 0) return;
  thread.started = true;
  state.running = thread.issuing;
  state.since = thread.due;
  state.end = thread.due + cost;
  if (RecordsOps()) TimesOf(state.running).start = state.since;
  s_.memory.Announce(device, OutputRequest(state.running, device, state.since, 1));
}

template <typename Links>
void NativeSimulator<Links>::SetTimer(DeviceIndex device) {
  const DeviceState& state = s_.devices[device];
  Picos next = state.end;
  if (!shared_thread_) {
    const ThreadState& thread = s_.threads[device];
    const bool left_behind = CatchesUp(device) && state.running >= 0;
    if (thread.issuing >= 0 && !left_behind) next = std::min(next, thread.due);
  }
  s_.events.Set(device, next);
}

template <typename Links>
MemoryTracker::Request NativeSimulator<Links>::OutputRequest(OpIndex op, DeviceIndex device, Picos time,
                                                             std::int32_t pass) const {
  Bytes bytes = s_.memory.Rounded(device, c_.rows[op].workspace);
  for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o)
    bytes += s_.memory.Rounded(device, c_.output_storage[o]);
  return {time, {pass, 5, op}, op, OutOfMemory::What::kOutput, bytes};
}

template <typename Links>
void NativeSimulator<Links>::AllocateStarted() {
  if (starting_.size() > 1) std::sort(starting_.begin(), starting_.end());
  for (const OpIndex op : starting_) {
    if (RecordsOps()) TimesOf(op).start = s_.now;
    const DeviceIndex device = s_.counts.ops[op].device;
    s_.memory.Allocate(device, OutputRequest(op, device, s_.now, s_.pass), before_);
  }
}

// The rates in force from the end of a pass on, and the ends of ops under them.
template <typename Links>
void NativeSimulator<Links>::UpdateRates() {
  rates_to_update_.Drain([&](DeviceIndex device) {
    if (kinds_[device].shared < 0) return;
    s_.devices[device].end = s_.shared[kinds_[device].shared].Update(s_.now);
    SetTimer(device);
  });
}

}  // namespace berth::sim
