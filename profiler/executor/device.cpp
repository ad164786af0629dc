#include "profiler/executor/device.h"

#include <algorithm>

namespace stowplan::profiler {

Device::Device(Machine& machine, sim::DeviceIndex index, std::unique_ptr<BlockPool> pool)
    : machine_(machine),
      index_(index),
      memory_(machine.cluster.devices[static_cast<std::size_t>(index)].granularity,
              machine.cluster.devices[static_cast<std::size_t>(index)].capacity(), std::move(pool)) {}

bool Device::InPool(std::int32_t number) const {
  const Storage& storage = StorageAt(number);
  return storage.bytes > 0 && fixed_[static_cast<std::size_t>(number)] == nullptr &&
         (storage.kind == Storage::Kind::kOutput || storage.kind == Storage::Kind::kCopy);
}

void Device::Prepare(const sim::Placement& placement, const ExecuteOptions& options) {
  memory_.ClearBlocks();
  oom.reset();
  exhausted = false;
  options_ = options;
  queue_.emplace(machine_.graph, machine_.cluster, placement, index_);
  const Plan& plan = machine_.plan;
  waits_.resize(plan.ops.size());
  holders_.resize(plan.storages.size());
  pointers_.assign(plan.storages.size(), nullptr);
  fixed_.assign(plan.storages.size(), nullptr);
  op_spans.reserve(static_cast<std::size_t>(plan.ops_of[static_cast<std::size_t>(index_)]));
  copy_spans.reserve(static_cast<std::size_t>(plan.transfers_to[static_cast<std::size_t>(index_)]));
}

void Device::Reset() {
  const Plan& plan = machine_.plan;
  for (std::size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    const auto number = static_cast<std::int32_t>(i);
    if (storage.device == index_ && InPool(number) && holders_[i] > 0 && pointers_[i] != nullptr)
      memory_.GiveBack(pointers_[i], memory_.Rounded(storage.bytes));  // a step that was given up left it
    holders_[i] = storage.holders;
    if (storage.device == index_) machine_.counted[i] = storage.holders;
    pointers_[i] = fixed_[i];
  }
  for (std::size_t i = 0; i < plan.ops.size(); ++i) waits_[i] = plan.ops[i].waits_for;
  memory_.ResetCount();
  queue_->Reset();
  op_spans.clear();
  copy_spans.clear();
  oom.reset();
  exhausted = false;
  not_finite = -1;
  left_ = plan.ops_of[static_cast<std::size_t>(index_)] + plan.transfers_to[static_cast<std::size_t>(index_)];
  for (const PlannedTransfer& transfer : plan.transfers)
    if (transfer.from == index_ && transfer.bytes > 0) ++left_;
  for (sim::DeviceIndex other = 0; other < machine_.cluster.size(); ++other) {
    machine_.ring(other, index_).Reset();
    machine_.queued[machine_.Way(other, index_)] = 0;
  }
  for (std::size_t i = 0; i < plan.transfers.size(); ++i)
    if (plan.transfers[i].to == index_) machine_.asked[i] = false;
  for (sim::OpIndex op = 0; op < machine_.graph.size(); ++op) {
    const PlannedOp& planned = PlannedAt(op);
    if (planned.device != index_) continue;
    if (OpAt(op).persistent_bytes > 0)
      Request(*this, memory_.Rounded(OpAt(op).persistent_bytes), op, sim::OutOfMemory::What::kPersistent);
    if (planned.waits_for == 0 && !OpAt(op).IsSource()) queue_->Add(op);
  }
  for (const sim::OpIndex op : plan.sources[static_cast<std::size_t>(index_)]) {
    sim::Bytes request = 0;
    for (const auto storage : PlannedAt(op).allocates) request += RoundedBytes(storage);
    if (request > 0) Request(*this, request, op, sim::OutOfMemory::What::kOutput);
  }
}

void Device::RunStep() {
  start_ns = Now();
  end_ns = 0;
  const std::int64_t before = Preemptions();
  for (const sim::OpIndex op : machine_.plan.sources[static_cast<std::size_t>(index_)]) {
    SendAll(PlannedAt(op));
    for (const auto storage : PlannedAt(op).releases) Release(storage);
  }
  try {
    Work();
  } catch (const NoMemory&) {
    if (!exhausted) throw;
    machine_.stop.store(true, std::memory_order_relaxed);
  }
  disturbed = Preemptions() != before;
}

void Device::Request(Device& device, sim::Bytes bytes, sim::OpIndex op, sim::OutOfMemory::What what) {
  const sim::Bytes live = device.memory_.Request(bytes);
  if (device.memory_.Fits(live)) return;
  if (!oom) {
    oom = {
        .device = device.index_, .op = op, .what = what, .needed = live, .capacity = device.memory_.limit()};
  }
  machine_.stop.store(true, std::memory_order_relaxed);
}

void Device::RequestCopy(std::int32_t number) {
  const PlannedTransfer& transfer = TransferAt(number);
  if (machine_.asked[static_cast<std::size_t>(number)].exchange(true)) return;
  Device& receiver = *machine_.devices[static_cast<std::size_t>(transfer.to)];
  Request(receiver, receiver.RoundedBytes(transfer.copy), transfer.tensor.op, sim::OutOfMemory::What::kCopy);
}

void Device::TakeOutputs(sim::OpIndex op) {
  const PlannedOp& planned = PlannedAt(op);
  sim::Bytes request = memory_.Rounded(OpAt(op).workspace_bytes);
  for (const auto storage : planned.allocates) request += RoundedBytes(storage);
  if (request > 0) Request(*this, request, op, sim::OutOfMemory::What::kOutput);
  for (const auto storage : planned.allocates) {
    if (StorageAt(storage).bytes > 0) TakeBlock(storage, sim::OutOfMemory::What::kOutput);
  }
}

void* Device::TakeBlock(std::int32_t storage, sim::OutOfMemory::What what) {
  try {
    return pointers_[static_cast<std::size_t>(storage)] = memory_.Take(RoundedBytes(storage));
  } catch (const NoMemory&) {
    RunOut(memory_.live(), StorageAt(storage).op, what);
    throw;
  }
}

void Device::RunOut(sim::Bytes needed, sim::OpIndex op, sim::OutOfMemory::What what) {
  oom = {.device = index_, .op = op, .what = what, .needed = needed, .capacity = memory_.limit()};
  exhausted = true;
}

void Device::ReleaseCount(std::int32_t number) {
  if (--machine_.counted[static_cast<std::size_t>(number)] > 0) return;
  const Storage& storage = StorageAt(number);
  if (storage.kind == Storage::Kind::kPersistent) return;
  Device& device = *machine_.devices[static_cast<std::size_t>(storage.device)];
  device.memory_.Free(device.RoundedBytes(number));
}

void Device::ReleaseBlock(std::int32_t number) {
  const auto i = static_cast<std::size_t>(number);
  if (--holders_[i] == 0 && InPool(number)) memory_.GiveBack(pointers_[i], RoundedBytes(number));
}

void Device::SendAll(const PlannedOp& op) {
  for (const auto transfer : op.transfers) Send(transfer);
}

void Device::Satisfy(const std::vector<sim::OpIndex>& consumers) {
  for (const sim::OpIndex consumer : consumers) {
    if (--waits_[static_cast<std::size_t>(consumer)] == 0) queue_->Add(consumer);
  }
}

bool Device::Hear(std::int32_t* message) {
  for (sim::DeviceIndex other = 0; other < machine_.cluster.size(); ++other) {
    if (other != index_ && machine_.ring(other, index_).Take(message)) return true;
  }
  return false;
}

KernelArguments Device::Arguments(const PlannedOp& planned) {
  inputs_.clear();
  outputs_.clear();
  for (const auto storage : planned.inputs) inputs_.push_back(pointers_[static_cast<std::size_t>(storage)]);
  for (const auto storage : planned.outputs) outputs_.push_back(pointers_[static_cast<std::size_t>(storage)]);
  KernelArguments arguments{.inputs = &inputs_, .outputs = &outputs_};
  if (!planned.inputs.empty() && StorageAt(planned.inputs[0]).kind == Storage::Kind::kPersistent)
    arguments.slots = inputs_[0];
  return arguments;
}

}  // namespace stowplan::profiler
