// A device that is an accelerator: its thread issues ops and copies and learns by asking when they are done.
//
// The rules that make it right without any queue waiting for another:
//  - an op is issued when its local producers have been issued (the queue of ops is in order) and when the host
//    has seen that everything it receives has arrived;
//  - a copy is enqueued when the host has seen that its producer is done;
//  - a block of an op's output is used again by later ops of the same queue only, and not before the host has
//    seen that every copy from it is done. So such blocks are counted and given back in the order of issue, as
//    allocators of frameworks do: with ops in order the peak is that of the order of execution;
//  - what is received has a block of its own for the whole placement, which the step's single copy into it
//    writes; it is counted from when the copy is enqueued until its last reader is done.
// A copy from an accelerator is enqueued by its own thread (`kOut`), one from a CPU by the receiver's (`kIn`).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "profiler/executor/accelerator.h"
#include "profiler/executor/device.h"

namespace stowplan::profiler {

class AcceleratorDevice : public Device {
 public:
  AcceleratorDevice(Machine& machine, sim::DeviceIndex index, std::unique_ptr<Accelerator> accelerator);
  ~AcceleratorDevice() override;
  void Prepare(const sim::Placement& placement, const ExecuteOptions& options) override;
  void Reset() override;

 protected:
  void Work() override;
  void Send(std::int32_t transfer) override;

 private:
  using Queue = Accelerator::Queue;
  struct Running {
    std::int32_t number = -1;                // op or transfer
    Accelerator::Mark start = -1, end = -1;  // start: traced steps only
    std::int64_t enqueued_ns = 0;  // of a traced op: when the host had enqueued it, on the clock of Now()
  };

  bool Poll();  // takes note of one thing that is done, if there is one
  bool Listen();
  void Issue(sim::OpIndex op);
  void End(sim::OpIndex op);
  void Enqueue(Queue queue, std::int32_t transfer, void* to, const void* from);
  bool Done(std::deque<Running>& running, Queue queue, Running* done);
  void RecordSpans();

  std::unique_ptr<Accelerator> accelerator_;
  std::vector<Block> blocks_;          // fixed ones
  std::vector<std::uint8_t> has_end_;  // by op: somebody waits for its end
  std::int32_t issued_ = 0;            // ops in this step
  std::deque<Running> ops_, out_, in_;
  std::vector<Running> ran_, sent_, received_;  // traced steps: all of them
};

}  // namespace stowplan::profiler
