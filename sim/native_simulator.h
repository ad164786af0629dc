// The native preset (docs/model.md), as a template over the interconnect. Internal to sim/; included only by
// the files of sim/interconnect/. The steps of a pass bear the numbers of docs/model.md section 6.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/device_state.h"
#include "sim/error.h"
#include "sim/interconnect.h"
#include "sim/issue_queue.h"
#include "sim/memory_tracker.h"
#include "sim/transfer.h"

namespace berth::sim {

template <typename Links>
class NativeSimulator : public Simulator {
 public:
  explicit NativeSimulator(const Problem& problem);
  const Outcome& Run(const Placement& placement, const RunOptions& options) override;

 private:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;

  // Who owns the storage of an output on its device: nobody (no bytes, or persistent), the output itself, or
  // the copy that a transfer brought.
  struct Storage {
    enum class Kind : std::uint8_t { kNone, kOutput, kCopy } kind = Kind::kNone;
    std::int32_t index = 0;  // output id or transfer
  };

  struct Thread {
    OpIndex issuing = -1;
    Picos due = kNever;    // when it will be issued
    OpIndex waiting = -1;  // per process: the CPU op whose end it waits for
  };

  void Reset(const Placement& placement, const RunOptions& options);
  void ResetCounters(const Placement& placement);
  void AllocatePersistent();
  Picos NextTime() const;
  void Pass();
  void EndOps();  // 1, 3
  void EndOp(OpIndex op);
  void EndTransfers();  // 2, 3
  void Issue();         // 4
  void RunThread(std::int32_t thread);
  void FinishIssue(std::int32_t thread, OpIndex op);
  void StartOps();  // 5
  void AllocateOutputs(OpIndex op);
  void QueueTransfers();  // 6
  void QueueTransfersOf(OpIndex op);
  void StartTransfers();  // 7
  void FinishOutcome();

  void Satisfy(OpIndex op);
  bool MayStart(DeviceIndex device) const;
  Storage StorageOfInput(Id edge) const;
  void Hold(Storage storage, int holders);
  void Release(Storage storage, int holders = 1);
  DeviceIndex DeviceOf(OpIndex op) const { return (*device_of_)[static_cast<std::size_t>(op)]; }
  std::int32_t ThreadOf(DeviceIndex device) const { return threads_.size() == 1 ? 0 : device; }
  Transfer& At(TransferIndex t) { return transfers_[static_cast<std::size_t>(t)]; }

  template <typename T>
  static auto& Get(std::vector<T>& values, std::int32_t index) {
    return values[static_cast<std::size_t>(index)];
  }
  template <typename T>
  static const auto& Get(const std::vector<T>& values, std::int32_t index) {
    return values[static_cast<std::size_t>(index)];
  }

  const Problem& problem_;
  const Compiled& c_;
  const bool shared_thread_;
  Links links_;
  LinkMeter meter_;
  MemoryTracker memory_;
  IssueQueues issuable_;
  std::vector<RunningOps> running_;     // by device
  std::vector<std::uint8_t> in_order_;  // by device: the queue's order alone says that inputs are done
  std::vector<Picos> due_;              // by device: when its next op ends
  std::vector<Thread> threads_;

  // By op.
  const std::vector<DeviceIndex>* device_of_ = nullptr;
  std::vector<std::int32_t> missing_;     // dependencies until issuable
  std::vector<std::int32_t> unfinished_;  // local producers not yet ended (devices that are not in_order_)
  std::vector<std::int32_t> thread_of_;
  // By output.
  std::vector<Storage> storage_;
  std::vector<std::int32_t> holders_;
  // By edge: the transfer that brought it, if remote.
  std::vector<TransferIndex> brought_by_;

  // Device queues: stretches of one array, as in IssueQueues.
  std::vector<OpIndex> queue_;
  std::vector<std::int32_t> queue_head_, queue_tail_;

  std::vector<Transfer> transfers_;  // the first queued_until_ have been given to links_
  std::size_t queued_until_ = 0;
  DueHeap light_;

  Picos now_ = 0;
  std::int64_t ended_ops_ = 0;
  RunOptions options_;
  Outcome outcome_;
  // Scratch of one pass.
  std::vector<OpIndex> ended_, starting_;
  std::vector<TransferIndex> arrived_, started_;
  std::vector<DeviceIndex> destinations_;
  std::vector<std::uint8_t> queue_changed_;  // by device
};

template <typename Links>
NativeSimulator<Links>::NativeSimulator(const Problem& problem)
    : problem_(problem),
      c_(problem.compiled()),
      shared_thread_(problem.cluster().dispatch.per == Dispatch::Per::kProcess),
      links_(c_),
      memory_(problem.cluster()),
      threads_(shared_thread_ ? 1 : problem.cluster().devices.size()) {
  for (const Device& device : problem.cluster().devices) {
    running_.emplace_back(device);
    in_order_.push_back(device.streams == 1 || device.device_class == DeviceClass::kCpu);
  }
  const auto ops = static_cast<std::size_t>(c_.ops);
  missing_.resize(ops);
  unfinished_.resize(ops);
  thread_of_.resize(ops);
  queue_.resize(ops);
  storage_.resize(c_.output_bytes.size());
  holders_.resize(c_.output_bytes.size());
  brought_by_.resize(c_.edge_consumer.size());
  transfers_.reserve(c_.edge_consumer.size());
}

template <typename Links>
const Outcome& NativeSimulator<Links>::Run(const Placement& placement, const RunOptions& options) {
  Reset(placement, options);
  AllocatePersistent();
  for (OpIndex op = 0; op < c_.ops; ++op) {
    if (Get(missing_, op) == 0) issuable_.BecomesIssuable(Get(thread_of_, op), op);
  }
  // The first pass, at time 0, has nothing that ends.
  for (Picos next = 0; next != kNever; next = NextTime()) {
    if (options_.cutoff && next > *options_.cutoff) {
      outcome_.stopped = true;
      now_ = next;
      break;
    }
    now_ = next;
    Pass();
  }
  BERTH_CHECK(outcome_.stopped || ended_ops_ == c_.ops);
  FinishOutcome();
  return outcome_;
}

template <typename Links>
void NativeSimulator<Links>::Reset(const Placement& placement, const RunOptions& options) {
  BERTH_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c_.ops));
  options_ = options;
  device_of_ = &placement.device;
  const bool timeline = options.record == RunOptions::Record::kTimeline;
  outcome_.runtime = 0;
  outcome_.oom.reset();
  outcome_.stopped = false;
  outcome_.ops.assign(options.record == RunOptions::Record::kNothing ? 0 : static_cast<std::size_t>(c_.ops),
                      {});
  outcome_.transfers.clear();
  outcome_.memory.clear();
  memory_.Reset(timeline ? &outcome_.memory : nullptr);
  meter_.Reset(c_.cluster->links.size());
  links_.Reset();
  light_.Clear();
  transfers_.clear();
  queued_until_ = 0;
  std::fill(threads_.begin(), threads_.end(), Thread{});
  due_.assign(static_cast<std::size_t>(c_.devices), kNever);
  queue_changed_.assign(static_cast<std::size_t>(c_.devices), 0);
  for (RunningOps& running : running_) running.Reset();
  now_ = 0;
  ended_ops_ = 0;
  ResetCounters(placement);
}

template <typename Links>
void NativeSimulator<Links>::ResetCounters(const Placement& placement) {
  std::fill(missing_.begin(), missing_.end(), 0);
  std::fill(unfinished_.begin(), unfinished_.end(), 0);
  queue_head_.assign(static_cast<std::size_t>(c_.devices), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = DeviceOf(op);
    ++Get(queue_head_, device);
    Get(thread_of_, op) = ThreadOf(device);
    for (Id e = Get(c_.edge_begin, op); e < Get(c_.edge_begin, op + 1); ++e) {
      const OpIndex consumer = Get(c_.edge_consumer, e);
      const bool local = DeviceOf(consumer) == device;
      const std::int32_t first = Get(c_.edge_first, e);
      // A local producer counts once, a remote one once for each output that must arrive.
      Get(missing_, consumer) += local ? first : 1;
      Get(unfinished_, consumer) += local ? first : 0;
    }
  }
  std::int32_t begin = 0;
  for (auto& head : queue_head_) begin += std::exchange(head, begin);
  queue_tail_ = queue_head_;

  const bool program = c_.cluster->dispatch.order == Dispatch::Order::kProgram;
  if (!placement.order.empty()) {
    issuable_.Reset(static_cast<int>(threads_.size()), thread_of_, IssueQueues::Order::kList, placement.order,
                    {});
  } else if (!placement.priority.empty()) {
    issuable_.Reset(static_cast<int>(threads_.size()), thread_of_, IssueQueues::Order::kPriority, {},
                    placement.priority);
  } else {
    issuable_.Reset(static_cast<int>(threads_.size()), thread_of_,
                    program ? IssueQueues::Order::kList : IssueQueues::Order::kFirstIssuable,
                    c_.program_order, {});
  }
}

template <typename Links>
void NativeSimulator<Links>::AllocatePersistent() {
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex device = DeviceOf(op);
    memory_.Allocate(0, device, op, OutOfMemory::What::kPersistent,
                     memory_.Rounded(device, Get(c_.persistent, op)));
  }
}

template <typename Links>
Picos NativeSimulator<Links>::NextTime() const {
  Picos next = std::min(light_.next(), links_.next());
  for (const Picos due : due_) next = std::min(next, due);
  for (const Thread& thread : threads_) next = std::min(next, thread.due);
  return next;
}

template <typename Links>
void NativeSimulator<Links>::Pass() {
  EndOps();
  EndTransfers();
  Issue();
  StartOps();
  QueueTransfers();
  StartTransfers();
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    RunningOps& running = Get(running_, d);
    running.Update(now_);
    Get(due_, d) = running.next();
  }
}

// ---- 1: ops end -------------------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::EndOps() {
  ended_.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    if (Get(due_, d) != now_) continue;
    Get(queue_changed_, d) = 1;  // a stream is free
    Get(running_, d).PopEnded(now_, ended_);
  }
  for (const OpIndex op : ended_) EndOp(op);
}

template <typename Links>
void NativeSimulator<Links>::EndOp(OpIndex op) {
  const DeviceIndex device = DeviceOf(op);
  ++ended_ops_;
  if (!outcome_.ops.empty()) Get(outcome_.ops, op).end = now_;
  if (shared_thread_ && threads_.front().waiting == op) threads_.front().waiting = -1;
  const bool cpu = Get(c_.is_cpu, device) != 0;
  if (cpu || !Get(in_order_, device)) {
    for (Id i = Get(c_.consumer_begin, op); i < Get(c_.consumer_begin, op + 1); ++i) {
      const OpIndex consumer = Get(c_.consumer, i);
      if (DeviceOf(consumer) != device) continue;
      --Get(unfinished_, consumer);
      if (cpu) Satisfy(consumer);
    }
  }
  // The readers that will hold what it made: local consumers here, transfers when they queue in step 6 of
  // this pass.
  for (Id e = Get(c_.edge_begin, op); e < Get(c_.edge_begin, op + 1); ++e) {
    const Id output = Get(c_.edge_output, e);
    if (output != Compiled::kNone && DeviceOf(Get(c_.edge_consumer, e)) == device)
      Hold(Get(storage_, output), 1);
  }
  QueueTransfersOf(op);
  for (Id o = Get(c_.output_begin, op); o < Get(c_.output_begin, op + 1); ++o) Release(Get(storage_, o));
  memory_.Free(now_, device, op, OutOfMemory::What::kOutput, memory_.Rounded(device, Get(c_.workspace, op)));
  for (Id i = Get(c_.input_begin, op); i < Get(c_.input_begin, op + 1); ++i)
    Release(StorageOfInput(Get(c_.input_edge, i)));
}

template <typename Links>
typename NativeSimulator<Links>::Storage NativeSimulator<Links>::StorageOfInput(Id edge) const {
  if (DeviceOf(Get(c_.edge_producer, edge)) == DeviceOf(Get(c_.edge_consumer, edge))) {
    return Get(storage_, Get(c_.edge_output, edge));
  }
  const TransferIndex transfer = Get(brought_by_, edge);
  if (Get(transfers_, transfer).light) return {};
  return {Storage::Kind::kCopy, transfer};
}

template <typename Links>
void NativeSimulator<Links>::Hold(Storage storage, int holders) {
  if (storage.kind == Storage::Kind::kOutput) Get(holders_, storage.index) += holders;
  if (storage.kind == Storage::Kind::kCopy) At(storage.index).holders += holders;
}

template <typename Links>
void NativeSimulator<Links>::Release(Storage storage, int holders) {
  if (storage.kind == Storage::Kind::kOutput) {
    auto& left = Get(holders_, storage.index);
    left -= holders;
    if (left > 0) return;
    const OpIndex op = Get(c_.output_producer, storage.index);
    const DeviceIndex device = DeviceOf(op);
    memory_.Free(now_, device, op, OutOfMemory::What::kOutput,
                 memory_.Rounded(device, Get(c_.output_bytes, storage.index)));
  } else if (storage.kind == Storage::Kind::kCopy) {
    Transfer& transfer = At(storage.index);
    transfer.holders -= holders;
    if (transfer.holders > 0) return;
    memory_.Free(now_, transfer.to, transfer.producer, OutOfMemory::What::kCopy,
                 memory_.Rounded(transfer.to, transfer.bytes));
  }
}

template <typename Links>
void NativeSimulator<Links>::Satisfy(OpIndex op) {
  if (--Get(missing_, op) == 0) issuable_.BecomesIssuable(Get(thread_of_, op), op);
}

// ---- 2: transfers end -------------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::EndTransfers() {
  arrived_.clear();
  links_.End(now_, transfers_, arrived_);
  light_.PopDue(now_, arrived_);
  if (arrived_.size() > 1) std::sort(arrived_.begin(), arrived_.end());
  for (const TransferIndex index : arrived_) {
    Transfer& transfer = At(index);
    transfer.end = now_;
    if (!transfer.light) {
      meter_.End(c_, transfer, now_);
      if (transfer.move + transfer.route->latency > 0) {
        Get(running_, transfer.from).AddCopies(now_, -1);
        Get(running_, transfer.to).AddCopies(now_, -1);
      }
    }
    const OpIndex producer = transfer.producer;
    int readers = 0;
    for (Id e = Get(c_.edge_begin, producer); e < Get(c_.edge_begin, producer + 1); ++e) {
      if (Get(c_.edge_output, e) != transfer.output) continue;
      const OpIndex consumer = Get(c_.edge_consumer, e);
      if (DeviceOf(consumer) != transfer.to) continue;
      Get(brought_by_, e) = index;
      ++readers;
      Satisfy(consumer);
    }
    if (transfer.light) continue;
    transfer.holders += readers;
    Release(Get(storage_, transfer.output));  // the source is sent
    Release({Storage::Kind::kCopy, index});   // the transfer itself
  }
}

// ---- 4: issues --------------------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::Issue() {
  for (std::int32_t thread = 0; thread < static_cast<std::int32_t>(threads_.size()); ++thread)
    RunThread(thread);
}

template <typename Links>
void NativeSimulator<Links>::RunThread(std::int32_t index) {
  Thread& thread = Get(threads_, index);
  if (thread.due == now_) {
    thread.due = kNever;
    FinishIssue(index, std::exchange(thread.issuing, -1));
  }
  while (thread.issuing < 0 && thread.waiting < 0 && issuable_.HasNext(index)) {
    const OpIndex op = issuable_.Take(index);
    const Picos cost = Get(c_.dispatch_cost, DeviceOf(op)) * Get(c_.dispatch_ops, op);
    if (cost > 0) {
      thread.issuing = op;
      thread.due = now_ + cost;
    } else {
      FinishIssue(index, op);
    }
  }
}

template <typename Links>
void NativeSimulator<Links>::FinishIssue(std::int32_t index, OpIndex op) {
  const DeviceIndex device = DeviceOf(op);
  Get(queue_, Get(queue_tail_, device)++) = op;
  Get(queue_changed_, device) = 1;
  if (!outcome_.ops.empty()) Get(outcome_.ops, op).issue = now_;
  if (Get(c_.is_cpu, device)) {
    if (shared_thread_) Get(threads_, index).waiting = op;
    return;
  }
  for (Id i = Get(c_.consumer_begin, op); i < Get(c_.consumer_begin, op + 1); ++i) {
    const OpIndex consumer = Get(c_.consumer, i);
    if (DeviceOf(consumer) == device) Satisfy(consumer);
  }
}

// ---- 5: starts --------------------------------------------------------------------------------------------

template <typename Links>
bool NativeSimulator<Links>::MayStart(DeviceIndex device) const {
  const std::int32_t head = Get(queue_head_, device);
  if (head >= Get(queue_tail_, device) || Get(running_, device).full()) return false;
  return Get(in_order_, device) || Get(unfinished_, Get(queue_, head)) == 0;
}

template <typename Links>
void NativeSimulator<Links>::StartOps() {
  starting_.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    if (!Get(queue_changed_, d)) continue;
    Get(queue_changed_, d) = 0;
    while (MayStart(d)) {
      const OpIndex op = Get(queue_, Get(queue_head_, d)++);
      Get(running_, d)
          .Start(now_, op,
                 c_.cost[static_cast<std::size_t>(op) * static_cast<std::size_t>(c_.devices) +
                         static_cast<std::size_t>(d)]);
      starting_.push_back(op);
    }
  }
  if (starting_.size() > 1) std::sort(starting_.begin(), starting_.end());
  for (const OpIndex op : starting_) {
    if (!outcome_.ops.empty()) Get(outcome_.ops, op).start = now_;
    AllocateOutputs(op);
  }
}

template <typename Links>
void NativeSimulator<Links>::AllocateOutputs(OpIndex op) {
  const DeviceIndex device = DeviceOf(op);
  Bytes request = memory_.Rounded(device, Get(c_.workspace, op));
  for (Id o = Get(c_.output_begin, op); o < Get(c_.output_begin, op + 1); ++o) {
    Storage storage;
    switch (Get(c_.output_storage, o)) {
      case Output::Storage::kPersistent:
        break;
      case Output::Storage::kOwn:
        if (Get(c_.output_bytes, o) == 0) break;
        storage = {Storage::Kind::kOutput, o};
        request += memory_.Rounded(device, Get(c_.output_bytes, o));
        Get(holders_, o) = 0;
        break;
      case Output::Storage::kInput:
        for (Id i = Get(c_.input_begin, op); i < Get(c_.input_begin, op + 1); ++i) {
          const Id edge = Get(c_.input_edge, i);
          if (Get(c_.edge_output, edge) == Get(c_.output_alias, o)) storage = StorageOfInput(edge);
        }
        break;
    }
    Get(storage_, o) = storage;
    Hold(storage, 1);  // the op itself, until it ends
  }
  memory_.Allocate(now_, device, op, OutOfMemory::What::kOutput, request);
}

// ---- 6: transfers queue -----------------------------------------------------------------------------------

// Notes the transfers that the end of an op makes due, in the order (output, destination). They hold their
// source from now on; QueueTransfers() gives them to the interconnect.
template <typename Links>
void NativeSimulator<Links>::QueueTransfersOf(OpIndex op) {
  const DeviceIndex device = DeviceOf(op);
  const Id last = Get(c_.edge_begin, op + 1);
  for (Id e = Get(c_.edge_begin, op); e < last;) {
    const Id output = Get(c_.edge_output, e);
    destinations_.clear();
    for (; e < last && Get(c_.edge_output, e) == output; ++e) {
      const DeviceIndex to = DeviceOf(Get(c_.edge_consumer, e));
      if (to != device) destinations_.push_back(to);
    }
    if (destinations_.size() > 1) {
      std::sort(destinations_.begin(), destinations_.end());
      destinations_.erase(std::unique(destinations_.begin(), destinations_.end()), destinations_.end());
    }
    for (const DeviceIndex to : destinations_) {
      Transfer transfer;
      transfer.output = output;
      transfer.producer = op;
      transfer.from = device;
      transfer.to = to;
      transfer.bytes = output == Compiled::kNone ? 0 : Get(c_.output_bytes, output);
      transfer.light = transfer.bytes == 0;
      transfer.route = &c_.route(device, to);
      transfer.queued = now_;
      if (!transfer.light) {
        transfer.move = c_.TransferTime(*transfer.route, transfer.bytes);
        Hold(Get(storage_, output), 1);
      }
      transfers_.push_back(transfer);
    }
  }
}

template <typename Links>
void NativeSimulator<Links>::QueueTransfers() {
  if (queued_until_ == transfers_.size()) return;
  const auto fresh = transfers_.begin() + static_cast<std::ptrdiff_t>(queued_until_);
  // Ops of one device ended in op order, but several devices may interleave.
  const auto before = [](const Transfer& a, const Transfer& b) {
    return std::tie(a.producer, a.output, a.to) < std::tie(b.producer, b.output, b.to);
  };
  if (!std::is_sorted(fresh, transfers_.end(), before)) std::sort(fresh, transfers_.end(), before);
  for (auto t = static_cast<TransferIndex>(queued_until_); t < static_cast<TransferIndex>(transfers_.size());
       ++t) {
    Transfer& transfer = At(t);
    if (transfer.light) {
      transfer.start = now_;
      light_.Push(now_ + transfer.route->latency, t);
    } else {
      links_.Queue(t, transfer);
    }
  }
  queued_until_ = transfers_.size();
}

// ---- 7: transfers start -----------------------------------------------------------------------------------

template <typename Links>
void NativeSimulator<Links>::StartTransfers() {
  started_.clear();
  links_.Start(now_, transfers_, started_);
  for (const TransferIndex index : started_) {
    Transfer& transfer = At(index);
    transfer.holders = 1;
    meter_.Start(c_, transfer, now_);
    memory_.Allocate(now_, transfer.to, transfer.producer, OutOfMemory::What::kCopy,
                     memory_.Rounded(transfer.to, transfer.bytes));
    if (transfer.move + transfer.route->latency > 0) {
      Get(running_, transfer.from).AddCopies(now_, 1);
      Get(running_, transfer.to).AddCopies(now_, 1);
    }
  }
}

template <typename Links>
void NativeSimulator<Links>::FinishOutcome() {
  outcome_.runtime = now_;
  outcome_.oom = memory_.oom();
  outcome_.devices.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    outcome_.devices.push_back({Get(running_, d).busy(), memory_.peak(d)});
  }
  outcome_.links = meter_.use();
  if (options_.record != RunOptions::Record::kTimeline) return;
  for (const Transfer& t : transfers_) {
    const std::int32_t output =
        t.output == Compiled::kNone ? -1 : t.output - Get(c_.output_begin, t.producer);
    outcome_.transfers.push_back({{t.producer, output}, t.from, t.to, t.bytes, t.queued, t.start, t.end});
  }
}

}  // namespace berth::sim
