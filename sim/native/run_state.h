// All that changes while a placement runs natively, apart from what is recorded: copy it and put it back, and
// the run goes on from there. Internal to sim/native/.
#pragma once

#include <vector>

#include "sim/native/event_tree.h"
#include "sim/native/issue_queues.h"
#include "sim/native/link_meter.h"
#include "sim/native/memory_tracker.h"
#include "sim/native/plan.h"
#include "sim/native/shared_device.h"
#include "sim/native/transfers.h"

namespace berth::sim {

// A device's queue is a segment of RunState::queue: places [head, tail) have been issued and not started.
struct DeviceState {
  OpIndex running = -1;  // of a device of fixed rate
  std::int32_t head = 0;
  std::int32_t tail = 0;
  Picos since = 0;     // when it became busy; can be in the future, see ThreadState::due
  Picos end = kNever;  // when its next op ends
  Picos busy = 0;
};

// What a device's own thread does is seen by nobody but the device. While a device of fixed rate is busy, its
// thread is therefore left alone until something concerns the device again, and then made to catch up; and an
// idle device starts the op that is being issued ahead of time (op_steps.h).
struct ThreadState {
  OpIndex issuing = -1;
  OpIndex waiting = -1;  // per process: the CPU op whose end it waits for
  Picos due = 0;         // when `issuing` will have been issued; can be in the past
  bool started = false;  // its device starts `issuing` when it is due
};

template <typename Links>
struct RunState {
  // spare: so many more ops, and transfers, may come to each queue than the placement of the start says.
  RunState(const Problem::Compiled& c, std::int32_t thread_count, std::int32_t spare)
      : events(c.devices + 2),
        devices(static_cast<std::size_t>(c.devices)),
        threads(static_cast<std::size_t>(thread_count)),
        queue(static_cast<std::size_t>(c.ops + c.devices * spare)),
        issuable(spare),
        meter(c),
        memory(*c.cluster),
        links(c, spare) {
    const std::size_t most = c.edge_consumer.size() + static_cast<std::size_t>(spare);
    queued.reserve(most);
    light.Reserve(most);
    for (const Device& device : c.cluster->devices)
      if (!HasFixedRate(device)) shared.emplace_back(device, c.ops);
  }

  Picos now = 0;
  std::int32_t pass = 0;  // of this instant, from 1
  std::int64_t ended_ops = 0;
  Counts counts;
  EventTree events;  // timers: by device its next end and its thread; transfers; the process's thread
  ById<DeviceState> devices;
  ById<SharedDevice> shared;  // the devices whose rate is not fixed, in device order
  ById<ThreadState> threads;
  ById<OpIndex> queue;
  IssueQueues issuable;
  ById<Problem::Compiled::Id> queued;  // by queue number: the transfer
  DueHeap light;                       // light transfers in flight
  LinkMeter<Links::kExclusive> meter;
  MemoryTracker memory;
  Links links;  // heavy transfers that wait or are in flight
};

}  // namespace berth::sim
