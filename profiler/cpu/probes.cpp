#include "profiler/cpu/probes.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "profiler/cpu/cache_residence.h"
#include "profiler/cpu/cpu_executor.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/pace.h"
#include "profiler/executor/device_memory.h"
#include "profiler/executor/device_thread.h"
#include "profiler/executor/initial_values.h"

namespace stowplan::profiler {
namespace {

const sim::Output& OutputAt(const sim::OpGraph& graph, sim::TensorRef tensor) {
  return graph.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
}

// Of a tensor; of a variable with its slots.
sim::Bytes BytesBehind(const sim::OpGraph& graph, sim::TensorRef tensor) {
  const sim::Op& producer = graph.ops[static_cast<std::size_t>(tensor.op)];
  const sim::Output& output = OutputAt(graph, tensor);
  return output.storage == sim::Output::Storage::kPersistent
             ? std::max(output.bytes, producer.persistent_bytes)
             : output.bytes;
}

sim::Bytes Aligned(sim::Bytes bytes) {
  return (bytes + 63) / 64 * 64;
}

sim::Bytes FootprintOf(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[static_cast<std::size_t>(index)];
  sim::Bytes bytes = 0;
  for (const sim::TensorRef input : op.inputs) bytes += Aligned(BytesBehind(graph, input));
  for (const sim::Output& output : op.outputs) bytes += Aligned(output.bytes);
  return bytes;
}

// One op with memory of its own, what is far away in `copies` that take turns.
class LoneProbe {
 public:
  // elsewhere: FootprintOf(op) bytes for what it reads and writes where only its code is to be touched.
  LoneProbe(const sim::OpGraph& graph, sim::OpIndex op, const CacheResidence& cached, std::size_t copies,
            void* elsewhere)
      : op_(graph.ops[static_cast<std::size_t>(op)]),
        made_(MakeCpuKernel(graph, op)),
        code_cached_(cached.code),
        inputs_(copies),
        outputs_(copies),
        slots_(copies) {
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      const std::size_t first = FindInput(op_.inputs[i]);
      for (std::size_t copy = 0; copy < copies; ++copy) {
        if (first < i) {
          inputs_[copy].push_back(inputs_[copy][first]);
        } else if (cached.inputs[i] && copy > 0) {
          inputs_[copy].push_back(inputs_[0][i]);
        } else {
          AddInput(graph, op_.inputs[i], cached.inputs[i], copy);
        }
      }
    }
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) {
      const sim::Output& output = op_.outputs[i];
      for (std::size_t copy = 0; copy < copies; ++copy) {
        if (output.storage == sim::Output::Storage::kInput) {
          outputs_[copy].push_back(inputs_[copy][FindInput(output.alias)]);
        } else if (cached.outputs[i] && copy > 0) {
          outputs_[copy].push_back(outputs_[0][i]);
        } else {
          outputs_[copy].push_back(AddBlock(output.bytes, cached.outputs[i]));
          std::memset(outputs_[copy].back(), 0, static_cast<std::size_t>(output.bytes));
        }
      }
    }
    for (std::size_t copy = 0; copy < copies && !op_.inputs.empty(); ++copy) {
      if (OutputAt(graph, op_.inputs[0]).storage == sim::Output::Storage::kPersistent)
        slots_[copy] = inputs_[copy][0];
    }
    LayOut(graph, static_cast<char*>(elsewhere));
    if (made_.kernel != nullptr) {
      scratch_ = NewBlock(made_.kernel->scratch_bytes());
      std::memset(scratch_.get(), 0, static_cast<std::size_t>(made_.kernel->scratch_bytes()));
    }
  }

  // With blocks taken and given back [ns].
  std::int64_t Run(DeviceMemory& pool, int round) {
    const std::size_t copy = static_cast<std::size_t>(round) % inputs_.size();
    if (code_cached_) RunOn(elsewhere_.inputs, elsewhere_.outputs, elsewhere_.slots, pool);
    for (const auto& [block, bytes] : cached_) {
      auto* words = static_cast<volatile std::uint32_t*>(block);
      for (sim::Bytes i = 0; i < bytes / 4; ++i) words[i] = words[i];
    }
    const std::int64_t start = Now();
    RunOn(inputs_[copy], outputs_[copy], slots_[copy], pool);
    return Now() - start;
  }

 private:
  std::size_t FindInput(sim::TensorRef tensor) const {
    return static_cast<std::size_t>(std::find(op_.inputs.begin(), op_.inputs.end(), tensor) -
                                    op_.inputs.begin());
  }

  void RunOn(const std::vector<void*>& inputs, const std::vector<void*>& outputs, void* slots,
             DeviceMemory& pool) {
    // What the pool gives is not used: it would be cached where the step's is not.
    taken_.clear();
    for (const sim::Output& output : op_.outputs)
      if (output.storage != sim::Output::Storage::kInput)
        taken_.push_back(pool.Take(pool.Rounded(output.bytes)));
    const KernelArguments arguments{
        .inputs = &inputs, .outputs = &outputs, .slots = slots, .scratch = scratch_.get()};
    if (made_.kernel != nullptr) made_.kernel->Run(arguments);
    std::size_t next = 0;
    for (const sim::Output& output : op_.outputs)
      if (output.storage != sim::Output::Storage::kInput)
        pool.GiveBack(taken_[next++], pool.Rounded(output.bytes));
  }

  // Each tensor by itself: kernels may rely on that.
  void LayOut(const sim::OpGraph& graph, char* elsewhere) {
    for (const sim::TensorRef input : op_.inputs) {
      const std::size_t first = FindInput(input);
      const bool seen = first < elsewhere_.inputs.size();
      elsewhere_.inputs.push_back(seen ? elsewhere_.inputs[first] : elsewhere);
      if (!seen) elsewhere += Aligned(BytesBehind(graph, input));
    }
    for (const sim::Output& output : op_.outputs) {
      const bool view = output.storage == sim::Output::Storage::kInput;
      elsewhere_.outputs.push_back(view ? elsewhere_.inputs[FindInput(output.alias)] : elsewhere);
      if (!view) elsewhere += Aligned(output.bytes);
    }
    if (slots_[0] != nullptr) elsewhere_.slots = elsewhere_.inputs[0];
  }

  void* AddBlock(sim::Bytes bytes, bool cached) {
    blocks_.push_back(NewBlock(bytes));
    if (cached) cached_.emplace_back(blocks_.back().get(), bytes);
    return blocks_.back().get();
  }

  void AddInput(const sim::OpGraph& graph, sim::TensorRef input, bool cached, std::size_t copy) {
    const sim::Op& producer = graph.ops[static_cast<std::size_t>(input.op)];
    const sim::Output& tensor = OutputAt(graph, input);
    const sim::Bytes bytes = BytesBehind(graph, input);
    inputs_[copy].push_back(AddBlock(bytes, cached));
    FillWithSmallNumbers(producer, tensor, inputs_[copy].back(), bytes);
  }

  const sim::Op& op_;
  MadeKernel made_;
  bool code_cached_;
  struct {
    std::vector<void*> inputs, outputs;
    void* slots = nullptr;
  } elsewhere_;
  std::vector<Block> blocks_;
  std::vector<std::vector<void*>> inputs_;   // by copy
  std::vector<std::vector<void*>> outputs_;  // by copy
  std::vector<void*> slots_;                 // by copy
  std::vector<void*> taken_;
  std::vector<std::pair<void*, sim::Bytes>> cached_;
  Block scratch_ = NewBlock(0);
};

// All ops once, those too that have repeats enough: who is left must not find the caches emptier. The pace is looked
// at before and after, as with a step; in between it would change the clock.
void RunRound(std::vector<LoneProbe>& lone, DeviceMemory& pool, const ProbeOptions& options,
              std::int64_t clock, int round, std::vector<ProbedOp>* into) {
  std::vector<std::int64_t> all(lone.size());
  const bool before = options.pace.Holds(MeasurePace());
  for (std::size_t i = 0; i < lone.size(); ++i) {
    const std::int64_t preemptions = Preemptions();
    const std::int64_t ns = lone[i].Run(pool, round);
    all[i] = options.disturbed || Preemptions() == preemptions ? std::max<std::int64_t>(ns - clock, 0) : -1;
  }
  if (!before || !options.pace.Holds(MeasurePace())) return;
  for (std::size_t i = 0; i < lone.size(); ++i)
    if (all[i] >= 0) (*into)[i].ns.push_back(all[i]);
}

}  // namespace

std::vector<ProbedOp> ProbeOps(const sim::OpGraph& graph, const std::vector<std::vector<sim::OpIndex>>& sets,
                               const CoresByDevice& cores, const ProbeOptions& options) {
  std::vector<std::int32_t> set_of(graph.ops.size(), -1);
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (const sim::OpIndex op : sets[set])
      set_of[static_cast<std::size_t>(op)] = static_cast<std::int32_t>(set);
  const std::vector<CacheResidence> cached = FindCacheResidence(graph, set_of);
  std::vector<ProbedOp> all;
  sim::Bytes round_bytes = 1, largest = 0;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    std::map<CacheResidence, std::size_t> seen;
    for (const sim::OpIndex op : sets[set]) {
      const auto [found, is_new] = seen.emplace(cached[static_cast<std::size_t>(op)], all.size());
      if (is_new) {
        all.push_back({.op = op, .set = set, .stands_for = 0, .ns = {}});
        round_bytes += TrafficOf(graph, op);
        largest = std::max(largest, FootprintOf(graph, op));
      }
      ++all[found->second].stands_for;
    }
  }
  // So many that twice the cache has gone by before a copy is read again, and no more: the next level of cache that
  // has room for the program must have room for its probes.
  constexpr sim::Bytes kMostCopies = 16;
  const auto copies = static_cast<std::size_t>(std::min(kMostCopies, 1 + 2 * CacheBytes() / round_bytes));
  for (const std::vector<int>& mine : cores) {
    std::vector<ProbedOp> here(all.size());
    OnDevice(mine, [&] {
      const Block elsewhere = NewBlock(largest);
      std::memset(elsewhere.get(), 0, static_cast<std::size_t>(largest));
      std::vector<LoneProbe> lone;
      lone.reserve(all.size());
      for (const ProbedOp& probed : all)
        lone.emplace_back(graph, probed.op, cached[static_cast<std::size_t>(probed.op)], copies,
                          elsewhere.get());
      DeviceMemory pool(64, 0, std::make_unique<EqualSizesPool>(NewBlock));
      const std::int64_t clock = ClockCost();
      const auto wanting = [&](const ProbedOp& probed) {
        return static_cast<int>(probed.ns.size()) < options.repeats;
      };
      int round = 0;
      for (; round < options.warm_up; ++round) RunRound(lone, pool, options, clock, round, &here);
      for (ProbedOp& probed : here) probed.ns.clear();
      for (; round < options.warm_up + options.at_most && std::any_of(here.begin(), here.end(), wanting);
           ++round) {
        if (options.stop && options.stop()) break;
        RunRound(lone, pool, options, clock, round, &here);
      }
    });
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].ns.insert(all[i].ns.end(), here[i].ns.begin(), here[i].ns.end());
  }
  return all;
}

}  // namespace stowplan::profiler
