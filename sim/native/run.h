// A native run (docs/model.md). One loop over moments (moment.h), as a template over the links and over what
// holds a moment. Internal to sim/native/; issues and starts are in issues.h, ends of ops in ends.h, transfers in
// sending.h, what is left behind in records.h.
//
// What a thread, a device and a link will do is computed as soon as it is known, not when it happens. A device
// that works alone, one op at a time at a fixed rate, knows the start and the end of an op when it is issued; booked
// links (links/booked_links.h) know those of a transfer when it queues; and an op for which nothing is missing knows
// when it becomes issuable. So the events of a run are the ends of ops and, where the order of issue depends on
// times, that an idle thread finds something to do. Only where ops or flows share something are their ends found
// step by step.
//
// What holds memory is kept until the end of the run and accounted for then (peaks.h).
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/native/event_tree.h"
#include "sim/native/index_set.h"
#include "sim/native/issuable_ops.h"
#include "sim/native/moment.h"
#include "sim/native/peaks.h"
#include "sim/native/pipeline_order.h"
#include "sim/native/shared_device.h"
#include "sim/native/transfers.h"
#include "sim/simulator.h"

namespace stowplan::sim {

template <typename LinksOf, typename MomentOf>
class NativeRun {
 public:
  using Links = LinksOf;
  using Moment = MomentOf;
  // links: constructed from what MakeLinks() returns. `moments` must be able to hold every single duration.
  template <typename MakeLinks>
  NativeRun(const Problem& problem, const Moments<Moment>& moments, const MakeLinks& make_links);

  // nullptr if it takes longer than moments can hold.
  const Outcome* Run(const Placement& placement, const RunOptions& options);

 private:
  using Id = Compiled::Id;
  using BlockId = std::int32_t;  // place in blocks_
  static constexpr BlockId kNothing = 0;
  static constexpr Moment kNone = ~Moment{0};
  static constexpr DeviceIndex kAlone = -1;

  // How a run goes on: pass by pass; or, over booked links and on devices that work alone with threads of their own,
  // event by event, each with all that comes of it, by lists or by what is ready.
  enum class Way : std::uint8_t { kByPass, kByList, kByReady };

  // An op that has not been issued.
  struct Waiting {
    Moment known = 0;          // when it has the last of what it needs, of what is known
    std::int32_t missing = 0;  // dependencies that are not known
    DeviceIndex device = 0;
  };
  struct Thread {
    Moment free = 0;   // from when on it can issue the next op
    OpIndex next = 0;  // with lists: to be issued, of those in [place, last)
    std::int32_t place = 0, last = 0;
    OpIndex waits_for = -1;  // per process: the op on a CPU whose end is not known
  };
  // A device and its ops in the order of being issued: a segment of queue_ up to `last`. Of one that works
  // alone the ends of those from `first` on are known and to come; else those have not started.
  struct DeviceState {
    Moment free = 0;  // alone: when the last of them ends. Else: when the next running op ends
    std::int32_t first = 0, last = 0;
    Picos left = 0;  // cost of what has not started; counted from zero without a cutoff
    Picos busy = 0;
    Picos since = 0;  // not alone: when it became busy
  };
  struct DeviceKind {
    bool cpu;
    std::int32_t shared;  // its place in shared_; kAlone
  };
  struct Arrival {  // of an output on a device
    Moment when;
    BlockId block;
    std::int32_t number;
  };
  // Where what is due at one moment stands among what makes ops issuable then: ends of ops in the order of
  // processing, transfers in that of queueing, issues as they come.
  static constexpr std::int32_t kAtStart = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kFirstIssue = std::int32_t{1} << 30;

  void Reset(const Placement& placement, const RunOptions& options);
  void ResetDevices(const Placement& placement);
  void ResetOrder(const Placement& placement);
  void CountUnfinished();
  void Begin();
  void RunPasses();
  Moment NextPass() const;
  void Pass();
  void TakeEvents();
  template <Way kWay>
  void RunEvents();
  void NextEnd(DeviceIndex device);
  void EndLocals(OpIndex op, DeviceIndex device);
  void EndSharedOps(DeviceIndex device);
  void EndAll();
  void FinishOp(OpIndex op, DeviceIndex device);

  template <Way kWay>
  void MakeIssuable(OpIndex op);
  template <Way kWay>
  void SatisfyListed(OpIndex op, Moment when);
  template <Way kWay>
  void Satisfy(OpIndex op, Moment when, std::int32_t number);
  bool SatisfyLocals(OpIndex op, DeviceIndex device, Moment when, std::int32_t number);
  // When the readers on its device learn of an op that ends now, and the number of that. On an accelerator they could
  // have learned when it was issued; its thread has issued nothing since of which that could have come before.
  Moment LocalsKnown(DeviceIndex device) const {
    return kinds_[device].cpu ? now_ : threads_[ThreadOf(device)].free;
  }
  std::int32_t LocalsNumber(DeviceIndex device) const {
    return (kinds_[device].cpu ? kAtStart : kFirstIssue) + ended_count_;
  }
  template <Way kWay>
  void IssueList(std::int32_t thread);
  void RunThread(std::int32_t thread);
  template <Way kWay>
  void RunAlone(std::int32_t thread);
  template <Way kWay>
  void Issue(OpIndex op, std::int32_t thread, Moment at);
  void Schedule(OpIndex op, DeviceIndex device, Moment issued);
  void StartOps(DeviceIndex device);
  void UpdateRates(DeviceIndex device);
  void AllocateOutputs(OpIndex op, DeviceIndex device, Moment start, Moment freed);
  void HoldInputs(OpIndex op, Moment until);

  template <Way kWay>
  void Send(OpIndex op, DeviceIndex device);
  Arrival MakeTransfer(OpIndex op, const Compiled::Sender& sender, DeviceIndex from, DeviceIndex to);
  void QueueTransfers(OpIndex op, DeviceIndex device);
  void EndTransfers();
  void StartTransfers();
  Arrival QueueTransfer(OpIndex op, const Compiled::Sender& sender, DeviceIndex from, DeviceIndex to,
                        Id readers);
  Id FirstReader(TransferIndex t) const { return t == 0 ? 0 : transfers_[t - 1].readers_end; }
  void AddCopies(Id route, Picos move, int change);
  void BookCopies(Id route, Moment start, Moment end);
  void SendAll(OpIndex op);
  void TakeCopyEvents();

  BlockId Allocate(Moment at, Moment freed, Bytes bytes, DeviceIndex device, OpIndex owner) {
    if (bytes == 0) return kNothing;
    blocks_[blocks_end_] = {at, freed, RoundUp(bytes, granularity_[device]), device, owner};
    return blocks_end_++;
  }
  void Hold(BlockId block, Moment until) { blocks_[block].freed = std::max(blocks_[block].freed, until); }
  BlockId BlockOf(const Compiled::Sender& sender) const {
    return sender.output == Compiled::kNone ? kNothing : output_block_[sender.output];
  }

  void RecordTransfer(OpIndex op, const Compiled::Sender& sender, Id route);
  void RecordTimes(TransferIndex t, BlockId sent, Moment start, Moment end);
  TransferTimes& TimesOfTransfer(TransferIndex t) { return outcome_.transfers[static_cast<std::size_t>(t)]; }
  const Outcome* Finish();
  const Outcome* Stopped();
  void FinishMemory();
  void RecordMemory();

  bool IsBusy(DeviceIndex device) const { return devices_[device].first < devices_[device].last; }
  std::int32_t ThreadOf(DeviceIndex device) const { return one_thread_ ? 0 : device; }
  bool IsAlone(DeviceIndex device) const { return kinds_[device].shared == kAlone; }
  OpIndex Nobody() const { return c_.ops; }
  Picos now_time() const { return moments_.TimeOf(now_); }
  OpTimes& TimesOf(OpIndex op) { return outcome_.ops[static_cast<std::size_t>(op)]; }

  // ---- the problem ----
  const Problem& problem_;
  const Compiled& c_;
  const Moments<Moment> moments_;
  const bool one_thread_;  // for the process
  bool simple_ = true;     // all devices work alone and have threads of their own
  bool counts_copies_ = false;
  ById<DeviceKind> kinds_;
  ById<Bytes> granularity_;  // by device

  // ---- the run ----
  Moment now_ = 0;
  Picos cutoff_ = kNever;
  Moment limit_ = 0;      // no event from there on is taken
  bool stopped_ = false;  // the runtime is known to be beyond the cutoff
  bool records_ops_ = false, timeline_ = false;
  bool listed_ = false;  // threads issue in the order of lists
  bool locals_at_end_ =
      false;  // an accelerator's ops learn of local producers when these end, not when they are issued
  bool counts_unfinished_ = false;
  OpIndex ended_count_ = 0;
  std::int32_t issues_ = 0;
  ById<Waiting> waiting_;          // by op; the last one is nobody, for whom something is always missing
  ById<std::int32_t> last_known_;  // by op, without lists: the number of what gave `known`
  ById<Thread> threads_;
  ById<OpIndex> list_;  // by thread
  PipelineOrder pipeline_;
  IssuableOps<Moment> issuable_;
  ById<DeviceState> devices_;
  ById<OpIndex> queue_;  // by device
  // Numbers of events: an op that ends on a device alone, or behind the ops: the device or the thread of the process
  // has something to do.
  EventTree<Moment> events_;
  ById<SharedDevice> shared_;
  ById<Moment> end_;               // by op, alone
  ById<Moment> issued_;            // by op, not alone
  ById<std::int32_t> unfinished_;  // by op: local producers that have not ended
  ById<std::uint8_t> sends_;       // by op, where locals learn at the issue: whether others remain
  TransferIndex queued_ = 0;       // so many transfers have
  Links links_;

  // ---- memory ----
  ById<Block<Moment>> blocks_;  // what has been allocated; the first one is nothing
  BlockId blocks_end_ = 0;
  ById<BlockId> output_block_;     // by output: its own, or that which it shares
  ById<BlockId> input_block_;      // by in-edge: what it holds; the last one is for control dependencies
  ById<BlockId> workspace_block_;  // by op, not alone
  ById<Bytes> persistent_;         // by device
  Peaks<Moment> peaks_;

  // ---- links that are not booked ----
  Transfers transfers_;
  ById<BlockId> sent_block_, copy_block_;  // by transfer
  ById<Compiled::Edge> readers_;           // those of a transfer stand behind those of the one before
  bool transfers_changed_ = false;
  std::vector<TransferIndex> arrived_, started_;  // scratch

  struct CopyEvent {
    Moment moment;
    Picos move;
    Id route;
    int change;
    friend bool operator>(const CopyEvent& a, const CopyEvent& b) { return a.moment > b.moment; }
  };
  std::vector<CopyEvent> copies_;  // a heap: begins and ends of copies that slow ops down

  // ---- of a timeline ----
  struct Sent {
    BlockId block;
    Moment end;
  };
  ById<Sent> sent_;  // by transfer

  // ---- scratch of a pass ----
  ById<Arrival> arrivals_;  // of one sender, by device
  struct Queueing {
    Id readers = 0, next = 0;
  };
  ById<Queueing> queueing_;  // the same where links are not booked
  const IndexSet no_devices_;
  IndexSet threads_to_run_, devices_to_start_, rates_to_update_;
  struct Ended {
    DeviceIndex device;
    OpIndex op;
    friend auto operator<=>(const Ended&, const Ended&) = default;
  };
  std::vector<Ended> ended_;
  std::vector<OpIndex> ended_ops_;
  ById<std::int32_t> ops_of_;  // by thread
  Outcome outcome_;
};

template <typename Links, typename Moment>
template <typename MakeLinks>
NativeRun<Links, Moment>::NativeRun(const Problem& problem, const Moments<Moment>& moments,
                                    const MakeLinks& make_links)
    : problem_(problem),
      c_(problem.compiled()),
      moments_(moments),
      one_thread_(problem.cluster().dispatch.per == Dispatch::Per::kProcess),
      waiting_(static_cast<std::size_t>(c_.ops) + 1),
      threads_(one_thread_ ? 1 : static_cast<std::size_t>(c_.devices)),
      list_(static_cast<std::size_t>(c_.ops)),
      pipeline_(problem.graph()),
      issuable_(c_.ops),
      devices_(static_cast<std::size_t>(c_.devices)),
      queue_(static_cast<std::size_t>(c_.ops)),
      events_(c_.devices + 1),
      end_(static_cast<std::size_t>(c_.ops)),
      links_(make_links()),
      blocks_(MostBlocks(c_)),
      output_block_(c_.output_bytes.size()),
      input_block_(static_cast<std::size_t>(c_.inputs) + 1),
      persistent_(static_cast<std::size_t>(c_.devices)),
      peaks_(problem.cluster(), c_.ops, MostOwnBlocks(c_)),
      arrivals_(static_cast<std::size_t>(c_.devices)),
      queueing_(static_cast<std::size_t>(c_.devices)),
      no_devices_(c_.devices),
      threads_to_run_(static_cast<std::int32_t>(threads_.size())),
      devices_to_start_(c_.devices),
      rates_to_update_(c_.devices) {
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    const Device& device = problem.cluster().devices[static_cast<std::size_t>(d)];
    const bool alone = HasFixedRate(device);
    kinds_.push_back({c_.is_cpu[d] != 0, alone ? kAlone : static_cast<std::int32_t>(shared_.size())});
    granularity_.push_back(device.granularity);
    if (alone) continue;
    shared_.emplace_back(device, c_.ops);
    counts_copies_ = counts_copies_ || device.overlap_copy_ppm != kPpm;
  }
  simple_ = shared_.empty() && !one_thread_;
  if (!shared_.empty()) {
    issued_.resize(static_cast<std::size_t>(c_.ops));
    workspace_block_.resize(static_cast<std::size_t>(c_.ops));
  }
  if (Links::kBooked && counts_copies_) copies_.reserve(2 * c_.most_transfers);
  if (!Links::kBooked) {
    transfers_.resize(c_.most_transfers);
    for (auto* by_transfer : {&sent_block_, &copy_block_}) by_transfer->resize(c_.most_transfers);
    readers_.resize(c_.edges.size());
    for (auto* list : {&arrived_, &started_}) list->reserve(c_.most_transfers);
  }
  ended_.reserve(static_cast<std::size_t>(c_.ops));
  ended_ops_.reserve(static_cast<std::size_t>(c_.ops));
}

// ---- the start of a run -------------------------------------------------------------------------------------

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::Reset(const Placement& placement, const RunOptions& options) {
  STOWPLAN_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c_.ops));
  cutoff_ = options.cutoff.value_or(kNever);
  stopped_ = false;
  records_ops_ = options.record != RunOptions::Record::kNothing;
  timeline_ = options.record == RunOptions::Record::kTimeline;
  outcome_.ops.assign(records_ops_ ? static_cast<std::size_t>(c_.ops) : 0, {});
  outcome_.transfers.clear();
  outcome_.memory.clear();
  sent_.clear();
  ended_count_ = 0;
  issues_ = 0;
  queued_ = 0;
  blocks_end_ = kNothing + 1;
  transfers_changed_ = false;
  copies_.clear();
  events_.Clear();
  links_.Reset();
  for (SharedDevice& device : shared_) device.Reset();
  threads_to_run_.Clear();
  devices_to_start_.Clear();
  rates_to_update_.Clear();
  ResetDevices(placement);
  ResetOrder(placement);
  if (counts_unfinished_) CountUnfinished();
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::ResetDevices(const Placement& placement) {
  for (DeviceState& device : devices_) device = {};
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = placement.device[static_cast<std::size_t>(op)];
    waiting_[op] = {0, c_.dependencies[op], device};
    ++devices_[device].last;
    if (c_.persistent[op] != 0) persistent_[device] += RoundUp(c_.persistent[op], granularity_[device]);
  }
  waiting_[Nobody()] = {0, std::numeric_limits<std::int32_t>::max(), 0};
  std::int32_t begin = 0;
  for (DeviceState& device : devices_) {
    const std::int32_t ops = device.last;
    device.first = device.last = begin;
    begin += ops;
    device.free = 0;
  }
  for (DeviceIndex d = 0; d < c_.devices; ++d)
    if (!IsAlone(d)) devices_[d].free = kNone;
  if (cutoff_ == kNever) return;
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = waiting_[op].device;
    if (IsAlone(device) || shared_[kinds_[device].shared].IsNoFaster())
      devices_[device].left += c_.CostOf(op, device);
  }
  for (const DeviceState& device : devices_) stopped_ = stopped_ || device.left > cutoff_;
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::ResetOrder(const Placement& placement) {
  const bool by_program =
      placement.priority.empty() && c_.cluster->dispatch.order == Dispatch::Order::kProgram;
  const bool piped = placement.priority.empty() && placement.order.empty() && !pipeline_.empty();
  listed_ = !placement.order.empty() || by_program || piped;
  locals_at_end_ = !one_thread_ && (listed_ || simple_);
  counts_unfinished_ =
      !locals_at_end_ && std::any_of(shared_.begin(), shared_.end(),
                                     [](const SharedDevice& device) { return device.streams() > 1; });
  for (Thread& thread : threads_) thread = {.next = Nobody()};
  if (!locals_at_end_) sends_.resize(static_cast<std::size_t>(c_.ops));
  ops_of_.assign(threads_.size(), c_.ops);
  for (DeviceIndex d = 0; d < c_.devices && !one_thread_; ++d)
    ops_of_[d] = (d + 1 < c_.devices ? devices_[d + 1].first : c_.ops) - devices_[d].first;
  if (!listed_) {
    last_known_.assign(static_cast<std::size_t>(c_.ops), kAtStart);
    issuable_.Reset(ops_of_, placement.priority);
    return;
  }
  std::int32_t begin = 0;
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(threads_.size()); ++t) {
    threads_[t].place = threads_[t].last = begin;
    begin += ops_of_[t];
  }
  std::span<const OpIndex> list = c_.program_order;
  if (!placement.order.empty()) list = placement.order;
  if (piped) list = pipeline_.Of(placement.device);
  for (const OpIndex op : list) list_[threads_[ThreadOf(waiting_[op].device)].last++] = op;
}

// Else the order of a queue alone says that inputs are done.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::CountUnfinished() {
  unfinished_.assign(static_cast<std::size_t>(c_.ops), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = waiting_[op].device;
    for (Id e = c_.senders[c_.rows[op].sender].edge; e < c_.senders[c_.rows[op + 1].sender].edge; ++e)
      unfinished_[c_.edges[e].consumer] += waiting_[c_.edges[e].consumer].device == device;
  }
}

// Step 4 of the first pass finds what can be issued.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::Begin() {
  now_ = 0;
  if (!listed_) {
    for (OpIndex op = 0; op < c_.ops; ++op)
      if (waiting_[op].missing == 0) MakeIssuable<Way::kByPass>(op);
    return;
  }
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(threads_.size()); ++t) {
    Thread& thread = threads_[t];
    if (thread.place < thread.last) thread.next = list_[thread.place];
    if (waiting_[thread.next].missing == 0) IssueList<Way::kByPass>(t);
  }
}

// ---- the loop -----------------------------------------------------------------------------------------------

template <typename Links, typename Moment>
const Outcome* NativeRun<Links, Moment>::Run(const Placement& placement, const RunOptions& options) {
  Reset(placement, options);
  limit_ = std::min(Moments<Moment>::kTooLate, cutoff_ == kNever ? kNone : moments_.At(cutoff_ + 1));
  if (!stopped_) {
    Begin();
    if (!Links::kBooked || !simple_) {
      RunPasses();
    } else if (listed_) {
      RunEvents<Way::kByList>();
    } else {
      RunEvents<Way::kByReady>();
    }
  }
  if (stopped_) return Stopped();
  const Moment next = NextPass();
  if (next == kNone) return Finish();
  return next >= Moments<Moment>::kTooLate ? nullptr : Stopped();
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::RunPasses() {
  for (Moment next = now_; next < limit_ && !stopped_; next = NextPass()) {
    now_ = next;
    Pass();
  }
}

template <typename Links, typename Moment>
Moment NativeRun<Links, Moment>::NextPass() const {
  Moment next = events_.next().moment;
  if (!copies_.empty()) next = std::min(next, copies_.front().moment);
  if constexpr (!Links::kBooked) {
    if (const Picos due = links_.next(); due != kNever) next = std::min(next, moments_.Due(due, now_));
  }
  return next;
}

// The steps of docs/model.md section 6. Step 6 comes before 4 and 5: neither concerns the other.
template <typename Links, typename Moment>
void NativeRun<Links, Moment>::Pass() {
  TakeEvents();            // 1
  if (!simple_) EndAll();  // 1
  if constexpr (!Links::kBooked) {
    if (links_.next() == now_time()) EndTransfers();  // 2
  }
  for (const OpIndex op : ended_ops_) SendAll(op);  // 6
  ended_ops_.clear();
  threads_to_run_.Drain([this](std::int32_t thread) { RunThread(thread); });      // 4
  if (!simple_) devices_to_start_.Drain([this](DeviceIndex d) { StartOps(d); });  // 5
  if constexpr (!Links::kBooked) StartTransfers();                                // 7
  if (simple_) return;
  TakeCopyEvents();                                                   // 7
  rates_to_update_.Drain([this](DeviceIndex d) { UpdateRates(d); });  // 7
}

template <typename Links, typename Moment>
inline void NativeRun<Links, Moment>::TakeEvents() {
  for (auto event = events_.next(); event.moment <= now_; event = events_.next()) {
    if (event.number < c_.ops) {
      const OpIndex op = event.number;
      const DeviceIndex device = waiting_[op].device;
      NextEnd(device);
      if (simple_) {  // no two of one device, and in the order of ops
        ++ended_count_;
        EndLocals(op, device);
        ended_ops_.push_back(op);
      } else {
        ended_.push_back({device, op});
      }
      continue;
    }
    const std::int32_t source = event.number - c_.ops;
    events_.SetNone(source);
    if (source == c_.devices || IsAlone(source)) {
      threads_to_run_.Add(ThreadOf(source));
    } else {
      EndSharedOps(source);
    }
  }
}

// Without passes. Nothing else of an event's moment concerns what comes of it, and in the order of ops, in which those of
// one moment end, their transfers queue.
template <typename Links, typename Moment>
template <typename NativeRun<Links, Moment>::Way kWay>
[[gnu::noinline, gnu::flatten]] void NativeRun<Links, Moment>::RunEvents() {
  constexpr bool kByReady = kWay == Way::kByReady;
  const auto run_idle = [this](std::int32_t thread) {
    if (!IsBusy(thread)) RunAlone<kWay>(thread);
  };
  if (kByReady) threads_to_run_.Drain(run_idle);
  for (auto event = events_.next(); event.moment < limit_ && !stopped_; event = events_.next()) {
    now_ = event.moment;
    if (kByReady && event.number >= c_.ops) {
      RunAlone<kWay>(event.number - c_.ops);
      continue;
    }
    const OpIndex op = event.number;
    const DeviceIndex device = waiting_[op].device;
    ++ended_count_;
    if (!kByReady) NextEnd(device);
    Send<kWay>(op, device);
    if (!kByReady) continue;
    ++devices_[device].first;
    RunAlone<kWay>(device);
    threads_to_run_.Drain(run_idle);
  }
}

}  // namespace stowplan::sim
