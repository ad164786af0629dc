// What the executor asks of an accelerator: memory, and three queues of work that it does in order, each beside
// the others. profiler/cuda implements it with streams and events; tests, with queues that are late on purpose.
#pragma once

#include <cstdint>

#include "profiler/executor/device_memory.h"
#include "profiler/kernel.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// For one thread. Everything may throw RunError; the executor is of no use afterwards.
class Accelerator {
 public:
  enum class Queue : std::uint8_t { kOps, kOut, kIn };  // ops; copies from here; copies to here
  // What was enqueued on a queue before it is done when it is reached; ascending in a step.
  using Mark = std::int32_t;

  virtual ~Accelerator() = default;

  // Memory of the accelerator; all blocks must go before it does.
  virtual Block NewBlock(sim::Bytes bytes) = 0;
  // At once.
  virtual void Upload(void* to, const void* from_host, sim::Bytes bytes) = 0;

  // All queues are empty; forgets the marks of the step before. timed: TimeOf() will be asked.
  virtual void BeginStep(bool timed) = 0;
  // Enqueue and return.
  virtual void RunOp(sim::OpIndex op, const KernelArguments& arguments) = 0;
  virtual void Copy(Queue queue, void* to, const void* from, sim::Bytes bytes) = 0;
  virtual Mark Put(Queue queue) = 0;
  virtual bool Reached(Queue queue, Mark mark) = 0;
  // Returns when all queues are empty.
  virtual void Wait() = 0;
  // When a mark of a timed step was reached, on the clock of Now() [ns]; all queues are empty.
  virtual std::int64_t TimeOf(Queue queue, Mark mark) = 0;
  // Whether all of `count` f32 are finite, once everything enqueued is done.
  virtual bool AllFinite(const void* numbers, std::int64_t count) = 0;
};

}  // namespace stowplan::profiler
