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
#include "profiler/executor/initial_values.h"
#include "profiler/op_graphs.h"
#include "profiler/probe_rows.h"
#include "sim/error.h"

namespace berth::profiler {
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

// A case with its tensors, all allocated.
class PreparedCase {
 public:
  explicit PreparedCase(const OpCase& one) : graph_(GraphOnCpu(one)) {
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
      if (made.stand_in) throw Unavailable("no kernel of the CPU computes " + op.type);
      if (made.kernel == nullptr) continue;
      scratch = std::max(scratch, made.kernel->scratch_bytes());
      const sim::TensorRef first = op.inputs[0];
      const sim::Output& read =
          graph_.ops[static_cast<std::size_t>(first.op)].outputs[static_cast<std::size_t>(first.output)];
      if (read.storage == sim::Output::Storage::kPersistent) call.slots = call.inputs[0];
      call.kernel = std::move(made.kernel);
      calls_.push_back(std::move(call));
    }
    blocks_.push_back(NewBlock(scratch));
    std::memset(blocks_.back().get(), 0, static_cast<std::size_t>(scratch));
    for (Call& call : calls_) call.scratch = blocks_.back().get();
  }

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
};

// As Repeat(), but a sample during which the system took the core away is taken again, up to five times.
std::vector<double> RepeatUndisturbed(const Timing& timing, const std::function<double()>& sample) {
  return Repeat(timing, [&] {
    constexpr int kTries = 5;
    double us = 0;
    for (int i = 0; i < kTries; ++i) {
      const std::int64_t before = Preemptions();
      us = sample();
      if (Preemptions() == before) break;
    }
    return us;
  });
}

}  // namespace

sim::OpGraph GraphOnCpu(const OpCase& one) {
  if (one.format != "f32") throw Unavailable("the CPU's kernels compute in f32 alone");
  std::optional<sim::OpGraph> graph = GraphOf(one);
  if (!graph) throw Unavailable("no kernel of the CPU computes " + one.op);
  return std::move(*graph);
}

sim::Attribute MeasureOpsOnCpu(const Probe& probe, const MeasureOptions& options) {
  const std::vector<OpCase> cases = options.quick ? Thinned(probe.cases()) : probe.cases();
  sim::Attribute::List rows;
  OnDevice(options.cores, [&] {
    Flush flush;
    rows = MeasureRows(cases.size(), options, [&](std::size_t number) {
      const OpCase& one = cases[number];
      sim::Attributes row = KeyOf(one);
      try {
        if (IsTooMuch(one.flops, static_cast<double>(one.bytes), options))
          throw Unavailable("too much work to be repeated on so few cores");
        PreparedCase prepared(one);
        row.emplace_back("hot", Summary(RepeatUndisturbed(options.timing, [&] { return prepared.Run(); })));
        row.emplace_back("cold", Summary(RepeatUndisturbed(options.timing, [&] {
                           flush();
                           return prepared.Run();
                         })));
      } catch (const Unavailable& reason) {
        row.emplace_back("unavailable", sim::Attribute{std::string(reason.what())});
      }
      return row;
    });
  });
  return Rows(std::move(rows));
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
  const Probe* const probe = FindProbe(name);
  return probe != nullptr && probe->cases != nullptr ? MeasureOpsOnCpu : nullptr;
}

}  // namespace berth::profiler
