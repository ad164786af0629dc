// One device of the CPU executor: runs its share of a step. Everything that it changes meanwhile is its own;
// devices talk through one ring for each ordered pair, of numbers of transfers: those that are queued for the
// receiver, and back those that it has copied. Internal to cpu_executor.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "profiler/executor/device_memory.h"
#include "profiler/executor/executor.h"
#include "profiler/executor/initial_values.h"
#include "profiler/executor/kernels.h"
#include "profiler/executor/plan.h"
#include "profiler/executor/ready_queue.h"
#include "profiler/executor/rings.h"

namespace berth::profiler {

using sim::DeviceIndex;
using sim::OpIndex;

// What all devices share.
struct Machine {
  Machine(const sim::OpGraph& g, const sim::Cluster& c)
      : graph(g),
        cluster(c),
        rings(c.devices.size() * c.devices.size()),
        queued(c.devices.size() * c.devices.size()),
        barrier(c.size()) {}

  std::size_t Way(DeviceIndex from, DeviceIndex to) const {
    return static_cast<std::size_t>(from) * cluster.devices.size() + static_cast<std::size_t>(to);
  }
  Ring& ring(DeviceIndex from, DeviceIndex to) { return rings[Way(from, to)]; }

  const sim::OpGraph& graph;
  const sim::Cluster& cluster;
  std::vector<std::unique_ptr<Kernel>> kernels;  // by op
  InitialValues values;
  Plan plan;
  std::vector<Ring> rings;
  std::vector<std::atomic<int>> queued;            // copies, by way: how many are not yet made
  std::vector<std::atomic<bool>> asked;            // by transfer: memory for its copy
  std::vector<std::atomic<std::int32_t>> counted;  // by storage: holders, as far as memory is counted
  Barrier barrier;
  std::atomic<bool> stop = false;  // a device is out of memory
};

// Receiver's answer that a transfer has been copied.
std::int32_t Copied(std::int32_t transfer) {
  return ~transfer;
}

// For the thread that it is, but for what says otherwise.
class alignas(64) CpuDevice {
 public:
  CpuDevice(Machine& machine, DeviceIndex index)
      : machine_(machine),
        index_(index),
        memory_(machine.cluster.devices[static_cast<std::size_t>(index)].granularity,
                machine.cluster.devices[static_cast<std::size_t>(index)].capacity()) {
    std::int64_t scratch = 0;
    for (const auto& kernel : machine.kernels) {
      if (kernel != nullptr) scratch = std::max(scratch, kernel->scratch_bytes());
    }
    scratch_ = NewBlock(scratch);
    std::memset(scratch_.get(), 0, static_cast<std::size_t>(scratch));
  }

  void Prepare(const sim::Placement& placement, const ExecuteOptions& options) {
    memory_.Clear();
    options_ = options;
    queue_.emplace(machine_.graph, machine_.cluster, placement, index_);
    const Plan& plan = machine_.plan;
    waits_.resize(plan.ops.size());
    holders_.resize(plan.storages.size());
    pointers_.assign(plan.storages.size(), nullptr);
    transfers_from_ = 0;
    for (const PlannedTransfer& transfer : plan.transfers)
      if (transfer.from == index_ && transfer.bytes > 0) ++transfers_from_;
    op_spans.reserve(static_cast<std::size_t>(plan.ops_of[static_cast<std::size_t>(index_)]));
    copy_spans.reserve(static_cast<std::size_t>(plan.transfers_to[static_cast<std::size_t>(index_)]));
  }

  // Everything as it is when a step starts. No device runs meanwhile.
  void Reset() {
    const Plan& plan = machine_.plan;
    for (std::size_t i = 0; i < plan.storages.size(); ++i) {
      const Storage& storage = plan.storages[i];
      if (storage.device == index_ && InPool(storage) && holders_[i] > 0 && pointers_[i] != nullptr)
        memory_.GiveBack(pointers_[i], memory_.Rounded(storage.bytes));  // a step that was given up left it
      holders_[i] = storage.holders;
      if (storage.device == index_) machine_.counted[i] = storage.holders;
      pointers_[i] = storage.device == index_ ? machine_.values.Find(storage) : nullptr;
    }
    for (std::size_t i = 0; i < plan.ops.size(); ++i) waits_[i] = plan.ops[i].waits_for;
    memory_.ResetCount();
    queue_->Reset();
    op_spans.clear();
    copy_spans.clear();
    oom.reset();
    not_finite = -1;
    left_ = plan.ops_of[static_cast<std::size_t>(index_)] +
            plan.transfers_to[static_cast<std::size_t>(index_)] + transfers_from_;
    for (DeviceIndex other = 0; other < machine_.cluster.size(); ++other) {
      machine_.ring(other, index_).Reset();
      machine_.queued[machine_.Way(other, index_)] = 0;
    }
    for (std::size_t i = 0; i < plan.transfers.size(); ++i)
      if (plan.transfers[i].to == index_) machine_.asked[i] = false;
    for (OpIndex op = 0; op < machine_.graph.size(); ++op) {
      const PlannedOp& planned = plan.ops[static_cast<std::size_t>(op)];
      if (planned.device != index_) continue;
      const sim::Op& graph_op = machine_.graph.ops[static_cast<std::size_t>(op)];
      if (graph_op.persistent_bytes > 0)
        Ask(*this, memory_.Rounded(graph_op.persistent_bytes), op, sim::OutOfMemory::What::kPersistent);
      if (planned.waits_for == 0 && !graph_op.IsSource()) queue_->Add(op);
    }
    for (const OpIndex op : plan.sources[static_cast<std::size_t>(index_)]) {
      sim::Bytes request = 0;
      for (const auto storage : plan.ops[static_cast<std::size_t>(op)].allocates)
        request += RoundedBytes(storage);
      if (request > 0) Ask(*this, request, op, sim::OutOfMemory::What::kOutput);
    }
  }

  // One step; all devices together.
  void RunStep() {
    start_ns = Now();
    end_ns = 0;  // of a device that has nothing to do: it is not waited for
    const std::int64_t before = Preemptions();
    for (const OpIndex op : machine_.plan.sources[static_cast<std::size_t>(index_)]) {
      const PlannedOp& planned = machine_.plan.ops[static_cast<std::size_t>(op)];
      SendAll(planned);
      ReleaseAll(planned);
    }
    Spin spin;
    while (left_ > 0 && !machine_.stop.load(std::memory_order_relaxed)) {
      if (Listen()) continue;
      const OpIndex op = queue_->Take();
      if (op >= 0) {
        RunOp(op);
        spin = {};
      } else {
        spin.Pause();
      }
    }
    disturbed = Preemptions() != before;
  }

  // Results of the last step.
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool disturbed = false;  // lost its core
  bool off_pace = false;
  std::optional<sim::OutOfMemory> oom;
  OpIndex not_finite = -1;
  std::vector<OpSpan> op_spans;
  std::vector<CopySpan> copy_spans;
  sim::Bytes peak() const { return memory_.peak(); }

  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  // Where its storages are; receivers read it behind the message that announces a transfer.
  const std::vector<void*>& pointers() const { return pointers_; }
  std::vector<CpuDevice*> others;  // by device, itself too

 private:
  static bool InPool(const Storage& storage) {
    return storage.bytes > 0 &&
           (storage.kind == Storage::Kind::kOutput || storage.kind == Storage::Kind::kCopy);
  }
  const Storage& StorageAt(std::int32_t number) const {
    return machine_.plan.storages[static_cast<std::size_t>(number)];
  }
  sim::Bytes RoundedBytes(std::int32_t number) const { return memory_.Rounded(StorageAt(number).bytes); }

  // Counts a request on `device`; where it does not fit the step is given up.
  void Ask(CpuDevice& device, sim::Bytes bytes, OpIndex op, sim::OutOfMemory::What what) {
    sim::Bytes needed = 0;
    if (device.memory_.Request(bytes, &needed) || oom) return;
    oom = {.device = device.index_,
           .op = op,
           .what = what,
           .time = (Now() - start_ns) * 1000,
           .needed = needed,
           .capacity = device.memory_.limit()};
    machine_.stop.store(true, std::memory_order_relaxed);
  }

  // Once for each transfer, by the end of the way that comes first.
  void AskForCopy(std::int32_t number) {
    const PlannedTransfer& transfer = machine_.plan.transfers[static_cast<std::size_t>(number)];
    if (machine_.asked[static_cast<std::size_t>(number)].exchange(true)) return;
    Ask(*others[static_cast<std::size_t>(transfer.to)], RoundedBytes(transfer.copy), transfer.tensor.op,
        sim::OutOfMemory::What::kCopy);
  }

  // What it is counted for; of a storage on any device.
  void ReleaseCount(std::int32_t number) {
    const Storage& storage = StorageAt(number);
    if (--machine_.counted[static_cast<std::size_t>(number)] > 0) return;
    if (storage.kind != Storage::Kind::kPersistent)
      others[static_cast<std::size_t>(storage.device)]->memory_.Free(RoundedBytes(number));
  }
  // Its block, which its own device alone may use again.
  void ReleaseBlock(std::int32_t number) {
    const auto i = static_cast<std::size_t>(number);
    if (--holders_[i] == 0 && InPool(StorageAt(number))) memory_.GiveBack(pointers_[i], RoundedBytes(number));
  }
  void ReleaseAll(const PlannedOp& op) {
    for (const auto storage : op.releases) {
      ReleaseCount(storage);
      ReleaseBlock(storage);
    }
  }

  void SendAll(const PlannedOp& op) {
    for (const auto number : op.transfers) {
      const PlannedTransfer& transfer = machine_.plan.transfers[static_cast<std::size_t>(number)];
      if (transfer.bytes > 0 && machine_.queued[machine_.Way(index_, transfer.to)].fetch_add(1) == 0)
        AskForCopy(number);
      machine_.ring(index_, transfer.to).Send(number);
    }
  }

  void Satisfy(const std::vector<OpIndex>& consumers) {
    for (const OpIndex consumer : consumers) {
      if (--waits_[static_cast<std::size_t>(consumer)] == 0) queue_->Add(consumer);
    }
  }

  // Takes one message, if there is one.
  bool Listen() {
    for (DeviceIndex other = 0; other < machine_.cluster.size(); ++other) {
      std::int32_t message = 0;
      if (other == index_ || !machine_.ring(other, index_).Take(&message)) continue;
      --left_;
      if (message >= 0) {
        Receive(message);
      } else {
        ReleaseBlock(machine_.plan.transfers[static_cast<std::size_t>(Copied(message))].source);
      }
      return true;
    }
    return false;
  }

  void Receive(std::int32_t number) {
    const PlannedTransfer& transfer = machine_.plan.transfers[static_cast<std::size_t>(number)];
    const std::int64_t start = options_.traced ? Now() : 0;
    if (transfer.bytes > 0) {
      const auto copy = static_cast<std::size_t>(transfer.copy);
      AskForCopy(number);
      pointers_[copy] = memory_.Take(RoundedBytes(transfer.copy));
      std::memcpy(pointers_[copy],
                  others[static_cast<std::size_t>(transfer.from)]
                      ->pointers()[static_cast<std::size_t>(transfer.source)],
                  static_cast<std::size_t>(transfer.bytes));
      ReleaseCount(transfer.source);
      machine_.ring(index_, transfer.from).Send(Copied(number));
      ReleaseCount(transfer.copy);
      ReleaseBlock(transfer.copy);
      // The link is free for the next, if it is there already.
      if (machine_.queued[machine_.Way(transfer.from, index_)].fetch_sub(1) > 1) {
        const std::int32_t next = machine_.ring(transfer.from, index_).FindNext([this](std::int32_t message) {
          return message >= 0 && machine_.plan.transfers[static_cast<std::size_t>(message)].bytes > 0;
        });
        if (next >= 0) AskForCopy(next);
      }
    }
    Satisfy(transfer.consumers);
    end_ns = Now();
    if (options_.traced)
      copy_spans.push_back({transfer.tensor, transfer.from, transfer.to, transfer.bytes, start, end_ns});
  }

  void RunOp(OpIndex op) {
    const PlannedOp& planned = machine_.plan.ops[static_cast<std::size_t>(op)];
    const sim::Op& graph_op = machine_.graph.ops[static_cast<std::size_t>(op)];
    const std::int64_t start = options_.traced ? Now() : 0;
    sim::Bytes request = memory_.Rounded(graph_op.workspace_bytes);
    for (const auto storage : planned.allocates) request += RoundedBytes(storage);
    if (request > 0) Ask(*this, request, op, sim::OutOfMemory::What::kOutput);
    for (const auto storage : planned.allocates) {
      if (StorageAt(storage).bytes > 0)
        pointers_[static_cast<std::size_t>(storage)] = memory_.Take(RoundedBytes(storage));
    }
    if (Kernel* kernel = machine_.kernels[static_cast<std::size_t>(op)].get()) RunKernel(*kernel, planned);
    if (options_.checked) Check(op, planned);
    end_ns = Now();
    if (options_.traced) op_spans.push_back({op, index_, start, end_ns});
    --left_;
    SendAll(planned);
    Satisfy(planned.consumers);
    memory_.Free(memory_.Rounded(graph_op.workspace_bytes));
    ReleaseAll(planned);
  }

  void RunKernel(Kernel& kernel, const PlannedOp& planned) {
    inputs_.clear();
    outputs_.clear();
    for (const auto storage : planned.inputs) inputs_.push_back(pointers_[static_cast<std::size_t>(storage)]);
    for (const auto storage : planned.outputs)
      outputs_.push_back(pointers_[static_cast<std::size_t>(storage)]);
    KernelArguments arguments{
        .inputs = &inputs_, .outputs = &outputs_, .slots = nullptr, .scratch = scratch_.get()};
    if (!planned.inputs.empty() && StorageAt(planned.inputs[0]).kind == Storage::Kind::kPersistent)
      arguments.slots = inputs_[0];
    kernel.Run(arguments);
  }

  void Check(OpIndex op, const PlannedOp& planned) {
    const sim::Op& graph_op = machine_.graph.ops[static_cast<std::size_t>(op)];
    for (std::size_t i = 0; i < planned.outputs.size(); ++i) {
      if (graph_op.outputs[i].dtype != "f32") continue;
      const auto* numbers =
          static_cast<const float*>(pointers_[static_cast<std::size_t>(planned.outputs[i])]);
      for (sim::Bytes n = 0; n < graph_op.outputs[i].bytes / 4 && not_finite < 0; ++n)
        if (!std::isfinite(numbers[n])) not_finite = op;
    }
  }

  Machine& machine_;
  DeviceIndex index_;
  DeviceMemory memory_;
  Block scratch_;
  ExecuteOptions options_;
  std::optional<ReadyQueue> queue_;
  std::vector<std::int32_t> waits_;    // by op
  std::vector<std::int32_t> holders_;  // by storage
  std::vector<void*> pointers_;        // by storage
  std::vector<void*> inputs_, outputs_;
  std::int32_t transfers_from_ = 0;  // that are answered
  std::int64_t left_ = 0;            // ops to run, transfers to receive, answers to hear
};

}  // namespace berth::profiler
