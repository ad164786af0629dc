#include "profiler/cuda/cuda_accelerator.h"

#include <algorithm>

#include "profiler/cuda/kernels_graph.h"
#include "profiler/executor/device_shares.h"
#include "profiler/executor/device_thread.h"

namespace stowplan::profiler::cuda {

void GpuClock::SetZero(const Stream& stream) {
  std::vector<Bracket> brackets;
  for (Event& event : events_) {
    Bracket bracket{.before = Now()};
    event.Record(stream);
    while (!event.Reached()) {
    }
    bracket.after = Now();
    brackets.push_back(bracket);
  }
  zero_ = TightestOf(brackets);
  zero_ns_ = brackets[zero_].middle();
  uncertainty_ns_ = brackets[zero_].width() / 2;
}

std::int64_t GpuClock::TimeOf(const Event& event) const {
  return zero_ns_ + static_cast<std::int64_t>(event.MicrosSince(events_[zero_]) * 1e3);
}

CudaAccelerator::CudaAccelerator(std::shared_ptr<const GraphKernels> kernels, Stream ops,
                                 std::shared_ptr<GpuClock> clock, bool sets_clock)
    : kernels_(std::move(kernels)),
      lines_{Line(std::move(ops)), Line(), Line()},
      libraries_(LineOf(Queue::kOps).stream),
      scratch_(kernels_->scratch_bytes),
      found_(sizeof(int)),
      clock_(std::move(clock)),
      sets_clock_(sets_clock) {
  // Stand-ins multiply what is here: it must be numbers.
  if (scratch_.bytes() == 0) return;
  const cudaStream_t stream = LineOf(Queue::kOps).stream.get();  // the default stream is in no order with it
  STOWPLAN_CUDA(cudaMemsetAsync(scratch_.get(), 0, scratch_.bytes(), stream));
  STOWPLAN_CUDA(cudaStreamSynchronize(stream));
}

Block CudaAccelerator::NewBlock(sim::Bytes bytes) {
  void* data = nullptr;
  STOWPLAN_CUDA(cudaMalloc(&data, static_cast<std::size_t>(std::max<sim::Bytes>(bytes, 1))));
  return {data, [](void* block) { cudaFree(block); }};
}

Block NewPinnedBlock(sim::Bytes bytes) {
  void* data = nullptr;
  STOWPLAN_CUDA(
      cudaHostAlloc(&data, static_cast<std::size_t>(std::max<sim::Bytes>(bytes, 1)), cudaHostAllocPortable));
  return {data, [](void* block) { cudaFreeHost(block); }};
}

void CudaAccelerator::Upload(void* to, const void* from_host, sim::Bytes bytes) {
  const cudaStream_t stream = LineOf(Queue::kOps).stream.get();
  STOWPLAN_CUDA(
      cudaMemcpyAsync(to, from_host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream));
  STOWPLAN_CUDA(cudaStreamSynchronize(stream));
}

void CudaAccelerator::BeginStep(bool timed) {
  timed_ = timed;
  for (Line& line : lines_) line.used = 0;
  if (timed && sets_clock_) clock_->SetZero(LineOf(Queue::kOps).stream);
}

void CudaAccelerator::RunOp(sim::OpIndex op, const KernelArguments& arguments) {
  const GpuKernel* const kernel = kernels_->table.kernels[static_cast<std::size_t>(op)].get();
  if (kernel == nullptr) return;
  KernelArguments with_scratch = arguments;
  with_scratch.scratch = scratch_.get();
  kernel->run(with_scratch, libraries_);
}

void CudaAccelerator::Copy(Queue queue, void* to, const void* from, sim::Bytes bytes) {
  STOWPLAN_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                                LineOf(queue).stream.get()));
}

Accelerator::Mark CudaAccelerator::Put(Queue queue) {
  Line& line = LineOf(queue);
  auto& events = EventsOf(line);
  if (line.used == events.size()) events.push_back(std::make_unique<Event>(timed_));
  events[line.used]->Record(line.stream);
  return static_cast<Mark>(line.used++);
}

bool CudaAccelerator::Reached(Queue queue, Mark mark) {
  return EventsOf(LineOf(queue))[static_cast<std::size_t>(mark)]->Reached();
}

void CudaAccelerator::Wait() {
  for (const Line& line : lines_) line.stream.Wait();
}

std::int64_t CudaAccelerator::TimeOf(Queue queue, Mark mark) {
  return clock_->TimeOf(*LineOf(queue).timed[static_cast<std::size_t>(mark)]);
}

bool CudaAccelerator::AllFinite(const void* numbers, std::int64_t count) {
  if (count == 0) return true;
  const Stream& stream = LineOf(Queue::kOps).stream;
  int found = 0;
  STOWPLAN_CUDA(cudaMemsetAsync(found_.get(), 0, sizeof(int), stream.get()));
  LaunchFindNotFinite(static_cast<const float*>(numbers), count, static_cast<int*>(found_.get()),
                      stream.get());
  STOWPLAN_CUDA(cudaMemcpyAsync(&found, found_.get(), sizeof(int), cudaMemcpyDeviceToHost, stream.get()));
  stream.Wait();
  return found == 0;
}

}  // namespace stowplan::profiler::cuda
