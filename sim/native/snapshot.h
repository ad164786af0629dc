// The state of a run between two passes, kept to go on from there, perhaps at another time. Internal to
// sim/native/.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/native/run_state.h"

namespace berth::sim {

// Which transfers of two runs are the same, and whether those asked for have the same order in both.
class SameTransfers {
 public:
  using Id = Problem::Compiled::Id;
  explicit SameTransfers(std::size_t transfers) { pairs_.reserve(4 * transfers); }

  // The transfers by queue number in both, and by transfer of theirs that of mine.
  void Begin(const ById<Id>& mine, const ById<Id>& theirs, const ById<Id>& mapped) {
    mine_ = &mine;
    theirs_ = &theirs;
    mapped_ = &mapped;
    pairs_.clear();
  }
  bool operator()(TransferIndex mine, TransferIndex theirs) {
    pairs_.push_back({theirs, mine});
    return (*mine_)[mine] == (*mapped_)[(*theirs_)[theirs]];
  }
  bool InOrder() {
    std::sort(pairs_.begin(), pairs_.end());
    return std::is_sorted(pairs_.begin(), pairs_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  }

 private:
  const ById<Id>*mine_ = nullptr, *theirs_ = nullptr, *mapped_ = nullptr;
  std::vector<std::pair<TransferIndex, TransferIndex>> pairs_;
};

// Of queues only what waits is kept. Transfers bear their numbers in the run that was kept.
template <typename Links>
struct Snapshot {
  explicit Snapshot(const RunState<Links>& s) : events(s.events) {}

  void Save(const RunState<Links>& s);
  // Whether the run goes on as this one did, later by s.now - now, as far as queues, devices, links and what is
  // in flight decide that (more: IssueQueues::Live): `counts` and what has been summed up so far are not looked at.
  bool Equals(const RunState<Links>& s, const ById<std::int32_t>& more, SameTransfers& same) const;
  // Goes on from here at time now + shift, after having been at `from` (in the sense of Equals()). Leaves
  // `counts`, `queued` and `memory` alone.
  void Load(RunState<Links>& s, const Snapshot& from, Picos shift, const ById<std::int32_t>& more) const;

  Picos now = 0;
  std::int32_t pass = 0;
  std::int64_t ended_ops = 0;
  Counts counts;
  EventTree events;
  ById<DeviceState> devices;
  ById<SharedDevice> shared;
  ById<ThreadState> threads;
  std::vector<OpIndex> queue;  // of each device in turn
  IssueQueues::Live issuable;
  std::size_t queued = 0;  // number of transfers
  DueHeap light;
  typename LinkMeter<Links::kExclusive>::Live meter;
  ById<MemoryTracker::Use> memory;  // peaks since the snapshot before
  typename Links::Live links;
};

template <typename Links>
void Snapshot<Links>::Save(const RunState<Links>& s) {
  now = s.now;
  pass = s.pass;
  ended_ops = s.ended_ops;
  counts = s.counts;
  events = s.events;
  devices = s.devices;
  shared = s.shared;
  threads = s.threads;
  queue.clear();
  for (const DeviceState& device : devices)
    queue.insert(queue.end(), s.queue.begin() + device.head, s.queue.begin() + device.tail);
  s.issuable.Save(issuable);
  queued = s.queued.size();
  light = s.light;
  s.meter.Save(meter);
  memory = s.memory.use();
  s.links.Save(links);
}

template <typename Links>
bool Snapshot<Links>::Equals(const RunState<Links>& s, const ById<std::int32_t>& more,
                             SameTransfers& same) const {
  const Picos shift = s.now - now;
  if (s.pass != pass || s.ended_ops != ended_ops || !s.events.Equals(events, shift)) return false;
  auto next = queue.begin();
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(devices.size()); ++d) {
    const DeviceState &mine = s.devices[d], &theirs = devices[d];
    const bool idle = theirs.end == kNever;
    if (mine.running != theirs.running || mine.end != Later(theirs.end, shift) ||
        (!idle && mine.since != theirs.since + shift) || mine.tail - mine.head != theirs.tail - theirs.head ||
        !std::equal(s.queue.begin() + mine.head, s.queue.begin() + mine.tail, next)) {
      return false;
    }
    next += mine.tail - mine.head;
  }
  const auto same_thread = [shift](const ThreadState& mine, const ThreadState& theirs) {
    return mine.issuing == theirs.issuing && mine.waiting == theirs.waiting &&
           mine.started == theirs.started && (mine.issuing < 0 || mine.due == theirs.due + shift);
  };
  const auto same_shared = [shift](const SharedDevice& mine, const SharedDevice& theirs) {
    return mine.Equals(theirs, shift);
  };
  return std::equal(s.threads.begin(), s.threads.end(), threads.begin(), same_thread) &&
         std::equal(s.shared.begin(), s.shared.end(), shared.begin(), same_shared) &&
         s.issuable.Equals(issuable, more) && s.light.Equals(light, shift, same) &&
         s.meter.Equals(meter, shift) && s.memory.Equals(memory, shift) &&
         s.links.Equals(links, shift, same) && same.InOrder();
}

template <typename Links>
void Snapshot<Links>::Load(RunState<Links>& s, const Snapshot& from, Picos shift,
                           const ById<std::int32_t>& more) const {
  s.now = now + shift;
  s.pass = pass;
  s.ended_ops = ended_ops;
  s.events = events;
  s.events.Shift(shift);
  auto next = queue.begin();
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(devices.size()); ++d) {
    const Picos busy = s.devices[d].busy + devices[d].busy - from.devices[d].busy;
    DeviceState& device = s.devices[d] = devices[d];
    device.since += shift;
    device.end = Later(device.end, shift);
    device.busy = busy;
    std::copy_n(next, device.tail - device.head, s.queue.begin() + device.head);
    next += device.tail - device.head;
  }
  s.shared = shared;
  for (SharedDevice& device : s.shared) device.Shift(shift);
  s.threads = threads;
  for (ThreadState& thread : s.threads) thread.due += shift;
  s.issuable.Load(issuable, more);
  s.light = light;
  s.light.Shift(shift);
  s.meter.Advance(from.meter, meter, shift);
  s.links.Load(links, shift);
}

}  // namespace berth::sim
