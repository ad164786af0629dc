// A native run (docs/model.md), in layers. Host threads issue ops (host_threads.h), devices run them (devices.h),
// transfers move what they produce (transport.h). Below these are the clock (clock.h), a recorder (recorder.h) and the
// memory that is held (memory.h); on top is one loop over moments (moment.h). A layer calls only what is below it. The time,
// what is due and the outcome are everybody's, all other state is its layer's own. The layers are bases of one another because
// references between them cost 6 % of a run's instructions. Templates over the links and over what holds a moment. Internal
// to sim/native/.
//
// What a thread, a device and a link will do is computed as soon as it is known, not when it happens. So the events of a
// run are the ends of ops and, where the order of issue depends on times, that an idle thread finds something to do. Only
// where ops or flows share something are their ends found step by step.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/base/error.h"
#include "sim/native/transport.h"
#include "sim/simulator.h"

namespace stowplan::sim {

template <typename Links, typename Moment>
class NativeRun : Transport<Links, Moment> {
 public:
  // `moments` must be able to hold every single duration.
  template <typename MakeLinks>
  NativeRun(const Problem& problem, const Moments<Moment>& moments, const MakeLinks& make_links)
      : Transport(problem, moments, make_links),
        simple_(Devices::all_alone() && !HostThreads::one_thread() && c_.host_waits.empty()) {
    ended_.reserve(static_cast<std::size_t>(c_.ops));
    to_send_.reserve(static_cast<std::size_t>(c_.ops));
  }

  // nullptr if it takes longer than moments can hold.
  const Outcome* Run(const Placement& placement, const RunOptions& options) {
    STOWPLAN_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c_.ops));
    Reset(placement, options);
    if (Devices::longest_collective() > moments_.longest()) return nullptr;
    const Picos cutoff = options.cutoff.value_or(kNever);
    // No event from there on is taken.
    const Moment limit =
        std::min(Moments<Moment>::kTooLate, cutoff == kNever ? kNone : moments_.At(cutoff + 1));
    if (!Devices::stopped()) {
      HostThreads::Begin();
      if (HostThreads::by_list()) {
        RunLists(limit);
      } else if (!Links::kBooked || !simple_) {
        for (Moment next = now_; next < limit && !Devices::stopped(); next = NextPass()) Pass(next);
      } else {
        RunReady(limit);
      }
    }
    const Moment next = NextPass();
    if (!Devices::stopped()) {
      if (next >= Moments<Moment>::kTooLate && (next != kNone || now_ >= Moments<Moment>::kTooLate))
        return nullptr;
      if (next == kNone) return Finish(placement);
    }
    SetStopped(cutoff, static_cast<std::size_t>(c_.devices), c_.cluster->links.size(), Recorder::outcome());
    return &Recorder::outcome();
  }

 private:
  using Clock = sim::Clock<Moment>;
  using Recorder = sim::Recorder<Moment>;
  using Memory = sim::Memory<Moment>;
  using Devices = sim::Devices<Moment>;
  using HostThreads = sim::HostThreads<Moment>;
  using Transport = sim::Transport<Links, Moment>;
  using Clock::c_, Clock::events_, Clock::kNone, Clock::moments_, Clock::now_, Clock::now_time;

  void Reset(const Placement& placement, const RunOptions& options) {
    Clock::Reset();
    Recorder::Reset(options.record);
    HostThreads::ChooseWay(placement);
    Memory::Reset();
    Devices::Reset();
    Transport::Reset();
    for (OpIndex op = 0; op < c_.ops; ++op) {
      const DeviceIndex device = placement.device[static_cast<std::size_t>(op)];
      HostThreads::Place(op, device);
      Devices::Place(device);
      Memory::Place(op, device);
    }
    Devices::Begin(placement.device, options.cutoff.value_or(kNever));
    HostThreads::Order(placement);
  }
  // By lists: events are the ends of what sends. In the order of ops, in which those of one moment end, their transfers
  // queue. What is sent last is read later; the run ends with the last op.
  [[gnu::noinline, gnu::flatten]] void RunLists(Moment limit) {
    if constexpr (Links::kBooked) {
      for (auto event = events_.next(); event.moment < limit && !Devices::stopped(); event = events_.next()) {
        now_ = event.moment;
        EndAndSend(event.number);
      }
    } else {
      for (Moment next = NextPass(); next < limit && !Devices::stopped(); next = NextPass()) {
        now_ = next;
        Transport::template EndTransfers<Way::kByList>();  // none of which lets an op end now
        while (events_.next().moment <= now_) EndAndSend(events_.next().number);
        Transport::StartTransfers();
      }
    }
    if (NextPass() == kNone) now_ = Devices::LastEnd();
  }
  void EndAndSend(OpIndex op) {
    const DeviceIndex device = HostThreads::DeviceOf(op);
    Devices::NextEnd(device);
    Transport::SendRemote(op, device);
  }
  // By what is ready, without passes. Nothing else of an event's moment concerns what comes of it.
  [[gnu::noinline, gnu::flatten]] void RunReady(Moment limit) {
    HostThreads::template RunIdle<Way::kByReady>();
    for (auto event = events_.next(); event.moment < limit && !Devices::stopped(); event = events_.next()) {
      now_ = event.moment;
      if (event.number >= c_.ops) {
        HostThreads::template RunAlone<Way::kByReady>(event.number - c_.ops);
        continue;
      }
      const OpIndex op = event.number;
      const DeviceIndex device = HostThreads::DeviceOf(op);
      HostThreads::CountEnd();
      Transport::template Send<Way::kByReady>(op, device);
      Devices::PopEnd(device);
      HostThreads::template RunAlone<Way::kByReady>(device);
      HostThreads::template RunIdle<Way::kByReady>();
    }
  }
  Moment NextPass() const { return std::min(events_.next().moment, Transport::Next()); }
  // The steps of docs/model.md section 6. Step 6 comes before 4 and 5: neither concerns the other.
  [[gnu::flatten]] void Pass(Moment at) {
    now_ = at;
    TakeEvents();                                                 // 1
    if (!simple_) EndOps();                                       // 1
    Transport::template EndTransfers<Way::kByPass>();             // 2
    for (const OpIndex op : to_send_) Transport::SendByPass(op);  // 6
    to_send_.clear();
    HostThreads::RunThreads();          // 4
    if (!simple_) Devices::StartOps();  // 5
    Transport::StartTransfers();        // 7
    if (simple_) return;
    Transport::CountCopies();                                  // 7
    Devices::UpdateRates([this](DeviceIndex d, Moment next) {  // 7
      const bool own = !HostThreads::one_thread() && !HostThreads::listed();
      Clock::SetWake(d, own ? std::min(next, HostThreads::Next(d)) : next);
    });
  }
  void TakeEvents() {
    for (auto event = events_.next(); event.moment <= now_; event = events_.next()) {
      if (event.number < c_.ops) {
        const OpIndex op = event.number;
        const DeviceIndex device = HostThreads::DeviceOf(op);
        Devices::NextEnd(device);
        if (simple_) {  // no two of one device, and in the order of ops
          HostThreads::End(op, device);
          to_send_.push_back(op);
        } else {
          ended_.emplace_back(device, op);
        }
        continue;
      }
      const std::int32_t source = event.number - c_.ops;
      events_.SetNone(source);
      const bool process = source == c_.devices;
      if (!process && !Devices::IsAlone(source)) Devices::PopEnded(source, ended_);
      if (process || !HostThreads::one_thread()) HostThreads::LookAt(HostThreads::ThreadOf(source));
    }
  }
  // All ends of the moment in their order; and in that of the ops their transfers queue.
  void EndOps() {
    if (ended_.empty()) return;
    std::sort(ended_.begin(), ended_.end());
    for (const auto& [device, op] : ended_) {
      if (!Devices::IsAlone(device)) Devices::End(op, device);
      HostThreads::End(op, device);
      to_send_.push_back(op);
    }
    ended_.clear();
    std::sort(to_send_.begin(), to_send_.end());
  }
  const Outcome* Finish(const Placement& placement) {
    if (Devices::has_collectives() && HostThreads::ended() != c_.ops) Devices::RefuseDeadlock();
    STOWPLAN_CHECK_EQ(HostThreads::ended(), c_.ops);
    Outcome& outcome = Recorder::outcome();
    outcome.stopped = false;
    outcome.runtime = now_time();
    Memory::FindPeaks(placement.device, Devices::starts(), Devices::ends());
    outcome.devices.clear();
    for (DeviceIndex d = 0; d < c_.devices; ++d)
      outcome.devices.push_back({Devices::busy(d), Memory::peak(d)});
    Transport::Report(outcome.links);
    if (Recorder::timeline()) Memory::RecordMemory(placement.device, Devices::ends());
    return &outcome;
  }

  const bool simple_;  // all devices work alone and have threads of their own, which wait for no op

  std::vector<EndedOp> ended_;    // in this pass
  std::vector<OpIndex> to_send_;  // ended, in the order in which their transfers queue
};

}  // namespace stowplan::sim
