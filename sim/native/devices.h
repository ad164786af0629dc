// Devices run the ops that threads have issued (docs/model.md sections 3 and 5). A layer of a run (run.h).
//
// A device that works alone, one op at a time at a fixed rate, knows the start and the end of an op when it is issued.
// Others keep what was issued in a queue and find the ends of what runs step by step (shared_device.h); where there are
// collectives (communicators.h) these are all.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sim/native/communicators.h"
#include "sim/native/index_set.h"
#include "sim/native/memory.h"
#include "sim/native/shared_device.h"

namespace stowplan::sim {

using EndedOp = std::pair<DeviceIndex, OpIndex>;  // those of a moment end in this order

template <typename Moment>
class Devices : protected Memory<Moment> {
 public:
  Devices(const Problem& problem, const Moments<Moment>& moments)
      : Memory(problem, moments),
        communicators_(problem),
        states_(static_cast<std::size_t>(c_.devices)),
        queue_(static_cast<std::size_t>(c_.ops)),
        start_(static_cast<std::size_t>(c_.ops)),
        end_(static_cast<std::size_t>(c_.ops)),
        to_start_(c_.devices),
        to_update_(c_.devices) {
    for (DeviceIndex d = 0; d < c_.devices; ++d) {
      const Device& device = problem.cluster().devices[static_cast<std::size_t>(d)];
      const bool alone = HasFixedRate(device) && communicators_.empty();
      kinds_.push_back({c_.is_cpu[d] != 0, alone ? kAlone : static_cast<std::int32_t>(shared_.size())});
      if (alone) continue;
      shared_.emplace_back(device, c_.ops);
      slowed_by_copies_ = slowed_by_copies_ || device.overlap_copy_ppm != kPpm;
    }
    if (all_alone()) return;
    issued_.resize(static_cast<std::size_t>(c_.ops));
  }

  // A run begins with Reset, Place for every op, and Begin.
  void Reset() {
    for (State& state : states_) state = {};
    for (SharedDevice& device : shared_) device.Reset();
    to_start_.Clear();
    to_update_.Clear();
    stopped_ = false;
  }
  void Place(DeviceIndex device) { ++states_[device].last; }
  void Begin(std::span<const DeviceIndex> placement, Picos cutoff) {
    placement_ = placement;
    cutoff_ = cutoff;
    communicators_.Reset(placement);
    std::int32_t begin = 0;
    for (DeviceIndex d = 0; d < c_.devices; ++d) {
      const std::int32_t ops = std::exchange(states_[d].last, begin);
      states_[d].first = begin;
      begin += ops;
      if (!IsAlone(d)) states_[d].free = kNone;
    }
    if (cutoff_ == kNever) return;
    for (OpIndex op = 0; op < c_.ops; ++op) {
      const DeviceIndex device = DeviceOf(op);
      if (IsAlone(device) || SharedOf(device).IsNoFaster()) states_[device].left += c_.CostOf(op, device);
    }
    for (const State& state : states_) stopped_ = stopped_ || state.left > cutoff_;
  }
  // ahead: an accelerator's ops may be issued before what they read on it has ended.
  void IssueAhead(bool ahead) {
    ahead_ = ahead;
    counts_unfinished_ =
        ahead && (has_collectives() || std::ranges::any_of(shared_, [](const SharedDevice& device) {
                    return device.streams() > 1;
                  }));
    if (!counts_unfinished_) return;
    unfinished_.assign(static_cast<std::size_t>(c_.ops), 0);
    for (OpIndex op = 0; op < c_.ops; ++op)
      ForEachLocalEdge(op, [this](const Compiled::Edge& edge) { ++unfinished_[edge.consumer]; });
  }

  bool is_cpu(DeviceIndex device) const { return kinds_[device].cpu; }
  bool IsAlone(DeviceIndex device) const { return kinds_[device].shared == kAlone; }
  bool all_alone() const { return shared_.empty(); }
  bool slowed_by_copies() const { return slowed_by_copies_; }
  bool has_collectives() const { return !communicators_.empty(); }
  bool IsMember(OpIndex op) const { return communicators_.IsMember(op); }
  Picos longest_collective() const { return communicators_.longest(); }
  // Of one that works alone: whether ops that it was issued have not ended.
  bool IsBusy(DeviceIndex device) const { return states_[device].first < states_[device].last; }
  // Before the first issue: how many ops the devices before this one have.
  std::int32_t OpsBefore(DeviceIndex device) const { return states_[device].first; }
  bool stopped() const { return stopped_; }  // the runtime is known to be beyond the cutoff
  Picos busy(DeviceIndex device) const { return states_[device].busy; }
  // By op, of what has started and ended or is on a device alone.
  const ById<Moment>& starts() const { return start_; }
  const ById<Moment>& ends() const { return end_; }

  // ---- a device that works alone ----
  // An op is issued, and with it known when it ends, which is returned. notes: whether that is an event.
  Moment Schedule(OpIndex op, DeviceIndex device, Moment issued, bool notes) {
    State& state = states_[device];
    const Picos cost = c_.CostOf(op, device);
    const Moment start = std::max(state.free, issued);
    const Moment end = moments_.End(start, cost);
    state.free = end;
    state.busy += cost;
    start_[op] = start;
    end_[op] = end;
    if (notes && state.first == state.last) events_.Set(device, {end, op});
    queue_[state.last] = op;
    state.last += notes;
    if (cutoff_ != kNever) {
      state.left -= cost;
      stopped_ = stopped_ || moments_.TimeOf(end) + std::max(state.left, c_.tail[op]) > cutoff_;
    }
    Recorder::RecordRun(op, start, end);
    return end;
  }
  // By lists: when the last op of all ends.
  Moment LastEnd() const { return std::ranges::max_element(states_, {}, &State::free)->free; }
  [[noreturn]] void RefuseDeadlock() const { throw InputError(communicators_.DescribeDeadlock(placement_)); }
  // The first of its ops has ended.
  void PopEnd(DeviceIndex device) { ++states_[device].first; }
  // The same, and the next end is its event.
  void NextEnd(DeviceIndex device) {
    State& state = states_[device];
    if (++state.first < state.last) {
      events_.Set(device, {end_[queue_[state.first]], queue_[state.first]});
    } else {
      events_.SetNone(device);
    }
  }

  // ---- a device whose ops share it, or slow down while it copies ----
  void Queue(OpIndex op, DeviceIndex device, Moment issued) {
    issued_[op] = issued;
    if (IsMember(op)) {
      communicators_.Add(op);
    } else {
      queue_[states_[device].last++] = op;
    }
    to_start_.Add(device);
  }
  void LookAt(DeviceIndex device) { to_start_.Add(device); }
  // Appends those that end now.
  void PopEnded(DeviceIndex device, std::vector<EndedOp>& ended) {
    State& state = states_[device];
    to_start_.Add(device);
    if (communicators_.EndOf(device) == now_) {
      for (const OpIndex op : communicators_.Pop(device)) ended.emplace_back(device, op);
      SharedOf(device).SetCollective(now_time(), false);
    }
    if (state.free != now_) return;
    SharedOf(device).PopEnded(now_time(), [&](OpIndex op) { ended.emplace_back(device, op); });
    if (SharedOf(device).running() == 0) state.busy += now_time() - state.since;
  }
  // One of them has ended.
  void End(OpIndex op, DeviceIndex device) {
    Recorder::RecordEnd(op);
    end_[op] = now_;
    // Its readers on the device learned of it when it was issued.
    if (counts_unfinished_ && !is_cpu(device))
      ForEachLocalEdge(op, [this](const Compiled::Edge& edge) { --unfinished_[edge.consumer]; });
  }
  // Counts copies from and to the device that have started and not ended.
  void AddCopies(DeviceIndex device, int change) {
    if (IsAlone(device)) return;
    SharedOf(device).AddCopies(now_time(), change);
    to_update_.Add(device);
  }
  // The heads of the queues that may.
  void StartOps() {
    to_start_.Drain([this](DeviceIndex device) { StartOps(device); });
  }
  // The rates in force from the end of a pass on. Calls then(device, when the device has something to do under them).
  template <typename Then>
  void UpdateRates(const Then& then) {
    to_update_.Drain([&](DeviceIndex device) {
      if (!IsAlone(device)) then(device, UpdateRates(device));
    });
  }

 protected:
  using Clock = sim::Clock<Moment>;
  using Recorder = sim::Recorder<Moment>;
  using Memory = sim::Memory<Moment>;
  using Clock::c_, Clock::events_, Clock::kNone, Clock::moments_, Clock::now_, Clock::now_time,
      typename Clock::Id;

  template <typename Visit>
  void ForEachLocalEdge(OpIndex op, const Visit& visit) const {
    for (Id e = c_.FirstEdge(op); e < c_.FirstEdge(op + 1); ++e)
      if (DeviceOf(c_.edges[e].consumer) == DeviceOf(op)) visit(c_.edges[e]);
  }

 private:
  static constexpr std::int32_t kAlone = -1;

  struct Kind {
    bool cpu;
    std::int32_t shared;  // its place in shared_; kAlone
  };
  // A device's ops in the order of being issued are a segment of queue_ up to `last`. Where it works alone the ends of
  // those from `first` on are known and to come; else those have not started.
  struct State {
    Moment free = 0;  // alone: when the last of them ends. Else: when the next running op ends
    std::int32_t first = 0, last = 0;
    Picos left = 0;  // cost of what has not started; counted from zero without a cutoff
    Picos busy = 0;
    Picos since = 0;  // not alone: when it became busy
  };

  SharedDevice& SharedOf(DeviceIndex device) { return shared_[kinds_[device].shared]; }
  DeviceIndex DeviceOf(OpIndex op) const { return placement_[static_cast<std::size_t>(op)]; }
  void StartOps(DeviceIndex device) {
    if (IsAlone(device)) return;
    State& state = states_[device];
    SharedDevice& shared = SharedOf(device);
    for (; state.first < state.last && !shared.full(); ++state.first) {
      const OpIndex op = queue_[state.first];
      if (StartableFrom(op, device) > now_) break;
      const Picos cost = c_.CostOf(op, device);
      if (shared.running() == 0) state.since = now_time();
      shared.Start(now_time(), op, cost);
      start_[op] = now_;
      Recorder::RecordStart(op);
      if (cutoff_ == kNever) continue;
      stopped_ = stopped_ || now_time() + std::max(state.left, cost + c_.tail[op]) > cutoff_;
      if (shared.IsNoFaster()) state.left -= cost;
    }
    if (has_collectives()) StartCollective(device);
    to_update_.Add(device);
  }
  // That of which the device's members were the last that were missing.
  void StartCollective(DeviceIndex at) {
    const Id collective =
        communicators_.Look(at, now_, [&](OpIndex member) { return StartableFrom(member, at); });
    if (collective == Compiled::kNone) return;
    const Picos price = communicators_.PriceOf(collective);
    communicators_.Start(collective, moments_.End(now_, price), [&](DeviceIndex device, const auto& members) {
      for (const OpIndex op : members) {
        start_[op] = now_;
        Recorder::RecordStart(op);
        stopped_ = stopped_ || (cutoff_ != kNever && now_time() + price + c_.tail[op] > cutoff_);
      }
      SharedOf(device).SetCollective(now_time(), true);
      to_update_.Add(device);
    });
  }
  // From when on an op at the head of a queue may start; kNone while that is not known.
  Moment StartableFrom(OpIndex op, DeviceIndex device) const {
    return counts_unfinished_ && !is_cpu(device) && unfinished_[op] > 0 ? kNone : issued_[op];
  }
  Moment UpdateRates(DeviceIndex device) {
    State& state = states_[device];
    SharedDevice& shared = SharedOf(device);
    const Picos end = shared.Update(now_time());
    state.free = end == kNever ? kNone : moments_.Due(end, now_);
    const Moment next = has_collectives() ? std::min(state.free, communicators_.Next(device)) : state.free;
    if (state.first == state.last || shared.full()) return next;
    const Moment issued = issued_[queue_[state.first]];
    return issued > now_ ? std::min(next, issued) : next;
  }

  Communicators<Moment> communicators_;
  ById<Kind> kinds_;
  ById<SharedDevice> shared_;
  bool slowed_by_copies_ = false;

  std::span<const DeviceIndex> placement_;
  Picos cutoff_ = kNever;
  bool stopped_ = false, ahead_ = false;
  bool counts_unfinished_ = false;  // else the order of a queue alone says that inputs are done
  ById<State> states_;
  ById<OpIndex> queue_;            // by device
  ById<Moment> start_, end_;       // by op
  ById<Moment> issued_;            // by op, not alone
  ById<std::int32_t> unfinished_;  // by op: local producers that have not ended
  IndexSet to_start_, to_update_;
};

}  // namespace stowplan::sim
