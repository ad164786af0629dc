#include "profiler/cpu/probes.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <unistd.h>

#include "profiler/executor/device_memory.h"
#include "profiler/executor/device_thread.h"
#include "profiler/cpu/cpu_executor.h"
#include "profiler/executor/initial_values.h"
#include "profiler/cpu/cpu_kernels.h"

namespace berth::profiler {
namespace {

std::int64_t Median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What two readings of the clock take with nothing between them.
std::int64_t ClockCost() {
  std::vector<std::int64_t> costs;
  for (int i = 0; i < 1001; ++i) {
    const std::int64_t start = Now();
    costs.push_back(Now() - start);
  }
  return Median(std::move(costs));
}

sim::Bytes CacheBytes() {
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return cache > 0 ? cache : 1 << 20;
}

const sim::Output& OutputAt(const sim::OpGraph& graph, sim::TensorRef tensor) {
  return graph.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
}

sim::Bytes BytesOf(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
  sim::Bytes bytes = 0;
  for (const sim::TensorRef input : op.inputs) bytes += OutputAt(graph, input).bytes;
  for (const sim::Output& output : op.outputs) bytes += output.bytes;
  return bytes;
}

// By op and input: whether the program has gone through less than half a second-level cache since the tensor was
// last written or read; what is read once a step was read a step ago.
std::vector<std::vector<bool>> FindNear(const sim::OpGraph& graph) {
  std::map<sim::TensorRef, sim::Bytes> touched;
  std::vector<std::vector<bool>> near(graph.ops.size());
  sim::Bytes traffic = 0;
  for (int step = 0; step < 2; ++step) {
    for (const sim::OpIndex index : graph.topological_order()) {
      const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
      if (op.IsSource()) continue;
      auto& mine = near[static_cast<std::size_t>(index)];
      mine.clear();
      for (const sim::TensorRef input : op.inputs) {
        const auto found = touched.find(input);
        mine.push_back(found != touched.end() && traffic - found->second <= CacheBytes() / 2);
      }
      traffic += BytesOf(graph, index);
      for (const sim::TensorRef input : op.inputs) touched[input] = traffic;
      for (std::size_t i = 0; i < op.outputs.size(); ++i)
        touched[{index, static_cast<std::int32_t>(i)}] = traffic;
    }
  }
  return near;
}

// One op with inputs of its own, those that are far away in `copies` that take turns; outputs come from a pool,
// as in the executor.
class LoneOp {
 public:
  LoneOp(const sim::OpGraph& graph, sim::OpIndex op, const std::vector<bool>& near, std::size_t copies)
      : op_(graph.ops[static_cast<std::size_t>(op)]),
        made_(MakeCpuKernel(graph, op)),
        inputs_(copies),
        slots_(copies) {
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      const auto first = static_cast<std::size_t>(
          std::find(op_.inputs.begin(), op_.inputs.end(), op_.inputs[i]) - op_.inputs.begin());
      for (std::size_t copy = 0; copy < copies; ++copy) {
        if (first < i) {
          inputs_[copy].push_back(inputs_[copy][first]);
        } else if (near[i] && copy > 0) {
          inputs_[copy].push_back(inputs_[0][i]);
        } else {
          AddInput(graph, op_.inputs[i], near[i], copy);
        }
      }
    }
    for (std::size_t copy = 0; copy < copies && !op_.inputs.empty(); ++copy) {
      if (OutputAt(graph, op_.inputs[0]).storage == sim::Output::Storage::kPersistent)
        slots_[copy] = inputs_[copy][0];
    }
    if (made_.kernel != nullptr) {
      scratch_ = NewBlock(made_.kernel->scratch_bytes());
      std::memset(scratch_.get(), 0, static_cast<std::size_t>(made_.kernel->scratch_bytes()));
    }
  }

  // With its blocks taken and given back [ns].
  std::int64_t Run(DeviceMemory& pool, int round) {
    const std::size_t copy = static_cast<std::size_t>(round) % inputs_.size();
    const std::vector<void*>& inputs = inputs_[copy];
    for (const auto& [block, bytes] : near_) {
      auto* words = static_cast<volatile std::uint32_t*>(block);
      for (sim::Bytes i = 0; i < bytes / 4; ++i) words[i] = words[i];
    }
    const std::int64_t start = Now();
    outputs_.clear();
    for (const sim::Output& output : op_.outputs) {
      const auto alias = std::find(op_.inputs.begin(), op_.inputs.end(), output.alias);
      outputs_.push_back(output.storage == sim::Output::Storage::kInput
                             ? inputs[static_cast<std::size_t>(alias - op_.inputs.begin())]
                             : pool.Take(pool.Rounded(output.bytes)));
    }
    const KernelArguments arguments{
        .inputs = &inputs, .outputs = &outputs_, .slots = slots_[copy], .scratch = scratch_.get()};
    if (made_.kernel != nullptr) made_.kernel->Run(arguments);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (op_.outputs[i].storage != sim::Output::Storage::kInput)
        pool.GiveBack(outputs_[i], pool.Rounded(op_.outputs[i].bytes));
    }
    return Now() - start;
  }

 private:
  void AddInput(const sim::OpGraph& graph, sim::TensorRef input, bool near, std::size_t copy) {
    const sim::Op& producer = graph.ops[static_cast<std::size_t>(input.op)];
    const sim::Output& tensor = OutputAt(graph, input);
    const bool persistent = tensor.storage == sim::Output::Storage::kPersistent;
    const sim::Bytes bytes = persistent ? std::max(tensor.bytes, producer.persistent_bytes) : tensor.bytes;
    blocks_.push_back(NewBlock(bytes));
    void* block = blocks_.back().get();
    FillWithSmallNumbers(producer, tensor, block, bytes);
    inputs_[copy].push_back(block);
    if (near) near_.emplace_back(block, tensor.bytes);
  }

  const sim::Op& op_;
  MadeKernel made_;
  std::vector<Block> blocks_;
  std::vector<std::vector<void*>> inputs_;  // by copy
  std::vector<void*> slots_;                // by copy
  std::vector<void*> outputs_;
  std::vector<std::pair<void*, sim::Bytes>> near_;
  Block scratch_ = NewBlock(0);
};

// All ops once, those too that have repeats enough: who is left must not find the caches emptier.
void RunRound(std::vector<LoneOp>& lone, DeviceMemory& pool, std::int64_t clock, int round,
              std::vector<ProbedOp>* into) {
  for (std::size_t i = 0; i < lone.size(); ++i) {
    const std::int64_t before = Preemptions();
    const std::int64_t ns = lone[i].Run(pool, round);
    if (Preemptions() == before) (*into)[i].ns.push_back(std::max<std::int64_t>(ns - clock, 0));
  }
}

// A chain that goes to and fro between two devices: every link sends another size, once each way, and while it
// does nothing else happens. Op 2i sends sizes[i] forth, op 2i + 1 back.
sim::OpGraph CopyChain(const std::vector<sim::Bytes>& sizes) {
  sim::OpGraph graph;
  graph.name = "copies";
  for (std::size_t i = 0; i <= 2 * sizes.size(); ++i) {
    sim::Op op;
    op.name = "op" + std::to_string(i);
    op.type = "Opaque";
    const auto before = static_cast<sim::OpIndex>(i) - 1;
    if (i > 0 && sizes[(i - 1) / 2] > 0) {
      op.inputs = {{before, 0}};
    } else if (i > 0) {
      op.control = {before};
    }
    if (i < 2 * sizes.size() && sizes[i / 2] > 0) {
      op.outputs.emplace_back();
      op.outputs[0].bytes = sizes[i / 2];
    }
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

// A chain of additions of 16 numbers. Before each fourth one an op writes a second-level cache full, so that
// what the executor knows of the next ops is as far away as in a step.
sim::OpGraph SmallChain() {
  constexpr int kLinks = 60;
  constexpr sim::Bytes kCacheFull = sim::Bytes{2} << 20;
  sim::OpGraph graph;
  graph.name = "small";
  const auto add = [&graph](const std::string& type, sim::Bytes bytes) -> sim::Op& {
    sim::Op op;
    op.name = "op" + std::to_string(graph.ops.size());
    op.type = type;
    op.outputs.emplace_back();
    op.outputs[0].bytes = bytes;
    op.outputs[0].dtype = "f32";
    op.outputs[0].shape = {bytes / 4};
    graph.ops.push_back(std::move(op));
    return graph.ops.back();
  };
  add("Placeholder", 64);
  sim::OpIndex before = 0;
  for (int i = 0; i < kLinks; ++i) {
    const auto last = [&] { return static_cast<sim::OpIndex>(graph.ops.size()) - 1; };
    if (i % 4 == 3) {
      add("Opaque", kCacheFull).control = {before};
      const sim::OpIndex wide = last();
      sim::Op& op = add("Add", 64);
      op.inputs = {{before, 0}, {0, 0}};
      op.control = {wide};
    } else {
      add("Add", 64).inputs = {{before, 0}, {0, 0}};
    }
    before = last();
  }
  graph.Finish();
  return graph;
}

}  // namespace

std::vector<ProbedOp> ProbeOps(const sim::OpGraph& graph, const std::vector<sim::OpIndex>& ops,
                               const CoresByDevice& cores, const ProbeOptions& options) {
  const std::vector<std::vector<bool>> near = FindNear(graph);
  sim::Bytes round_bytes = 1;
  for (const sim::OpIndex op : ops) round_bytes += BytesOf(graph, op);
  // So many that twice the cache has gone by before a copy is read again.
  constexpr sim::Bytes kMostCopies = 16;
  const auto copies = static_cast<std::size_t>(std::min(kMostCopies, 1 + 2 * CacheBytes() / round_bytes));
  std::vector<ProbedOp> all;
  for (const sim::OpIndex op : ops) all.push_back({op, {}});
  for (const std::vector<int>& mine : cores) {
    std::vector<ProbedOp> here(ops.size());
    OnDevice(mine, [&] {
      std::vector<LoneOp> lone;
      lone.reserve(ops.size());
      for (const sim::OpIndex op : ops)
        lone.emplace_back(graph, op, near[static_cast<std::size_t>(op)], copies);
      DeviceMemory pool(64, 0);
      const std::int64_t clock = ClockCost();
      const auto wanting = [&](const ProbedOp& probed) {
        return static_cast<int>(probed.ns.size()) < options.repeats;
      };
      int round = 0;
      for (; round < options.warm_up; ++round) RunRound(lone, pool, clock, round, &here);
      for (ProbedOp& probed : here) probed.ns.clear();
      for (; round < options.warm_up + options.at_most && std::any_of(here.begin(), here.end(), wanting);
           ++round)
        RunRound(lone, pool, clock, round, &here);
    });
    for (std::size_t i = 0; i < ops.size(); ++i)
      all[i].ns.insert(all[i].ns.end(), here[i].ns.begin(), here[i].ns.end());
  }
  return all;
}

std::vector<ProbedCopy> ProbeCopies(const sim::Cluster& cluster, const CoresByDevice& cores,
                                    const std::vector<sim::Bytes>& sizes, const ProbeOptions& options) {
  const sim::OpGraph graph = CopyChain(sizes);
  const auto executor = MakeCpuExecutor(graph, cluster, cores);
  sim::Placement placement;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) placement.device.push_back(op % 2);
  std::vector<ProbedCopy> probed;
  for (const sim::Bytes bytes : sizes) probed.push_back({.bytes = bytes, .ns = {}});
  for (const Step& step : executor->Run(placement, {.warm_up = options.warm_up,
                                                   .steps = options.repeats,
                                                   .at_most = options.at_most,
                                                   .traced = true})) {
    if (step.disturbed) continue;
    std::vector<std::int64_t> end(graph.ops.size());
    for (const OpSpan& span : step.ops) end[static_cast<std::size_t>(span.op)] = span.end_ns;
    for (const CopySpan& copy : step.copies) {
      const auto producer = static_cast<std::size_t>(copy.tensor.op);
      probed[producer / 2].ns.push_back(copy.end_ns - end[producer]);
    }
  }
  return probed;
}

std::vector<std::int64_t> ProbeDispatch(const sim::Cluster& cluster,
                                        const CoresByDevice& cores,
                                        const ProbeOptions& options) {
  const sim::OpGraph graph = SmallChain();
  const auto executor = MakeCpuExecutor(graph, cluster, cores);
  const std::int64_t clock = ClockCost();
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  std::vector<std::int64_t> ns;
  for (const Step& step : executor->Run(placement, {.warm_up = options.warm_up,
                                                   .steps = options.repeats,
                                                   .at_most = options.at_most,
                                                   .traced = true})) {
    for (std::size_t i = 1; i < step.ops.size() && !step.disturbed; ++i)
      ns.push_back(std::max<std::int64_t>(step.ops[i].start_ns - step.ops[i - 1].end_ns - clock, 0));
  }
  return ns;
}

}  // namespace berth::profiler
