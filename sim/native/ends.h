// The part of NativeRun that ends ops. Internal to sim/native/.
#pragma once

#include <algorithm>

#include "sim/native/run.h"

namespace stowplan::sim {

// A device that works alone has ended the first of its ops.
template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::NextEnd(DeviceIndex device) {
  DeviceState& state = devices_[device];
  if (++state.first < state.last) {
    events_.Set(device, {end_[queue_[state.first]], queue_[state.first]});
  } else {
    events_.SetNone(device);
  }
}

template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::EndLocals(OpIndex op, DeviceIndex device) {
  if (kinds_[device].cpu || locals_at_end_)
    SatisfyLocals(op, device, LocalsKnown(device), LocalsNumber(device));
  if (!listed_) threads_to_run_.Add(ThreadOf(device));
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::EndSharedOps(DeviceIndex device) {
  DeviceState& state = devices_[device];
  if (state.free == now_) {
    SharedDevice& shared = shared_[kinds_[device].shared];
    shared.PopEnded(now_time(), ended_ops_);
    for (const OpIndex op : ended_ops_) ended_.push_back({device, op});
    ended_ops_.clear();
    if (shared.running() == 0) state.busy += now_time() - state.since;
  }
  if (!one_thread_) threads_to_run_.Add(device);
  devices_to_start_.Add(device);
}

// All ends of the moment in their order; and in that of the ops their transfers queue.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::EndAll() {
  if (ended_.empty()) return;
  std::sort(ended_.begin(), ended_.end());
  for (const auto& [device, op] : ended_) {
    ++ended_count_;
    if (!IsAlone(device)) FinishOp(op, device);
    EndLocals(op, device);
    if (one_thread_ && threads_[0].waits_for == op) {
      threads_[0].waits_for = -1;
      threads_[0].free = now_;
      if (listed_ && waiting_[threads_[0].next].missing == 0) IssueList<Way::kByPass>(0);
    }
    ended_ops_.push_back(op);
  }
  ended_.clear();
  std::sort(ended_ops_.begin(), ended_ops_.end());
}

}  // namespace stowplan::sim
