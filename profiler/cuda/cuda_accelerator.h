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

namespace stowplan::profiler::cuda {

// The clock of a GPU's events against Now(): one zero for all accelerators of a GPU, set anew for each timed step, since
// the time between two events is told in few digits.
class GpuClock {
 public:
  // On an empty stream: records an event some times and keeps the one whose recording the host knows best.
  void SetZero(const Stream& stream);
  // [ns] on the clock of Now(), to within uncertainty_ns().
  std::int64_t TimeOf(const Event& event) const;
  std::int64_t uncertainty_ns() const { return uncertainty_ns_; }

 private:
  static constexpr std::size_t kTries = 10;
  Event events_[kTries];
  std::size_t zero_ = 0;
  std::int64_t zero_ns_ = 0, uncertainty_ns_ = 0;
};

class CudaAccelerator : public Accelerator {
 public:
  // ops: where ops run. clock: that of the GPU; the accelerator that `sets_clock` does so at the beginning of timed
  // steps, the others read it when those are over.
  CudaAccelerator(std::shared_ptr<const GraphKernels> kernels, Stream ops, std::shared_ptr<GpuClock> clock,
                  bool sets_clock);

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
    explicit Line(Stream of = Stream()) : stream(std::move(of)) {}
    Stream stream;
    std::vector<std::unique_ptr<Event>> plain, timed;
    std::size_t used = 0;
  };
  Line& LineOf(Queue queue) { return lines_[static_cast<std::size_t>(queue)]; }
  std::vector<std::unique_ptr<Event>>& EventsOf(Line& line) { return timed_ ? line.timed : line.plain; }

  std::shared_ptr<const GraphKernels> kernels_;
  Line lines_[3];        // by Queue
  Libraries libraries_;  // of the queue of ops
  DeviceBuffer scratch_;
  DeviceBuffer found_;  // one int: something was not finite
  bool timed_ = false;
  std::shared_ptr<GpuClock> clock_;
  bool sets_clock_;
};

// Host memory that copies to and from a GPU need not go through other memory for.
Block NewPinnedBlock(sim::Bytes bytes);

}  // namespace stowplan::profiler::cuda
