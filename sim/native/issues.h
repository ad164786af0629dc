// The part of NativeRun in which threads issue ops and devices run them (docs/model.md sections 2 and 3).
// Internal to sim/native/.
#pragma once

#include <algorithm>

#include "sim/native/run.h"

namespace stowplan::sim {

// ---- dependencies -------------------------------------------------------------------------------------------

// One dependency of an op is known to be satisfied at a moment, which may be yet to come.
template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::SatisfyListed(OpIndex op, Moment when) {
  constexpr bool kShort = kWay != Way::kByPass;
  Waiting& waiting = waiting_[op];
  waiting.known = std::max(waiting.known, when);
  if (--waiting.missing > 0) return;
  const std::int32_t index = kShort ? waiting.device : ThreadOf(waiting.device);
  const Thread& thread = threads_[index];
  if (thread.next == op && (kShort || thread.waits_for < 0)) IssueList<kWay>(index);
}

template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::Satisfy(OpIndex op, Moment when, std::int32_t number) {
  if (kWay == Way::kByList || (kWay == Way::kByPass && listed_)) return SatisfyListed<kWay>(op, when);
  Waiting& waiting = waiting_[op];
  if (when > waiting.known || (when == waiting.known && number > last_known_[op])) {
    waiting.known = when;
    last_known_[op] = number;
  }
  if (--waiting.missing == 0) MakeIssuable<kWay>(op);
}

template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::MakeIssuable(OpIndex op) {
  const DeviceIndex device = waiting_[op].device;
  const std::int32_t thread = kWay == Way::kByReady ? device : ThreadOf(device);
  if (kWay == Way::kByReady) {  // what is ready is not next in memory, as it is with most lists
    __builtin_prefetch(&c_.rows[op]);
    __builtin_prefetch(c_.CostAt(op, device));
  }
  issuable_.Add(thread, op, waiting_[op].known, last_known_[op]);
  threads_to_run_.AddIf(kWay == Way::kByPass || !IsBusy(thread), thread);
}

// The dependencies on an op from its own device; false if it has no others.
template <typename Links, typename Moment>
inline bool NativeRun<Links, Moment>::SatisfyLocals(OpIndex op, DeviceIndex device, Moment when,
                                                    std::int32_t number) {
  bool others = false;
  const Id senders_end = c_.rows[op + 1].sender;
  for (Id i = c_.rows[op].sender; i < senders_end; ++i) {
    const BlockId block = BlockOf(c_.senders[i]);
    const Id edges_end = c_.senders[i + 1].edge;
    for (Id e = c_.senders[i].edge; e < edges_end; ++e) {
      const typename Compiled::Edge edge = c_.edges[e];
      if (waiting_[edge.consumer].device != device) {
        others = true;
        continue;
      }
      input_block_[edge.input] = block;
      Satisfy<Way::kByPass>(edge.consumer, when, number);
    }
  }
  return others;
}

// ---- threads ------------------------------------------------------------------------------------------------

// The next op of a thread's list, for which nothing is missing, and all behind it that are as far. The list must not
// have moved on while locals are satisfied, or they would be issued from in there.
template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::IssueList(std::int32_t index) {
  Thread& thread = threads_[index];
  do {
    const OpIndex op = thread.next;
    Issue<kWay>(op, index, std::max(thread.free, waiting_[op].known));
    thread.next = ++thread.place < thread.last ? list_[thread.place] : Nobody();
  } while (waiting_[thread.next].missing == 0 && (kWay != Way::kByPass || thread.waits_for < 0));
}

// Without lists: a thread takes what it can up to now, and an idle one is called again when it can take the next.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::RunThread(std::int32_t index) {
  if (listed_) return;
  const bool own_alone = !one_thread_ && IsAlone(index);
  if (own_alone) return IsBusy(index) ? void() : RunAlone<Way::kByPass>(index);
  Thread& thread = threads_[index];
  Moment next = kNone;
  while (!issuable_.empty(index) && thread.waits_for < 0) {
    next = std::max(thread.free, issuable_.Earliest(index));
    if (next > now_) break;
    Issue<Way::kByPass>(issuable_.Take(index, next), index, next);
    next = kNone;
  }
  if (one_thread_) {
    events_.Set(c_.devices, {next, c_.ops + c_.devices});
  } else {
    devices_to_start_.Add(index);
  }
}

// The thread of an idle device that works alone takes one op. The next one has time until that ends: what it took
// meanwhile would not be started before.
template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::RunAlone(std::int32_t index) {
  if (issuable_.empty(index)) return events_.SetNone(index);
  const Moment next = std::max(threads_[index].free, issuable_.Earliest(index));
  if (next > now_) return events_.Set(index, {next, c_.ops + index});
  Issue<kWay>(issuable_.Take(index, next), index, next);
}

template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
inline void NativeRun<Links, Moment>::Issue(OpIndex op, std::int32_t index, Moment at) {
  constexpr bool kShort = kWay != Way::kByPass;
  const DeviceIndex device = kShort ? index : waiting_[op].device;
  Thread& thread = threads_[index];
  const Moment issued = moments_.Issued(at, c_.dispatch_cost[device] * c_.rows[op].dispatch_ops);
  thread.free = issued;
  if (records_ops_) TimesOf(op).issue = moments_.TimeOf(issued);
  if (kShort) return Schedule(op, device, issued);
  const bool cpu = kinds_[device].cpu;
  if (IsAlone(device)) {
    Schedule(op, device, issued);
    if (one_thread_ && cpu) thread.free = end_[op];
  } else {
    issued_[op] = issued;
    queue_[devices_[device].last++] = op;
    devices_to_start_.Add(device);
    if (one_thread_ && cpu) thread.waits_for = op;
  }
  if (!locals_at_end_ && !cpu) sends_[op] = SatisfyLocals(op, device, issued, kFirstIssue + issues_++);
}

// ---- devices ------------------------------------------------------------------------------------------------

// On a device that works alone.
template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::Schedule(OpIndex op, DeviceIndex device, Moment issued) {
  DeviceState& state = devices_[device];
  const Picos cost = c_.CostOf(op, device);
  const Moment start = std::max(state.free, issued);
  const Moment end = moments_.End(start, cost);
  state.free = end;
  state.busy += cost;
  end_[op] = end;
  HoldInputs(op, end);
  AllocateOutputs(op, device, start, end);
  if (state.first == state.last) events_.Set(device, {end, op});
  queue_[state.last++] = op;
  if (cutoff_ != kNever) {
    state.left -= cost;
    stopped_ = stopped_ || moments_.TimeOf(end) + std::max(state.left, c_.tail[op]) > cutoff_;
  }
  if (records_ops_) {
    TimesOf(op).start = moments_.TimeOf(start);
    TimesOf(op).end = moments_.TimeOf(end);
  }
}

template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::HoldInputs(OpIndex op, Moment until) {
  const Id end = c_.rows[op + 1].input;
  for (Id i = c_.rows[op].input; i < end; ++i) Hold(input_block_[i], until);
}

template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::AllocateOutputs(OpIndex op, DeviceIndex device, Moment start,
                                                      Moment freed) {
  const typename Compiled::OpRow& row = c_.rows[op];
  const Id end = c_.rows[op + 1].output;
  for (Id o = row.output; o < end; ++o) {
    const Id shares = c_.output_shares[o];
    output_block_[o] = shares == Compiled::kNone ? Allocate(start, freed, c_.output_storage[o], device, op)
                                                 : input_block_[shares];
  }
  if (row.workspace != 0) Allocate(start, freed, row.workspace, device, op);
}

// The heads of a queue whose ops share the device, or slow down while it copies.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::StartOps(DeviceIndex device) {
  if (IsAlone(device)) return;
  DeviceState& state = devices_[device];
  SharedDevice& shared = shared_[kinds_[device].shared];
  for (; state.first < state.last && !shared.full(); ++state.first) {
    const OpIndex op = queue_[state.first];
    if (issued_[op] > now_ || (counts_unfinished_ && !kinds_[device].cpu && unfinished_[op] > 0)) break;
    const Picos cost = c_.CostOf(op, device);
    if (shared.running() == 0) state.since = now_time();
    shared.Start(now_time(), op, cost);
    AllocateOutputs(op, device, now_, now_);
    workspace_block_[op] = c_.rows[op].workspace == 0 ? kNothing : blocks_end_ - 1;
    if (records_ops_) TimesOf(op).start = now_time();
    if (cutoff_ != kNever) {
      stopped_ = stopped_ || now_time() + std::max(state.left, cost + c_.tail[op]) > cutoff_;
      if (shared.IsNoFaster()) state.left -= cost;
    }
  }
  rates_to_update_.Add(device);
}

// The rates in force from the end of a pass on, and what is next for the device under them.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::UpdateRates(DeviceIndex device) {
  if (IsAlone(device)) return;
  DeviceState& state = devices_[device];
  SharedDevice& shared = shared_[kinds_[device].shared];
  const Picos end = shared.Update(now_time());
  state.free = end == kNever ? kNone : moments_.Due(end, now_);
  Moment next = state.free;
  if (state.first < state.last && !shared.full()) {
    const Moment issued = issued_[queue_[state.first]];
    if (issued > now_) next = std::min(next, issued);
  }
  if (!one_thread_ && !listed_ && !issuable_.empty(device))
    next = std::min(next, std::max(threads_[device].free, issuable_.Earliest(device)));
  events_.Set(device, {next, c_.ops + device});
}

// One of a device that does not work alone has ended.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::FinishOp(OpIndex op, DeviceIndex device) {
  HoldInputs(op, now_);
  for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o) Hold(output_block_[o], now_);
  Hold(workspace_block_[op], now_);
  if (records_ops_) TimesOf(op).end = now_time();
  end_[op] = now_;
  if (kinds_[device].cpu || locals_at_end_) return;
  // Its readers on the device learned of it when it was issued.
  for (Id i = c_.rows[op].sender; i < c_.rows[op + 1].sender; ++i) {
    for (Id e = c_.senders[i].edge; e < c_.senders[i + 1].edge; ++e) {
      const typename Compiled::Edge edge = c_.edges[e];
      if (waiting_[edge.consumer].device != device) continue;
      input_block_[edge.input] = BlockOf(c_.senders[i]);
      if (counts_unfinished_) --unfinished_[edge.consumer];
    }
  }
}

}  // namespace stowplan::sim
