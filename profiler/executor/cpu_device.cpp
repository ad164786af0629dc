#include "profiler/executor/cpu_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stowplan::profiler {

CpuDevice::CpuDevice(Machine& machine, sim::DeviceIndex index)
    : Device(machine, index, std::make_unique<EqualSizesPool>(machine.host_blocks)) {
  std::int64_t scratch = 0;
  for (const auto& kernel : machine.kernels) {
    if (kernel != nullptr) scratch = std::max(scratch, kernel->scratch_bytes());
  }
  scratch_ = NewBlock(scratch);
  std::memset(scratch_.get(), 0, static_cast<std::size_t>(scratch));
}

void CpuDevice::Prepare(const sim::Placement& placement, const ExecuteOptions& options) {
  Device::Prepare(placement, options);
  blocks_.clear();
  const Plan& plan = machine_.plan;
  for (std::size_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].device == index_)
      SetFixed(static_cast<std::int32_t>(i), machine_.values.Find(plan.storages[i]));
  }
  // What an accelerator's thread has written here has a block of its own: the pool is for this thread alone.
  for (const PlannedTransfer& transfer : plan.transfers) {
    if (transfer.to != index_ || transfer.bytes == 0 || machine_.OnCpu(transfer.from)) continue;
    try {
      blocks_.push_back(machine_.host_blocks(transfer.bytes));
    } catch (const NoMemory&) {
      return RunOut(transfer.bytes, transfer.tensor.op, sim::OutOfMemory::What::kCopy);
    }
    SetFixed(transfer.copy, blocks_.back().get());
  }
}

void CpuDevice::Work() {
  Spin spin;
  while (left_ > 0 && !machine_.stop.load(std::memory_order_relaxed)) {
    if (Listen()) continue;
    const sim::OpIndex op = queue_->Take();
    if (op >= 0) {
      RunOp(op);
      spin = {};
    } else {
      spin.Pause();
    }
  }
}

void CpuDevice::Send(std::int32_t number) {
  const PlannedTransfer& transfer = TransferAt(number);
  if (transfer.bytes > 0 && machine_.OnCpu(transfer.to) &&
      machine_.queued[machine_.Way(index_, transfer.to)].fetch_add(1) == 0)
    RequestCopy(number);
  machine_.ring(index_, transfer.to).Send(number);
}

bool CpuDevice::Listen() {
  std::int32_t message = 0;
  if (!Hear(&message)) return false;
  --left_;
  if (message >= 0) {
    Receive(message);
  } else {
    ReleaseBlock(TransferAt(Copied(message)).source);
  }
  return true;
}

void CpuDevice::Receive(std::int32_t number) {
  const PlannedTransfer& transfer = TransferAt(number);
  const bool here = machine_.OnCpu(transfer.from);  // it is for this thread to copy and to record
  const std::int64_t start = options_.traced ? Now() : 0;
  if (transfer.bytes > 0) {
    if (here) Copy(number);
    Release(transfer.copy);
  }
  Satisfy(transfer.consumers);
  end_ns = Now();
  if (options_.traced && (here || transfer.bytes == 0))
    copy_spans.push_back({transfer.tensor, transfer.from, transfer.to, transfer.bytes, start, end_ns});
}

void CpuDevice::Copy(std::int32_t number) {
  const PlannedTransfer& transfer = TransferAt(number);
  RequestCopy(number);
  std::memcpy(TakeBlock(transfer.copy, sim::OutOfMemory::What::kCopy),
              machine_.devices[static_cast<std::size_t>(transfer.from)]->PointerOf(transfer.source),
              static_cast<std::size_t>(transfer.bytes));
  ReleaseCount(transfer.source);
  machine_.ring(index_, transfer.from).Send(Copied(number));
  // The link is free for the next, if it is there already.
  if (machine_.queued[machine_.Way(transfer.from, index_)].fetch_sub(1) > 1) {
    const std::int32_t next = machine_.ring(transfer.from, index_).FindNext([this](std::int32_t message) {
      return message >= 0 && TransferAt(message).bytes > 0;
    });
    if (next >= 0) RequestCopy(next);
  }
}

void CpuDevice::RunOp(sim::OpIndex op) {
  const PlannedOp& planned = PlannedAt(op);
  const std::int64_t start = options_.traced ? Now() : 0;
  TakeOutputs(op);
  if (Kernel* kernel = machine_.kernels[static_cast<std::size_t>(op)].get()) {
    KernelArguments arguments = Arguments(planned);
    arguments.scratch = scratch_.get();
    kernel->Run(arguments);
  }
  if (options_.checked) Check(op, planned);
  end_ns = Now();
  if (options_.traced) op_spans.push_back({op, index_, start, end_ns});
  --left_;
  SendAll(planned);
  Satisfy(planned.consumers);
  memory_.Free(memory_.Rounded(OpAt(op).workspace_bytes));
  for (const auto storage : planned.releases) Release(storage);
}

void CpuDevice::Check(sim::OpIndex op, const PlannedOp& planned) {
  for (std::size_t i = 0; i < planned.outputs.size(); ++i) {
    if (OpAt(op).outputs[i].dtype != "f32") continue;
    const auto* numbers = static_cast<const float*>(pointers_[static_cast<std::size_t>(planned.outputs[i])]);
    for (sim::Bytes n = 0; n < OpAt(op).outputs[i].bytes / 4 && not_finite < 0; ++n)
      if (!std::isfinite(numbers[n])) not_finite = op;
  }
}

}  // namespace stowplan::profiler
