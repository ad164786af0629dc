// Host threads issue ops to the devices (docs/model.md section 2). A layer of a run (run.h).
//
// An op for which nothing is missing knows when it becomes issuable, also if that is yet to come. So a thread issues by
// its list as far as this is known; without a list, an idle one has an event when it can issue the next op.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/native/devices.h"
#include "sim/native/issuable_ops.h"
#include "sim/native/pipeline_order.h"

namespace stowplan::sim {

// How a run goes on. Pass by pass; or, where all devices work alone, without most of it. By lists an op on an accelerator
// waits for nothing on its own device but its turn: only what is sent is an event, and a reader finds the rest by itself. By
// what is ready, over booked links and with threads of their own, each event is dealt with at once with all that comes of it.
enum class Way : std::uint8_t { kByPass, kByList, kByReady };

template <typename Moment>
class HostThreads : protected Devices<Moment> {
 public:
  HostThreads(const Problem& problem, const Moments<Moment>& moments)
      : Devices(problem, moments),
        one_thread_(problem.cluster().dispatch.per == Dispatch::Per::kProcess),
        waiting_(static_cast<std::size_t>(c_.ops) + 1),
        threads_(one_thread_ ? 1 : static_cast<std::size_t>(c_.devices)),
        list_(static_cast<std::size_t>(c_.ops)),
        pipeline_(problem.graph()),
        issuable_(c_.ops),
        to_run_(static_cast<std::int32_t>(threads_.size())) {}

  // A run begins with ChooseWay, Place for every op, Order after the devices have begun, and Begin.
  void ChooseWay(const Placement& placement) {
    const bool by_program =
        placement.priority.empty() && c_.cluster->dispatch.order == Dispatch::Order::kProgram;
    piped_ = placement.priority.empty() && placement.order.empty() && !pipeline_.empty();
    listed_ = !placement.order.empty() || by_program || piped_;
  }
  // The way is by lists.
  bool by_list() const { return listed_ && Devices::all_alone(); }
  void Place(OpIndex op, DeviceIndex device) {
    waiting_[op] = {0, by_list() ? 0 : c_.dependencies[op], device};
  }
  void Order(const Placement& placement) {
    ahead_ = !by_list() && (one_thread_ || Devices::has_collectives() || !c_.host_waits.empty() ||
                            !(listed_ || Devices::all_alone()));
    if (ahead_) sends_.resize(static_cast<std::size_t>(c_.ops));
    if (by_list()) FindRemoteEdges(placement.device);
    Devices::IssueAhead(ahead_);
    ended_ = issues_ = 0;
    to_run_.Clear();
    waiting_[Nobody()] = {0, std::numeric_limits<std::int32_t>::max(), 0};
    for (std::int32_t t = 0; t < size(); ++t) {
      const std::int32_t begin = Devices::OpsBefore(t);
      threads_[t] = {.next = Nobody(), .place = begin, .last = begin};
    }
    if (!listed_) {
      last_known_.assign(static_cast<std::size_t>(c_.ops), kAtStart);
      if (Devices::has_collectives()) ChainMembers();
      issuable_.Reset(placement.priority);
      for (const Thread& thread : threads_) issuable_.AddThread(thread.place);
      return;
    }
    std::span<const OpIndex> list = c_.program_order;
    if (!placement.order.empty()) list = placement.order;
    if (piped_) list = pipeline_.Of(placement.device);
    for (const OpIndex op : list) list_[threads_[ThreadOf(DeviceOf(op))].last++] = op;
  }
  // Step 4 of the first pass finds what can be issued.
  void Begin() {
    if (!listed_) {
      for (OpIndex op = 0; op < c_.ops; ++op)
        if (waiting_[op].missing == 0) MakeIssuable<Way::kByPass>(op);
      return;
    }
    for (std::int32_t t = 0; t < size(); ++t) {
      Thread& thread = threads_[t];
      if (thread.place < thread.last) thread.next = list_[thread.place];
      if (waiting_[thread.next].missing > 0) continue;
      by_list() ? IssueList(t) : IssueListByPass(t);
    }
  }

  bool one_thread() const { return one_thread_; }  // for the process
  bool listed() const { return listed_; }          // threads issue in the order of lists
  DeviceIndex DeviceOf(OpIndex op) const { return waiting_[op].device; }
  OpIndex ended() const { return ended_; }  // by lists: issued

  // One dependency of an op is known to be satisfied at a moment, which may be yet to come. number: where what is due at
  // one moment stands among what makes ops issuable then. Transfers have theirs in the order of queueing.
  template <Way kWay>
  void Satisfy(OpIndex op, Moment when, std::int32_t number) {
    if constexpr (kWay == Way::kByList) {
      Waiting& waiting = waiting_[op];
      waiting.known = std::max(waiting.known, when);
      if (--waiting.missing > 0) return;
      const std::int32_t thread = ThreadOf(waiting.device);
      if (threads_[thread].next == op) IssueList(thread);
      return;
    }
    if (kWay == Way::kByPass && listed_) return SatisfyListed(op, when);
    Waiting& waiting = waiting_[op];
    if (when > waiting.known || (when == waiting.known && number > last_known_[op])) {
      waiting.known = when;
      last_known_[op] = number;
    }
    if (--waiting.missing == 0) MakeIssuable<kWay>(op);
  }
  // When the readers on its device learn of an op that ends now, and the number of that. On an accelerator they could
  // have learned when it was issued; its thread has issued nothing since of which that could have come before.
  Moment LocalsKnown(DeviceIndex device) const {
    return Devices::is_cpu(device) ? now_ : threads_[ThreadOf(device)].free;
  }
  std::int32_t LocalsNumber(DeviceIndex device) const {
    return (Devices::is_cpu(device) ? kAtStart : kFirstIssue) + ended_;
  }
  // By lists: the edges of an op to other devices.
  std::span<const Compiled::Id> RemoteEdges(OpIndex op) const {
    return {remote_edges_.data() + remote_[op].begin, remote_edges_.data() + remote_[op].end};
  }
  // Of an op that has ended; false if it is known from its issue that it has readers on its device alone.
  bool MaySend(OpIndex op, DeviceIndex device) const {
    return !ahead_ || Devices::is_cpu(device) || sends_[op] != 0;
  }

  void CountEnd() { ++ended_; }
  // An op has ended, pass by pass.
  void End(OpIndex op, DeviceIndex device) {
    CountEnd();
    if (!ahead_ || Devices::is_cpu(device))
      SatisfyLocals(op, device, LocalsKnown(device), LocalsNumber(device));
    if (!listed_) LookAt(ThreadOf(device));
    const std::int32_t index = ThreadOf(device);
    Thread& thread = threads_[index];
    if (thread.waits_for != op) return;
    thread.waits_for = -1;
    thread.free = now_;
    if (listed_ && waiting_[thread.next].missing == 0) IssueListByPass(index);
  }
  void LookAt(std::int32_t thread) { to_run_.Add(thread); }
  std::int32_t ThreadOf(DeviceIndex device) const { return one_thread_ ? 0 : device; }
  // Those that there is something to do for.
  void RunThreads() {
    to_run_.Drain([this](std::int32_t thread) { RunThread(thread); });
  }
  template <Way kWay>
  void RunIdle() {
    to_run_.Drain([this](std::int32_t thread) {
      if (!Devices::IsBusy(thread)) RunAlone<kWay>(thread);
    });
  }
  // The thread of an idle device that works alone takes one op. The next one has time until that ends: what it took
  // meanwhile would not be started before.
  template <Way kWay>
  void RunAlone(std::int32_t index) {
    const Moment next = Next(index);
    if (next > now_) return Clock::SetWake(index, next);
    Issue<kWay>(issuable_.Take(index, next), index, next);
  }
  // Without lists: when a thread can issue an op; kNone if that is not known.
  Moment Next(std::int32_t thread) const {
    if (issuable_.empty(thread) || threads_[thread].waits_for >= 0) return kNone;
    return std::max(threads_[thread].free, issuable_.Earliest(thread));
  }

 protected:
  using Clock = sim::Clock<Moment>;
  using Recorder = sim::Recorder<Moment>;
  using Memory = sim::Memory<Moment>;
  using Devices = sim::Devices<Moment>;
  using Clock::c_, Clock::kNone, Clock::moments_, Clock::now_, typename Clock::Id;

 private:
  // Numbers of what makes ops issuable: ends of ops in the order of processing, transfers in that of queueing, issues as
  // they come.
  static constexpr std::int32_t kAtStart = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kFirstIssue = std::int32_t{1} << 30;

  // An op that has not been issued.
  struct Waiting {
    Moment known = 0;          // when it has the last of what it needs, of what is known
    std::int32_t missing = 0;  // dependencies that are not known
    DeviceIndex device = 0;
  };
  struct Segment {  // of remote_edges_
    Id begin = 0, end = 0;
  };
  struct Thread {
    Moment free = 0;   // from when on it can issue the next op
    OpIndex next = 0;  // with lists: to be issued, of those in [place, last)
    std::int32_t place = 0, last = 0;
    OpIndex waits_for = -1;  // the op for whose end, which is not known, it waits
  };

  OpIndex Nobody() const { return c_.ops; }
  bool HostWaits(OpIndex op) const { return !c_.host_waits.empty() && c_.host_waits[op] != 0; }
  // Without lists: a device's members are issued in program order.
  void ChainMembers() {
    next_member_.assign(static_cast<std::size_t>(c_.ops), Nobody());
    ById<OpIndex> last(static_cast<std::size_t>(c_.devices), Nobody());
    for (const OpIndex op : c_.program_order) {
      if (!Devices::IsMember(op)) continue;
      const OpIndex before = std::exchange(last[DeviceOf(op)], op);
      if (before == Nobody()) continue;
      next_member_[before] = op;
      ++waiting_[op].missing;
    }
  }
  std::int32_t size() const { return static_cast<std::int32_t>(threads_.size()); }
  void SatisfyListed(OpIndex op, Moment when) {
    Waiting& waiting = waiting_[op];
    waiting.known = std::max(waiting.known, when);
    if (--waiting.missing > 0) return;
    const std::int32_t index = ThreadOf(waiting.device);
    const Thread& thread = threads_[index];
    if (thread.next == op && thread.waits_for < 0) IssueListByPass(index);
  }
  // By lists: the edges to other devices, and how many of its own each op misses. Without a branch on where an op is, which
  // no processor foresees.
  void FindRemoteEdges(std::span<const DeviceIndex> placement) {
    remote_.resize(static_cast<std::size_t>(c_.ops));
    remote_edges_.resize(c_.edges.size() + 1);
    const OpIndex* const producers = c_.edge_producer.data();
    const Compiled::Edge* const edges = c_.edges.data();
    Id* const remote = remote_edges_.data();
    Segment* const segments = remote_.data();
    Waiting* const waiting = waiting_.data();
    Id end = 0;
    OpIndex last = -1;
    for (Id e = 0, all = static_cast<Id>(c_.edges.size()); e < all; ++e) {
      const OpIndex producer = producers[e], reader = edges[e].consumer;
      const bool is_remote =
          placement[static_cast<std::size_t>(producer)] != placement[static_cast<std::size_t>(reader)];
      const Id before = segments[producer].begin, begin = producer == last ? before : end;
      remote[end] = e;
      end += is_remote;
      segments[producer] = {begin, end};
      waiting[reader].missing += is_remote;
      last = producer;
    }
  }
  // By lists: the next op of a thread, which misses nothing, and all behind it that are as far.
  void IssueList(std::int32_t index) {
    Thread& thread = threads_[index];
    const std::int32_t from = thread.place;
    do {
      const OpIndex op = thread.next;
      const Waiting& waiting = waiting_[op];
      const DeviceIndex device = waiting.device;
      const Moment issued = moments_.Issued(std::max(thread.free, waiting.known),
                                            c_.dispatch_cost[device] * c_.rows[op].dispatch_ops);
      thread.free = issued;
      Recorder::RecordIssue(op, issued);
      const Moment end = Devices::Schedule(op, device, issued, !RemoteEdges(op).empty());
      if (Devices::is_cpu(device)) EndOnCpu(op, thread, end);
      if (HostWaits(op)) thread.free = end;
      thread.next = ++thread.place < thread.last ? list_[thread.place] : Nobody();
    } while (waiting_[thread.next].missing == 0);
    ended_ += thread.place - from;
  }
  // The process's thread waits for it, the device's own takes up nothing that reads it before.
  void EndOnCpu(OpIndex op, Thread& thread, Moment end) {
    if (one_thread_) {
      thread.free = end;
      return;
    }
    Devices::ForEachLocalEdge(op, [&](const Compiled::Edge& edge) {
      Moment& known = waiting_[edge.consumer].known;
      known = std::max(known, end);
    });
  }
  template <Way kWay>
  void MakeIssuable(OpIndex op) {
    const DeviceIndex device = DeviceOf(op);
    const std::int32_t thread = kWay == Way::kByReady ? device : ThreadOf(device);
    if (kWay == Way::kByReady) {  // what is ready is not next in memory, as it is with most lists
      __builtin_prefetch(&c_.rows[op]);
      __builtin_prefetch(c_.CostAt(op, device));
    }
    issuable_.Add(thread, op, waiting_[op].known, last_known_[op]);
    to_run_.AddIf(kWay == Way::kByPass || !Devices::IsBusy(thread), thread);
  }
  // The dependencies on an op from its own device; false if it has no others.
  bool SatisfyLocals(OpIndex op, DeviceIndex device, Moment when, std::int32_t number) {
    bool others = false;
    const Id end = c_.FirstEdge(op + 1);
    for (Id e = c_.FirstEdge(op); e < end; ++e) {
      const OpIndex reader = c_.edges[e].consumer;
      if (DeviceOf(reader) == device) {
        Satisfy<Way::kByPass>(reader, when, number);
      } else {
        others = true;
      }
    }
    return others;
  }
  // The next op of a thread's list, for which nothing is missing, and all behind it that are as far. The list must not
  // have moved on while locals are satisfied, or they would be issued from in there.
  // Not inlined by request: three copies of it in a pass cost 3 % of a run.
  [[gnu::noinline]] void IssueListByPass(std::int32_t index) {
    Thread& thread = threads_[index];
    do {
      const OpIndex op = thread.next;
      Issue<Way::kByPass>(op, index, std::max(thread.free, waiting_[op].known));
      thread.next = ++thread.place < thread.last ? list_[thread.place] : Nobody();
    } while (waiting_[thread.next].missing == 0 && thread.waits_for < 0);
  }
  // Without lists: a thread takes what it can up to now, and an idle one is called again when it can take the next.
  void RunThread(std::int32_t index) {
    if (listed_) return;
    if (!one_thread_ && Devices::IsAlone(index)) {
      if (!Devices::IsBusy(index)) RunAlone<Way::kByPass>(index);
      return;
    }
    Thread& thread = threads_[index];
    Moment next = kNone;
    while (thread.waits_for < 0 && (next = Next(index)) <= now_)
      Issue<Way::kByPass>(issuable_.Take(index, next), index, next);
    if (one_thread_) {
      Clock::SetWake(c_.devices, thread.waits_for < 0 ? next : kNone);
    } else {
      Devices::LookAt(index);
    }
  }
  template <Way kWay>
  void Issue(OpIndex op, std::int32_t index, Moment at) {
    constexpr bool kShort = kWay == Way::kByReady;
    const DeviceIndex device = kShort ? index : DeviceOf(op);
    Thread& thread = threads_[index];
    const Moment issued = moments_.Issued(at, c_.dispatch_cost[device] * c_.rows[op].dispatch_ops);
    thread.free = issued;
    Recorder::RecordIssue(op, issued);
    if constexpr (kShort) {
      Devices::Schedule(op, device, issued, true);
      return;
    }
    const bool is_member = Devices::has_collectives() && Devices::IsMember(op);
    const bool waits = (one_thread_ && Devices::is_cpu(device) && !is_member) || HostWaits(op);
    if (Devices::IsAlone(device)) {
      Devices::Schedule(op, device, issued, true);
      if (waits) thread.free = Devices::ends()[op];
    } else {
      Devices::Queue(op, device, issued);
      if (waits) thread.waits_for = op;
    }
    if (!ahead_) return;
    const std::int32_t number = kFirstIssue + issues_++;
    if (!Devices::is_cpu(device)) sends_[op] = SatisfyLocals(op, device, issued, number);
    if (is_member && !listed_ && next_member_[op] != Nobody())
      Satisfy<Way::kByPass>(next_member_[op], issued, number);
  }

  const bool one_thread_;

  bool listed_ = false, piped_ = false;
  bool ahead_ =
      false;  // an accelerator's ops learn of local producers at the issue of these, not at their end
  std::int32_t ended_ = 0, issues_ = 0;
  ById<Waiting> waiting_;          // by op; the last one is nobody, for whom something is always missing
  ById<std::int32_t> last_known_;  // by op, without lists: the number of what gave `known`
  ById<OpIndex> next_member_;      // by op, without lists: a collective's, issued next of those of its device
  ById<Thread> threads_;
  ById<OpIndex> list_;  // by thread
  PipelineOrder pipeline_;
  IssuableOps<Moment> issuable_;
  ById<std::uint8_t> sends_;  // by op, if ahead: whether it has readers on other devices
  ById<Segment> remote_;      // by op, by lists: its edges to other devices
  ById<Id> remote_edges_;
  IndexSet to_run_;
};

}  // namespace stowplan::sim
