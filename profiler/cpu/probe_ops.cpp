// Op probes on a CPU: each case alone, by the kernels that the executor runs, on all cores that were given.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include <unistd.h>

#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/probe_table.h"
#include "profiler/executor/device_memory.h"
#include "profiler/executor/device_thread.h"
#include "profiler/executor/graph_ops.h"
#include "profiler/executor/initial_values.h"
#include "profiler/executor/op_tensors.h"
#include "profiler/op_graphs.h"
#include "profiler/probe_rows.h"
#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

// A run of more than this [s], by what a core does at least, is left out: it is wanted some twenty times, and all probes
// together are to take one core little more than a minute.
constexpr double kMostSeconds = 0.05;
constexpr double kFlopsOfCore = 5e10, kBytesOfCore = 1e10;  // per second

bool IsTooMuch(double flops, double bytes, const MeasureOptions& options) {
  const auto cores = static_cast<double>(options.cores.size());
  return flops / kFlopsOfCore + bytes / kBytesOfCore > kMostSeconds * cores;
}

// Memory that is written to drive everything else out of the caches.
class Flush {
 public:
  Flush() : bytes_(std::max(static_cast<sim::Bytes>(64) << 20, 2 * CacheBytes())), block_(NewBlock(bytes_)) {
    std::memset(block_.get(), 1, static_cast<std::size_t>(bytes_));
  }
  void operator()() { std::memset(block_.get(), ++value_, static_cast<std::size_t>(bytes_)); }

 private:
  static sim::Bytes CacheBytes() { return std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE)); }

  sim::Bytes bytes_;
  Block block_;
  unsigned char value_ = 0;
};

// Ops with their tensors, all allocated.
class PreparedOps {
 public:
  explicit PreparedOps(sim::OpGraph graph) : graph_(std::move(graph)) {
    std::int64_t scratch = 0;
    std::map<sim::TensorRef, void*> blocks;
    for (const sim::OpIndex index : graph_.topological_order()) {
      const sim::Op& op = graph_.ops[static_cast<std::size_t>(index)];
      Call call;
      for (const sim::TensorRef input : op.inputs) call.inputs.push_back(blocks.at(input));
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const sim::Output& output = op.outputs[i];
        void* const block =
            output.storage == sim::Output::Storage::kInput ? blocks.at(output.alias) : Allocate(op, output);
        blocks[{index, static_cast<std::int32_t>(i)}] = block;
        call.outputs.push_back(block);
      }
      MadeKernel made = MakeCpuKernel(graph_, index);
      stand_in_ = stand_in_ || made.stand_in;
      if (made.kernel == nullptr) continue;
      scratch = std::max(scratch, made.kernel->scratch_bytes());
      const OpTensors tensors(graph_, index);
      if (tensors.inputs() > 0 && tensors.input(0).storage == sim::Output::Storage::kPersistent)
        call.slots = call.inputs[0];
      call.kernel = std::move(made.kernel);
      calls_.push_back(std::move(call));
    }
    blocks_.push_back(NewBlock(scratch));
    std::memset(blocks_.back().get(), 0, static_cast<std::size_t>(scratch));
    for (Call& call : calls_) call.scratch = blocks_.back().get();
  }

  bool stand_in() const { return stand_in_; }

  // [us]
  double Run() {
    const std::int64_t start = Now();
    for (Call& call : calls_) {
      call.kernel->Run(
          {.inputs = &call.inputs, .outputs = &call.outputs, .slots = call.slots, .scratch = call.scratch});
    }
    return static_cast<double>(Now() - start) * 1e-3;
  }

 private:
  struct Call {
    std::unique_ptr<Kernel> kernel;
    std::vector<void*> inputs, outputs;
    void* slots = nullptr;
    void* scratch = nullptr;
  };

  void* Allocate(const sim::Op& op, const sim::Output& output) {
    const sim::Bytes bytes = std::max(output.bytes, op.persistent_bytes);
    blocks_.push_back(NewBlock(bytes));
    FillWithSmallNumbers(op, output, blocks_.back().get(), bytes);
    return blocks_.back().get();
  }

  sim::OpGraph graph_;
  std::vector<Block> blocks_;
  std::vector<Call> calls_;
  bool stand_in_ = false;
};

// As Repeat(), but samples during which the system took the core away are taken again, up to ten in all: on a machine where
// most are, others do no better.
std::vector<double> RepeatUndisturbed(const Timing& timing, const std::function<double()>& sample) {
  int again = 10;
  return Repeat(timing, [&] {
    for (;;) {
      const std::int64_t before = Preemptions();
      const double us = sample();
      if (Preemptions() == before || again-- <= 0) return us;
    }
  });
}

void AddTimes(PreparedOps& prepared, Flush& flush, const Timing& timing, sim::Attributes* row) {
  row->emplace_back("hot", Summary(RepeatUndisturbed(timing, [&] { return prepared.Run(); })));
  row->emplace_back("cold", Summary(RepeatUndisturbed(timing, [&] {
                      flush();
                      return prepared.Run();
                    })));
}

}  // namespace

sim::OpGraph GraphOnCpu(const OpCase& one) {
  if (one.format != "f32") throw Unavailable("the CPU's kernels compute in f32 alone");
  std::optional<sim::OpGraph> graph = GraphOf(one);
  if (!graph) throw Unavailable("no kernel of the CPU computes " + one.op);
  return std::move(*graph);
}

sim::Attribute MeasureOpsOnCpu(const Probe& probe, const MeasureOptions& options) {
  const std::vector<OpCase> cases = CasesToMeasure(probe.cases(), options.quick);
  sim::Attribute::List rows;
  OnDevice(options.cores, [&] {
    Flush flush;
    rows = MeasureRows(cases.size(), options, [&](std::size_t number) {
      const OpCase& one = cases[number];
      sim::Attributes row = KeyOf(one);
      try {
        if (IsTooMuch(one.flops, static_cast<double>(one.bytes), options))
          throw Unavailable("too much work to be repeated on so few cores");
        PreparedOps prepared(GraphOnCpu(one));
        if (prepared.stand_in()) throw Unavailable("no kernel of the CPU computes " + one.op);
        AddTimes(prepared, flush, options.timing, &row);
      } catch (const Unavailable& reason) {
        row.emplace_back("unavailable", sim::Attribute{std::string(reason.what())});
      }
      return row;
    });
  });
  return Rows(std::move(rows));
}

sim::Attribute MeasureGraphOpsOnCpu(const sim::OpGraph& graph, const MeasureOptions& options) {
  sim::Attribute result;
  OnDevice(options.cores, [&] {
    Flush flush;
    result = MeasureOpsOf(graph, options, [&](const sim::OpGraph& lone, sim::Attributes* row) {
      PreparedOps prepared(lone);
      if (prepared.stand_in()) row->emplace_back("stand_in", sim::Attribute{true});
      AddTimes(prepared, flush, options.timing, row);
    });
  });
  return result;
}

sim::Attribute MeasureHostCopies(const Probe&, const MeasureOptions& options) {
  std::vector<sim::Bytes> sizes = CopySizes(options.quick);
  const MeasureOptions one_core{.cores = {options.cores.front()}};  // by one thread, however many there are
  std::erase_if(sizes,
                [&](sim::Bytes bytes) { return IsTooMuch(0, 2 * static_cast<double>(bytes), one_core); });
  sim::Attribute::List rows;
  OnDevice(options.cores, [&] {
    Flush flush;
    const Block from = NewBlock(sizes.back()), to = NewBlock(sizes.back());
    for (void* const block : {from.get(), to.get()})
      std::memset(block, 1, static_cast<std::size_t>(sizes.back()));
    rows = MeasureRows(sizes.size(), options, [&](std::size_t number) {
      const sim::Bytes bytes = sizes[number];
      const auto copy = [&] {
        const std::int64_t start = Now();
        std::memcpy(to.get(), from.get(), static_cast<std::size_t>(bytes));
        asm volatile("" : : "r"(to.get()) : "memory");  // or nothing is copied
        return static_cast<double>(Now() - start) * 1e-3;
      };
      const auto cold = [&] {
        flush();
        return copy();
      };
      return sim::Attributes{{"bytes", {bytes}},
                             {"host", Summary(RepeatUndisturbed(options.timing, copy))},
                             {"cold", Summary(RepeatUndisturbed(options.timing, cold))}};
    });
  });
  return Rows(std::move(rows));
}

MeasureProbe FindMeasurement(std::string_view name) {
  if (name == "copy_host") return MeasureHostCopies;
  if (name == "copy_cores") return MeasureCopiesBetweenDevices;
  if (name == "dispatch") return MeasureDispatch;
  if (name == "overlap") return MeasureOverlap;
  const Probe* const probe = FindProbe(name);
  return probe != nullptr && probe->cases != nullptr ? MeasureOpsOnCpu : nullptr;
}

}  // namespace stowplan::profiler
