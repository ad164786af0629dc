// Ops of graphs, alone: by the kernels that executed graphs run, so that a probe measures what a step does. 32-bit cases
// are such graphs (profiler/op_graphs.h).
#include <algorithm>
#include <map>
#include <optional>

#include "profiler/backend.h"
#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/prepared_op.h"

namespace stowplan::profiler::cuda {
namespace {

struct Call {
  GpuKernel kernel;
  std::vector<void*> inputs, outputs;
  void* slots = nullptr;
};

// Memory for an output, with numbers in it.
void* Fill(PreparedOp& op, const sim::Op& producer, const sim::Output& output, cudaStream_t stream) {
  const sim::Bytes bytes = std::max(
      output.bytes, output.storage == sim::Output::Storage::kPersistent ? producer.persistent_bytes : 0);
  if (output.dtype == "i32") return op.Indices(bytes / 4, stream);
  return op.Operand(Type::kF32, std::max<sim::Bytes>(1, (bytes + 3) / 4), stream);
}

// The op's kernel, else a stand-in where one will do: as MakeGraphKernels() makes them.
GpuKernel MakeKernel(const OpTensors& tensors, MakingOf& making, bool* stand_in) {
  std::string reason = "no kernel of the GPU computes " + tensors.op().type;
  try {
    if (std::optional<GpuKernel> kernel = MakeGpuKernel(tensors, making)) return std::move(*kernel);
  } catch (const Unavailable& why) {
    reason = why.what();
  }
  if (stand_in == nullptr) throw Unavailable(reason);
  *stand_in = true;
  return MakeGpuStandIn(tensors);
}

}  // namespace

std::unique_ptr<PreparedOp> PrepareGraph(const sim::OpGraph& graph, Tf32 tf32, const Libraries& libraries,
                                         bool* stand_in) {
  auto op = std::make_unique<PreparedOp>();
  MakingOf making{libraries, tf32};
  std::vector<Call> calls;
  std::map<sim::TensorRef, void*> blocks;
  std::size_t scratch_bytes = 0;
  for (const sim::OpIndex index : graph.topological_order()) {
    const OpTensors tensors(graph, index);
    Call call;
    for (const sim::TensorRef input : tensors.op().inputs) call.inputs.push_back(blocks.at(input));
    for (std::size_t i = 0; i < tensors.outputs(); ++i) {
      const sim::Output& output = tensors.output(i);
      call.outputs.push_back(output.storage == sim::Output::Storage::kInput
                                 ? blocks.at(output.alias)
                                 : Fill(*op, tensors.op(), output, libraries.stream()));
      blocks[{index, static_cast<std::int32_t>(i)}] = call.outputs.back();
    }
    if (DoesNothing(tensors)) continue;
    call.kernel = MakeKernel(tensors, making, stand_in);
    scratch_bytes = std::max(scratch_bytes, call.kernel.scratch_bytes);
    if (tensors.inputs() > 0 && tensors.input(0).storage == sim::Output::Storage::kPersistent)
      call.slots = call.inputs[0];
    calls.push_back(std::move(call));
  }
  void* const scratch =
      scratch_bytes == 0
          ? nullptr
          : op->Operand(Type::kF32, static_cast<std::int64_t>(scratch_bytes + 3) / 4, libraries.stream());
  op->run = [calls = std::move(calls), scratch, &libraries] {
    for (const Call& call : calls) {
      call.kernel.run(
          {.inputs = &call.inputs, .outputs = &call.outputs, .slots = call.slots, .scratch = scratch},
          libraries);
    }
  };
  return op;
}

}  // namespace stowplan::profiler::cuda
