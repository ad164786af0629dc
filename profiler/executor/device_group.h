// The executor over devices of any class: a thread for each, started once, which run step after step together.
#pragma once

#include <functional>
#include <memory>

#include "profiler/executor.h"
#include "profiler/executor/accelerator.h"
#include "profiler/kernel.h"

namespace stowplan::profiler {

struct ExecutorParts {
  // What an op does on a CPU; null where there is nothing to run it with.
  std::function<MadeKernel(const sim::OpGraph& graph, sim::OpIndex op)> cpu_kernel;
  BlockMaker cpu_blocks = NewBlock;  // memory of the CPUs
  // The accelerator that is device `device`; null where there is none.
  std::function<std::unique_ptr<Accelerator>(sim::DeviceIndex device)> accelerator;
  // What known work takes on this core now [ns], of which ExecuteOptions::pace speaks; null: nobody can tell.
  std::function<std::int64_t()> measure_pace;
  // Ops that the accelerators run a stand-in for, ascending.
  std::vector<sim::OpIndex> stand_ins;
  sim::Attributes facts;  // of how the accelerators run ops (Executor::facts)
};

// Keeps references to graph and cluster. Throws RunError where a thread cannot be pinned, InputError where
// `parts` has nothing for a class of device that the cluster has, or where `cores` are not as many as the devices
// and of one length.
std::unique_ptr<Executor> MakeExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                       const CoresByDevice& cores, ExecutorParts parts);

}  // namespace stowplan::profiler
