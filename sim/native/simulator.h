// The native rules (docs/model.md), as a template over the interconnect. Internal to sim/; included only by
// the files of sim/interconnect/. The steps of a pass bear the numbers of docs/model.md section 6; those of
// ops are in op_steps.h, those of transfers in transfer_steps.h.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sim/error.h"
#include "sim/interconnect.h"
#include "sim/native/run_state.h"

namespace berth::sim {

template <typename Links>
class NativeIncremental;

// In which segment of a run (numbered by who asks for it) things were processed.
struct SegmentLog {
  using Segment = std::int32_t;
  Segment now = 0;
  ById<Segment> taken, issued, ended;  // by op
  ById<Segment> arrived;               // by transfer
};

template <typename Links>
class NativeSimulator : public Simulator {
 public:
  // spare: see RunState.
  explicit NativeSimulator(const Problem& problem, std::int32_t spare = 0);
  const Outcome& Run(const Placement& placement, const RunOptions& options) override;

 private:
  friend class NativeIncremental<Links>;
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;

  void Reset(const Placement& placement, const RunOptions& options);
  void ResetQueues(const Placement& placement);
  void AllocatePersistent();
  void BeginIssues();
  bool Step(Picos next);
  void Pass();
  void EndDue();
  void End(std::int32_t timer);

  void EndOps(DeviceIndex device);             // 1, 3
  void EndOp(OpIndex op, DeviceIndex device);  // 1, 3
  void EndTransfers();                         // 2, 3
  void CatchUp(DeviceIndex device);
  void RunThread(std::int32_t thread);                          // 4
  void FinishIssue(std::int32_t thread, OpIndex op, Picos at);  // 4
  void StartOps(DeviceIndex device);                            // 5
  void StartIssuing(DeviceIndex device);
  void SetTimer(DeviceIndex device);
  void AllocateStarted();  // 5
  void QueueTransfers();   // 6
  void StartTransfers();   // 7
  void UpdateRates();

  void Satisfy(OpIndex op);
  void Release(StorageId storage);
  void FreeStorage(StorageId storage);
  void AddCopies(const Transfer& transfer, int change);
  void FinishOutcome();

  bool RecordsOps() const { return !outcome_.ops.empty(); }
  OpTimes& TimesOf(OpIndex op) { return outcome_.ops[static_cast<std::size_t>(op)]; }
  TransferTimes& TimesOfTransfer(TransferIndex t) { return outcome_.transfers[static_cast<std::size_t>(t)]; }
  std::int32_t ThreadOf(DeviceIndex device) const { return shared_thread_ ? 0 : device; }
  std::int32_t TransferTimer() const { return c_.devices; }
  std::int32_t ProcessTimer() const { return c_.devices + 1; }
  bool CatchesUp(DeviceIndex device) const { return catch_up_ && kinds_[device].shared < 0; }
  MemoryTracker::Request OutputRequest(OpIndex op, DeviceIndex device, Picos time, std::int32_t pass) const;

  // Else the queue's order alone says that inputs are done: ops are issued when their local producers have
  // ended, or end in the order of being issued.
  static bool NeedsUnfinished(const Device& device) {
    return device.device_class != DeviceClass::kCpu && device.streams > 1;
  }

  struct DeviceKind {
    bool cpu;
    bool in_order;        // not NeedsUnfinished()
    std::int32_t shared;  // its place in RunState::shared, -1: it runs one op at a fixed rate
  };

  const Problem& problem_;
  const Compiled& c_;
  const bool shared_thread_;
  const std::int32_t spare_;
  ById<DeviceKind> kinds_;
  Plan plan_;
  RunState<Links> s_;
  const Transfers transfers_{plan_.transfers, s_.queued};
  RunOptions options_;
  bool timeline_ = false;
  bool catch_up_ = false;  // threads are left behind (ThreadState)
  SegmentLog* log_ = nullptr;
  Outcome outcome_;

  // Scratch of one pass.
  Picos before_ = 0;  // what was due before this time has been done: now, and from step 4 on now + 1
  std::vector<OpIndex> ended_, sending_, starting_;
  std::vector<TransferIndex> arrived_, started_;
  bool transfers_changed_ = false;
  IndexSet threads_to_run_, devices_to_start_, rates_to_update_;
  ById<std::int32_t> ops_of_;  // by device, then by thread
};

template <typename Links>
NativeSimulator<Links>::NativeSimulator(const Problem& problem, std::int32_t spare)
    : problem_(problem),
      c_(problem.compiled()),
      shared_thread_(problem.cluster().dispatch.per == Dispatch::Per::kProcess),
      spare_(spare),
      plan_(c_,
            std::any_of(problem.cluster().devices.begin(), problem.cluster().devices.end(), NeedsUnfinished)),
      s_(c_, shared_thread_ ? 1 : c_.devices, spare),
      threads_to_run_(shared_thread_ ? 1 : c_.devices),
      devices_to_start_(c_.devices),
      rates_to_update_(c_.devices) {
  for (auto* list : {&ended_, &sending_, &starting_}) list->reserve(static_cast<std::size_t>(c_.ops));
  for (auto* list : {&arrived_, &started_}) list->reserve(c_.edge_consumer.size());
  std::int32_t shared = 0;
  for (const Device& device : problem.cluster().devices) {
    const bool cpu = device.device_class == DeviceClass::kCpu;
    kinds_.push_back({cpu, !NeedsUnfinished(device), HasFixedRate(device) ? -1 : shared++});
  }
}

template <typename Links>
const Outcome& NativeSimulator<Links>::Run(const Placement& placement, const RunOptions& options) {
  Reset(placement, options);
  AllocatePersistent();
  BeginIssues();
  // The first pass, at time 0, has nothing that ends.
  for (Picos next = 0; next != kNever && Step(next); next = s_.events.time()) {
  }
  BERTH_CHECK(outcome_.stopped || s_.ended_ops == c_.ops);
  FinishOutcome();
  return outcome_;
}

template <typename Links>
void NativeSimulator<Links>::BeginIssues() {
  for (OpIndex op = 0; op < c_.ops; ++op) {
    if (s_.counts.ops[op].missing > 0) continue;
    const std::int32_t thread = ThreadOf(s_.counts.ops[op].device);
    s_.issuable.BecomesIssuable(thread, op);
    threads_to_run_.Add(thread);
  }
}

// Makes the next pass, at time `next`; false if the run is given up instead.
template <typename Links>
bool NativeSimulator<Links>::Step(Picos next) {
  s_.pass = next == s_.now ? s_.pass + 1 : 1;
  s_.now = next;
  if (next > options_.cutoff.value_or(kNever)) {
    outcome_.stopped = true;
    return false;
  }
  Pass();
  return true;
}

template <typename Links>
void NativeSimulator<Links>::Reset(const Placement& placement, const RunOptions& options) {
  BERTH_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c_.ops));
  options_ = options;
  timeline_ = options.record == RunOptions::Record::kTimeline;
  outcome_.stopped = false;
  outcome_.ops.assign(options.record == RunOptions::Record::kNothing ? 0 : static_cast<std::size_t>(c_.ops),
                      {});
  outcome_.transfers.clear();
  outcome_.memory.clear();

  plan_.Make(placement, s_.counts);
  // Recorded changes of memory stand in their order, so nothing may be done late.
  catch_up_ = !timeline_ && !shared_thread_;
  s_.now = 0;
  s_.pass = 0;
  s_.ended_ops = 0;
  s_.events.Clear();
  for (SharedDevice& device : s_.shared) device.Reset();
  std::fill(s_.threads.begin(), s_.threads.end(), ThreadState{});
  s_.queued.clear();
  s_.light.Clear();
  s_.meter.Reset();
  s_.memory.Reset(timeline_ ? &outcome_.memory : nullptr);
  s_.links.Reset(plan_.route_transfers);
  threads_to_run_.Clear();
  devices_to_start_.Clear();
  rates_to_update_.Clear();
  ResetQueues(placement);
}

template <typename Links>
void NativeSimulator<Links>::ResetQueues(const Placement& placement) {
  ops_of_.assign(static_cast<std::size_t>(c_.devices), 0);
  for (const DeviceIndex device : placement.device) ++ops_of_[device];
  std::int32_t begin = 0;
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    s_.devices[d] = {.head = begin, .tail = begin};
    begin += ops_of_[d] + spare_;
  }
  if (shared_thread_) ops_of_.assign(1, c_.ops);

  const auto reset = [&](IssueQueues::Order order, std::span<const OpIndex> list) {
    s_.issuable.Reset(
        ops_of_, [&](OpIndex op) { return ThreadOf(s_.counts.ops[op].device); }, order, list,
        placement.priority);
  };
  if (!placement.order.empty()) {
    reset(IssueQueues::Order::kList, placement.order);
  } else if (!placement.priority.empty()) {
    reset(IssueQueues::Order::kPriority, {});
  } else if (c_.cluster->dispatch.order == Dispatch::Order::kProgram) {
    reset(IssueQueues::Order::kList, c_.program_order);
  } else {
    reset(IssueQueues::Order::kFirstIssuable, {});
  }
}

template <typename Links>
void NativeSimulator<Links>::AllocatePersistent() {
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = s_.counts.ops[op].device;
    s_.memory.Allocate(device,
                       {.turn = {0, 0, op},
                        .op = op,
                        .what = OutOfMemory::What::kPersistent,
                        .bytes = s_.memory.Rounded(device, c_.persistent[op])},
                       0);
  }
}

template <typename Links>
void NativeSimulator<Links>::Pass() {
  sending_.clear();
  before_ = s_.pass > 1 ? s_.now + 1 : s_.now;
  EndDue();
  before_ = s_.now + 1;
  threads_to_run_.Drain([&](std::int32_t thread) { RunThread(thread); });
  starting_.clear();
  devices_to_start_.Drain([&](DeviceIndex device) { StartOps(device); });
  AllocateStarted();
  QueueTransfers();
  StartTransfers();
  UpdateRates();
}

// Whatever is due is looked at again later in the pass and its timer set then, so that it need not be stopped
// here, unless it hides another one.
template <typename Links>
void NativeSimulator<Links>::EndDue() {
  if (s_.events.time() != s_.now) return;  // the first pass
  const std::int32_t timer = s_.events.first();
  const bool ties = s_.events.Ties(timer);
  End(timer);
  if (!ties) return;
  s_.events.Set(timer, kNever);
  while (s_.events.time() == s_.now) {
    const std::int32_t next = s_.events.first();
    s_.events.Set(next, kNever);
    End(next);
  }
}

// Timers of devices come before that of the transfers, as the steps do.
template <typename Links>
void NativeSimulator<Links>::End(std::int32_t timer) {
  if (timer < c_.devices) {
    threads_to_run_.Add(ThreadOf(timer));
    if (s_.devices[timer].end == s_.now) EndOps(timer);
    devices_to_start_.Add(timer);
  } else if (timer == TransferTimer()) {
    EndTransfers();
  } else {
    threads_to_run_.Add(0);
  }
}

template <typename Links>
void NativeSimulator<Links>::FinishOutcome() {
  outcome_.runtime = s_.now;
  outcome_.oom = s_.memory.oom();
  outcome_.devices.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d)
    outcome_.devices.push_back({s_.devices[d].busy, s_.memory.peak(d)});
  s_.meter.Report(outcome_.links);
}

}  // namespace berth::sim

#include "sim/native/op_steps.h"
#include "sim/native/transfer_steps.h"
