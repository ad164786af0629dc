#include "profiler/executor/accelerator_device.h"

#include <algorithm>

namespace stowplan::profiler {

AcceleratorDevice::AcceleratorDevice(Machine& machine, sim::DeviceIndex index,
                                     std::unique_ptr<Accelerator> accelerator)
    : Device(machine, index,
             std::make_unique<BestFitPool>(
                 [raw = accelerator.get()](sim::Bytes bytes) { return raw->NewBlock(bytes); },
                 [raw = accelerator.get()] { raw->Wait(); })),
      accelerator_(std::move(accelerator)) {}

AcceleratorDevice::~AcceleratorDevice() {
  blocks_.clear();
  memory_.ClearBlocks();
}

void AcceleratorDevice::Prepare(const sim::Placement& placement, const ExecuteOptions& options) {
  accelerator_->Wait();  // a step that was given up left work on blocks that go now
  Device::Prepare(placement, options);
  blocks_.clear();
  const Plan& plan = machine_.plan;
  sim::Bytes kept = 0;
  for (std::size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (storage.device != index_ || storage.bytes == 0) continue;
    const void* const initial = machine_.values.Find(storage);
    if (initial == nullptr && storage.kind != Storage::Kind::kCopy) continue;
    try {
      blocks_.push_back(accelerator_->NewBlock(storage.bytes));
    } catch (const NoMemory&) {
      const bool copy = storage.kind == Storage::Kind::kCopy;
      return RunOut(kept + storage.bytes, storage.op,
                    copy ? sim::OutOfMemory::What::kCopy : sim::OutOfMemory::What::kPersistent);
    }
    kept += storage.bytes;
    SetFixed(static_cast<std::int32_t>(i), blocks_.back().get());
    if (initial != nullptr) accelerator_->Upload(blocks_.back().get(), initial, storage.bytes);
  }
  has_end_.assign(plan.ops.size(), options.traced ? 1 : 0);
  for (std::size_t op = 0; op < plan.ops.size(); ++op) {
    const PlannedOp& planned = plan.ops[op];
    const bool reads_copies =
        std::any_of(planned.releases.begin(), planned.releases.end(),
                    [this](std::int32_t storage) { return StorageAt(storage).kind == Storage::Kind::kCopy; });
    if (reads_copies || !planned.transfers.empty()) has_end_[op] = 1;
  }
}

void AcceleratorDevice::Reset() {
  accelerator_->Wait();  // a step that was given up left work
  for (auto* running : {&ops_, &out_, &in_}) running->clear();
  for (auto* all : {&ran_, &sent_, &received_}) all->clear();
  issued_ = 0;
  Device::Reset();
  accelerator_->BeginStep(options_.traced);
}

void AcceleratorDevice::Work() {
  if (left_ == 0) return;
  Spin spin;
  PollInterval interval;
  while (left_ > 0 && !machine_.stop.load(std::memory_order_relaxed)) {
    if (Listen()) continue;
    if (const std::int64_t now = Now(); interval.Due(now)) {
      if (Poll()) {
        interval.Found();
        continue;
      }
      interval.FoundNothing(now);
    }
    const sim::OpIndex op = queue_->Take();
    if (op >= 0) {
      Issue(op);
      spin = {};
    } else {
      spin.Pause();
    }
  }
  end_ns = Now();  // everything is known to be done, or the step was given up
  if (left_ == 0 && options_.traced) RecordSpans();
}

bool AcceleratorDevice::Poll() {
  Running done;
  if (Done(ops_, Queue::kOps, &done)) {
    End(done.number);
    return true;
  }
  if (Done(out_, Queue::kOut, &done)) {
    const PlannedTransfer& transfer = TransferAt(done.number);
    --left_;
    Release(transfer.source);
    machine_.ring(index_, transfer.to).Send(done.number);
    return true;
  }
  if (Done(in_, Queue::kIn, &done)) {
    const PlannedTransfer& transfer = TransferAt(done.number);
    --left_;
    ReleaseCount(transfer.source);
    machine_.ring(index_, transfer.from).Send(Copied(done.number));
    Release(transfer.copy);
    Satisfy(transfer.consumers);
    return true;
  }
  return false;
}

bool AcceleratorDevice::Done(std::deque<Running>& running, Queue queue, Running* done) {
  if (running.empty() || !accelerator_->Reached(queue, running.front().end)) return false;
  *done = running.front();
  running.pop_front();
  return true;
}

bool AcceleratorDevice::Listen() {
  std::int32_t number = 0;
  if (!Hear(&number)) return false;
  const PlannedTransfer& transfer = TransferAt(number);
  if (transfer.bytes > 0 && machine_.OnCpu(transfer.from)) {  // ready to be fetched
    RequestCopy(number);
    Enqueue(Queue::kIn, number, PointerOf(transfer.copy),
            machine_.devices[static_cast<std::size_t>(transfer.from)]->PointerOf(transfer.source));
    return true;
  }
  --left_;
  if (transfer.bytes > 0) {
    Release(transfer.copy);
  } else if (options_.traced) {
    const std::int64_t now = Now();
    copy_spans.push_back({transfer.tensor, transfer.from, transfer.to, 0, now, now});
  }
  Satisfy(transfer.consumers);
  return true;
}

void AcceleratorDevice::Send(std::int32_t number) {
  const PlannedTransfer& transfer = TransferAt(number);
  if (transfer.bytes == 0) {
    machine_.ring(index_, transfer.to).Send(number);
    return;
  }
  const Device& receiver = *machine_.devices[static_cast<std::size_t>(transfer.to)];
  RequestCopy(number);
  Enqueue(Queue::kOut, number, receiver.Fixed(transfer.copy), PointerOf(transfer.source));
}

void AcceleratorDevice::Enqueue(Queue queue, std::int32_t number, void* to, const void* from) {
  Running running{.number = number};
  if (options_.traced) running.start = accelerator_->Put(queue);
  accelerator_->Copy(queue, to, from, TransferAt(number).bytes);
  running.end = accelerator_->Put(queue);
  (queue == Queue::kOut ? out_ : in_).push_back(running);
  if (options_.traced) (queue == Queue::kOut ? sent_ : received_).push_back(running);
}

void AcceleratorDevice::Issue(sim::OpIndex op) {
  const PlannedOp& planned = PlannedAt(op);
  // The last op tells of all before it.
  const bool last = ++issued_ == machine_.plan.ops_of[static_cast<std::size_t>(index_)];
  const bool has_end = last || has_end_[static_cast<std::size_t>(op)] != 0;
  TakeOutputs(op);
  Running running{.number = op};
  if (options_.traced) running.start = accelerator_->Put(Queue::kOps);
  accelerator_->RunOp(op, Arguments(planned));
  if (options_.traced) running.enqueued_ns = Now();
  if (has_end) {
    running.end = accelerator_->Put(Queue::kOps);
    ops_.push_back(running);
    if (options_.traced) ran_.push_back(running);
  }
  for (std::size_t i = 0; options_.checked && i < planned.outputs.size() && not_finite < 0; ++i) {
    const sim::Output& output = OpAt(op).outputs[i];
    if (output.dtype == "f32" && !accelerator_->AllFinite(PointerOf(planned.outputs[i]), output.bytes / 4))
      not_finite = op;
  }
  memory_.Free(memory_.Rounded(OpAt(op).workspace_bytes));
  for (const auto storage : planned.releases)
    if (StorageAt(storage).kind != Storage::Kind::kCopy) Release(storage);
  Satisfy(planned.consumers);
  if (!has_end) --left_;
}

void AcceleratorDevice::End(sim::OpIndex op) {
  --left_;
  SendAll(PlannedAt(op));
  for (const auto storage : PlannedAt(op).releases)
    if (StorageAt(storage).kind == Storage::Kind::kCopy) Release(storage);
}

void AcceleratorDevice::RecordSpans() {
  for (const Running& op : ran_) {
    const std::int64_t start = accelerator_->TimeOf(Queue::kOps, op.start);
    const std::int64_t end = std::max(accelerator_->TimeOf(Queue::kOps, op.end), start);
    op_spans.push_back({.op = op.number,
                        .device = index_,
                        .start_ns = start,
                        .end_ns = end,
                        .enqueuing_ns = std::clamp<std::int64_t>(op.enqueued_ns - start, 0, end - start)});
  }
  for (const Queue queue : {Queue::kOut, Queue::kIn}) {
    for (const Running& copy : queue == Queue::kOut ? sent_ : received_) {
      const PlannedTransfer& transfer = TransferAt(copy.number);
      copy_spans.push_back({transfer.tensor, transfer.from, transfer.to, transfer.bytes,
                            accelerator_->TimeOf(queue, copy.start), accelerator_->TimeOf(queue, copy.end)});
    }
  }
}

}  // namespace stowplan::profiler
