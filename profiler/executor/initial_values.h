// What the executor's tensors hold when a step starts: variables with their optimizer's slots, constants and
// placeholders. Small numbers, the same in every run.
#pragma once

#include <map>
#include <utility>

#include "profiler/executor/device_memory.h"
#include "profiler/executor/plan.h"

namespace stowplan::profiler {

// Of one output of `op`, in a block of `bytes`; what is beyond the output is zero.
void FillWithSmallNumbers(const sim::Op& op, const sim::Output& output, void* block, sim::Bytes bytes);

class InitialValues {
 public:
  explicit InitialValues(BlockMaker maker) : maker_(std::move(maker)) {}

  // Makes what is not there yet; contents stay from one placement to the next.
  void Prepare(const sim::OpGraph& graph);

  // Null for what an op or a copy fills.
  void* Find(const Storage& storage) const;

 private:
  BlockMaker maker_;
  // By op and output; -1 is its persistent bytes.
  std::map<std::pair<sim::OpIndex, std::int32_t>, Block> blocks_;
};

}  // namespace stowplan::profiler
