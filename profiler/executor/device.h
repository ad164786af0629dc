// One device of an executor: runs its share of a step. Here is what a device of any class keeps books of; what
// it does with an op and a transfer is in cpu_device.h and accelerator_device.h.
//
// Everything that a device changes during a step is its own, but for the count of memory. Devices talk through one
// ring for each ordered pair, of numbers of transfers:
//  - from a sender: the transfer is queued, its producer has ended; where an accelerator has copied it
//    already, it has arrived;
//  - back, as Copied(): the receiver has copied it.
#pragma once

#include <optional>
#include <vector>

#include "profiler/executor.h"
#include "profiler/executor/device_memory.h"
#include "profiler/executor/device_thread.h"
#include "profiler/executor/machine.h"
#include "profiler/executor/ready_queue.h"

namespace stowplan::profiler {

// Prepare() is called while no device runs; the other functions by the device's own thread.
class alignas(64) Device {
 public:
  Device(Machine& machine, sim::DeviceIndex index, std::unique_ptr<BlockPool> pool);
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // For a placement, of which machine.plan has been made.
  // `oom` is set behind it where the device has not the memory that is kept from step to step.
  virtual void Prepare(const sim::Placement& placement, const ExecuteOptions& options);
  // Everything as it is when a step starts. No device runs meanwhile.
  virtual void Reset();
  // One step; all devices together.
  void RunStep();

  // Results of the last step; times on the clock of Now().
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  // 0 where it had nothing to do: it is not waited for
  bool disturbed = false;   // lost its core
  bool off_pace = false;
  std::optional<sim::OutOfMemory> oom;
  bool exhausted = false;  // `oom` is the machine's own
  sim::OpIndex not_finite = -1;
  std::vector<OpSpan> op_spans;
  std::vector<CopySpan> copy_spans;
  sim::Bytes peak() const { return memory_.peak(); }

  // Where its storages are; receivers read it behind the message that announces a transfer.
  void* PointerOf(std::int32_t storage) const { return pointers_[static_cast<std::size_t>(storage)]; }
  // The block that a storage has in every step, or null: sources, persistent bytes, and copies that come from or
  // go to an accelerator. Does not change after Prepare().
  void* Fixed(std::int32_t storage) const { return fixed_[static_cast<std::size_t>(storage)]; }

 protected:
  // The step between its start and its end; returns when there is nothing left or the machine stops.
  virtual void Work() = 0;
  // What this device does to send: its producer has ended.
  virtual void Send(std::int32_t transfer) = 0;

  const Storage& StorageAt(std::int32_t number) const {
    return machine_.plan.storages[static_cast<std::size_t>(number)];
  }
  const PlannedTransfer& TransferAt(std::int32_t number) const {
    return machine_.plan.transfers[static_cast<std::size_t>(number)];
  }
  const PlannedOp& PlannedAt(sim::OpIndex op) const {
    return machine_.plan.ops[static_cast<std::size_t>(op)];
  }
  const sim::Op& OpAt(sim::OpIndex op) const { return machine_.graph.ops[static_cast<std::size_t>(op)]; }
  sim::Bytes RoundedBytes(std::int32_t number) const { return memory_.Rounded(StorageAt(number).bytes); }

  // Counts a request on `device`; where it does not fit the step is given up.
  void Request(Device& device, sim::Bytes bytes, sim::OpIndex op, sim::OutOfMemory::What what);
  // For the copy of a transfer, at its receiver: once, by whoever comes first.
  void RequestCopy(std::int32_t transfer);
  // A block for a storage. Where the machine has none, sets `oom` and throws NoMemory, which ends the step.
  void* TakeBlock(std::int32_t storage, sim::OutOfMemory::What what);
  void RunOut(sim::Bytes needed, sim::OpIndex op, sim::OutOfMemory::What what);
  // The request of an op's start, and blocks for the outputs that it owns.
  void TakeOutputs(sim::OpIndex op);
  // One holder less of what a storage is counted for, on any device, and of its block, which its own device alone
  // may use again.
  void ReleaseCount(std::int32_t storage);
  void ReleaseBlock(std::int32_t storage);
  void Release(std::int32_t storage) {
    ReleaseCount(storage);
    ReleaseBlock(storage);
  }
  void SendAll(const PlannedOp& op);
  void Satisfy(const std::vector<sim::OpIndex>& consumers);
  // Takes one message from any device, if there is one.
  bool Hear(std::int32_t* message);
  KernelArguments Arguments(const PlannedOp& op);
  void SetFixed(std::int32_t storage, void* block) { fixed_[static_cast<std::size_t>(storage)] = block; }

  Machine& machine_;
  sim::DeviceIndex index_;
  DeviceMemory memory_;
  ExecuteOptions options_;
  std::optional<ReadyQueue> queue_;
  std::vector<std::int32_t> waits_;    // by op
  std::vector<std::int32_t> holders_;  // by storage: of its block
  std::vector<void*> pointers_;        // by storage
  std::int64_t left_ = 0;  // ops to end, transfers to receive, transfers sent of which the end is not known

 private:
  bool InPool(std::int32_t storage) const;

  std::vector<void*> fixed_;  // by storage
  std::vector<void*> inputs_, outputs_;
};

}  // namespace stowplan::profiler
