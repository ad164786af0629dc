// A GPU as the executor's devices use it (profiler/executor/accelerator.h): three streams, and events for marks.
// Several of them on one GPU are devices that share it.
//
// No stream ever waits for another: the host asks which events have been reached before it enqueues what
// depends on them (profiler/executor/accelerator_device.h has the rules).
#pragma once

#include <memory>
#include <vector>

#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/resources.h"
#include "profiler/executor/accelerator.h"

namespace berth::profiler::cuda {

class CudaAccelerator : public Accelerator {
 public:
  explicit CudaAccelerator(std::shared_ptr<const GraphKernels> kernels);

  Block NewBlock(sim::Bytes bytes) override;
  void Upload(void* to, const void* from_host, sim::Bytes bytes) override;
  void BeginStep(bool timed) override;
  void RunOp(sim::OpIndex op, const KernelArguments& arguments) override;
  void Copy(Queue queue, void* to, const void* from, sim::Bytes bytes) override;
  Mark Put(Queue queue) override;
  bool Reached(Queue queue, Mark mark) override;
  void Wait() override;
  std::int64_t TimeOf(Queue queue, Mark mark) override;
  bool AllFinite(const void* numbers, std::int64_t count) override;

 private:
  // The events of a queue, used again in every step; those that tell no time are cheaper.
  struct Line {
    Stream stream;
    std::vector<std::unique_ptr<Event>> plain, timed;
    std::size_t used = 0;
  };
  Line& LineOf(Queue queue) { return lines_[static_cast<std::size_t>(queue)]; }
  std::vector<std::unique_ptr<Event>>& EventsOf(Line& line) { return timed_ ? line.timed : line.plain; }

  std::shared_ptr<const GraphKernels> kernels_;
  Line lines_[3];
  Libraries libraries_;  // of the queue of ops
  DeviceBuffer scratch_;
  DeviceBuffer found_;  // one int: something was not finite
  bool timed_ = false;
  Event zero_;                // of a timed step: reached at
  std::int64_t zero_ns_ = 0;  // on the clock of Now()
};

// Host memory that copies to and from a GPU need not go through other memory for.
Block NewPinnedBlock(sim::Bytes bytes);

}  // namespace berth::profiler::cuda
