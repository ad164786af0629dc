#include "profiler/cuda/cuda_accelerator.h"

#include <algorithm>

#include "profiler/cuda/kernels_graph.h"
#include "profiler/executor/device_thread.h"

namespace berth::profiler::cuda {

CudaAccelerator::CudaAccelerator(std::shared_ptr<const GraphKernels> kernels)
    : kernels_(std::move(kernels)),
      libraries_(LineOf(Queue::kOps).stream),
      scratch_(kernels_->scratch_bytes),
      found_(sizeof(int)) {
  // Stand-ins multiply what is here: it must be numbers.
  if (scratch_.bytes() == 0) return;
  const cudaStream_t stream = LineOf(Queue::kOps).stream.get();  // the default stream is in no order with it
  BERTH_CUDA(cudaMemsetAsync(scratch_.get(), 0, scratch_.bytes(), stream));
  BERTH_CUDA(cudaStreamSynchronize(stream));
}

Block CudaAccelerator::NewBlock(sim::Bytes bytes) {
  void* data = nullptr;
  BERTH_CUDA(cudaMalloc(&data, static_cast<std::size_t>(std::max<sim::Bytes>(bytes, 1))));
  return {data, [](void* block) { cudaFree(block); }};
}

Block NewPinnedBlock(sim::Bytes bytes) {
  void* data = nullptr;
  BERTH_CUDA(
      cudaHostAlloc(&data, static_cast<std::size_t>(std::max<sim::Bytes>(bytes, 1)), cudaHostAllocPortable));
  return {data, [](void* block) { cudaFreeHost(block); }};
}

void CudaAccelerator::Upload(void* to, const void* from_host, sim::Bytes bytes) {
  const cudaStream_t stream = LineOf(Queue::kOps).stream.get();
  BERTH_CUDA(cudaMemcpyAsync(to, from_host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream));
  BERTH_CUDA(cudaStreamSynchronize(stream));
}

void CudaAccelerator::BeginStep(bool timed) {
  timed_ = timed;
  for (Line& line : lines_) line.used = 0;
  if (!timed) return;
  const Stream& stream = LineOf(Queue::kOps).stream;
  zero_.Record(stream);
  stream.Wait();
  zero_ns_ = Now();  // later than the event by the time that the waiting took to return
}

void CudaAccelerator::RunOp(sim::OpIndex op, const KernelArguments& arguments) {
  const GpuKernel& kernel = kernels_->kernels[static_cast<std::size_t>(op)];
  if (!kernel.run) return;
  KernelArguments with_scratch = arguments;
  with_scratch.scratch = scratch_.get();
  kernel.run(with_scratch, libraries_);
}

void CudaAccelerator::Copy(Queue queue, void* to, const void* from, sim::Bytes bytes) {
  BERTH_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
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
  const Event& event = *LineOf(queue).timed[static_cast<std::size_t>(mark)];
  return zero_ns_ + static_cast<std::int64_t>(event.MicrosSince(zero_) * 1e3);
}

bool CudaAccelerator::AllFinite(const void* numbers, std::int64_t count) {
  if (count == 0) return true;
  const Stream& stream = LineOf(Queue::kOps).stream;
  int found = 0;
  BERTH_CUDA(cudaMemsetAsync(found_.get(), 0, sizeof(int), stream.get()));
  LaunchFindNotFinite(static_cast<const float*>(numbers), count, static_cast<int*>(found_.get()),
                      stream.get());
  BERTH_CUDA(cudaMemcpyAsync(&found, found_.get(), sizeof(int), cudaMemcpyDeviceToHost, stream.get()));
  stream.Wait();
  return found == 0;
}

}  // namespace berth::profiler::cuda
