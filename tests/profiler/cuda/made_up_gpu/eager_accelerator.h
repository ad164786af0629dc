// An accelerator that does everything at once, with the kernels and in the memory of the CPU: steps of graphs run for real
// where there is no GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "profiler/cpu/cpu_kernels.h"
#include "profiler/executor/accelerator.h"
#include "profiler/executor/block_pool.h"
#include "profiler/executor/device_thread.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

class EagerAccelerator : public Accelerator {
 public:
  explicit EagerAccelerator(const sim::OpGraph& graph) {
    std::int64_t scratch_bytes = 0;
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      kernels_.push_back(
          graph.ops[static_cast<std::size_t>(op)].IsSource() ? nullptr : MakeCpuKernel(graph, op).kernel);
      if (kernels_.back() != nullptr)
        scratch_bytes = std::max(scratch_bytes, kernels_.back()->scratch_bytes());
    }
    scratch_ = profiler::NewBlock(scratch_bytes);
    std::memset(scratch_.get(), 0, static_cast<std::size_t>(scratch_bytes));
  }

  Block NewBlock(sim::Bytes bytes) override { return profiler::NewBlock(bytes); }
  void Upload(void* to, const void* from, sim::Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void BeginStep(bool) override {
    for (std::vector<std::int64_t>& line : reached_) line.clear();
  }
  void RunOp(sim::OpIndex op, const KernelArguments& arguments) override {
    Kernel* const kernel = kernels_[static_cast<std::size_t>(op)].get();
    if (kernel == nullptr) return;
    KernelArguments with_scratch = arguments;
    with_scratch.scratch = scratch_.get();
    kernel->Run(with_scratch);
  }
  void Copy(Queue, void* to, const void* from, sim::Bytes bytes) override { Upload(to, from, bytes); }
  Mark Put(Queue queue) override {
    std::vector<std::int64_t>& line = reached_[static_cast<std::size_t>(queue)];
    line.push_back(Now());
    return static_cast<Mark>(line.size()) - 1;
  }
  bool Reached(Queue, Mark) override { return true; }
  void Wait() override {}
  std::int64_t TimeOf(Queue queue, Mark mark) override {
    return reached_[static_cast<std::size_t>(queue)].at(static_cast<std::size_t>(mark));
  }
  bool AllFinite(const void* numbers, std::int64_t count) override {
    const auto* const begin = static_cast<const float*>(numbers);
    return std::all_of(begin, begin + count, [](float number) { return std::isfinite(number); });
  }

 private:
  std::vector<std::unique_ptr<Kernel>> kernels_;  // by op; null for those that do nothing
  Block scratch_ = profiler::NewBlock(0);
  std::vector<std::int64_t> reached_[3];  // [ns], by queue and mark
};

}  // namespace stowplan::profiler
