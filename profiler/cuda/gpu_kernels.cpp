#include "profiler/cuda/gpu_kernels.h"

#include <algorithm>

#include "profiler/backend.h"
#include "profiler/cuda/kernels_graph.h"

namespace stowplan::profiler::cuda {
namespace {

GpuMaker FindMaker(std::string_view type) {
  for (const auto* rows : {&MatrixRows(), &RowRows(), &ElementRows()}) {
    for (const GpuRow& row : *rows) {
      if (row.type == type) return row.make;
    }
  }
  return nullptr;
}

// Memory of one op and nobody else: every tensor zero, what shares storage shared as in a step.
class TrialTensors {
 public:
  TrialTensors(const OpTensors& tensors, std::size_t scratch_bytes, cudaStream_t stream) : stream_(stream) {
    const sim::Op& op = tensors.op();
    for (std::size_t i = 0; i < tensors.inputs(); ++i) {
      const bool persistent = tensors.input(i).storage == sim::Output::Storage::kPersistent;
      inputs_.push_back(
          Zeros(std::max(tensors.input(i).bytes, persistent ? tensors.producer(i).persistent_bytes : 0)));
    }
    for (const sim::Output& output : op.outputs) {
      const auto shared = std::find(op.inputs.begin(), op.inputs.end(), output.alias);
      const bool shares = output.storage == sim::Output::Storage::kInput && shared != op.inputs.end();
      outputs_.push_back(shares ? inputs_[static_cast<std::size_t>(shared - op.inputs.begin())]
                                : Zeros(output.bytes));
    }
    const bool slots = tensors.inputs() > 0 && tensors.input(0).storage == sim::Output::Storage::kPersistent;
    arguments = {.inputs = &inputs_,
                 .outputs = &outputs_,
                 .slots = slots ? inputs_[0] : nullptr,
                 .scratch = Zeros(static_cast<sim::Bytes>(scratch_bytes))};
  }
  KernelArguments arguments;

 private:
  void* Zeros(sim::Bytes bytes) {
    buffers_.emplace_back(static_cast<std::size_t>(std::max<sim::Bytes>(bytes, 4)));
    STOWPLAN_CUDA(cudaMemsetAsync(buffers_.back().get(), 0, buffers_.back().bytes(), stream_));
    return buffers_.back().get();
  }

  cudaStream_t stream_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<void*> inputs_, outputs_;
};

}  // namespace

std::optional<GpuKernel> MakeGpuKernel(const OpTensors& tensors, MakingOf& making) {
  const GpuMaker make = FindMaker(tensors.op().type);
  if (make == nullptr || !IsPlain(tensors)) return std::nullopt;
  for (const sim::Output& output : tensors.op().outputs) {
    if (output.bytes == 0) return std::nullopt;  // launches of nothing are errors
  }
  return make(tensors, making);
}

GraphKernels MakeGraphKernels(const sim::OpGraph& graph, const Libraries& libraries,
                              const std::vector<std::string>& stand_in_types) {
  MakingOf making{libraries};
  KernelMaking<GpuKernel> how;
  how.make = [&](const OpTensors& tensors) { return MakeGpuKernel(tensors, making); };
  how.make_stand_in = MakeGpuStandIn;
  how.stand_in_types = stand_in_types;
  how.run_once = [&](const OpTensors& tensors, const GpuKernel& kernel) {
    ForgetLastError();
    const TrialTensors trial(tensors, kernel.scratch_bytes, libraries.stream());
    kernel.run(trial.arguments, libraries);
    STOWPLAN_CUDA(cudaStreamSynchronize(libraries.stream()));
  };
  GraphKernels made{.table = MakeKernelTable(graph, how)};
  for (const auto& kernel : made.table.kernels)
    if (kernel != nullptr) made.scratch_bytes = std::max(made.scratch_bytes, kernel->scratch_bytes);
  return made;
}

std::vector<std::string_view> GpuKernelTypes() {
  std::vector<std::string_view> types = TypesThatDoNothing();
  for (const auto* rows : {&MatrixRows(), &RowRows(), &ElementRows()}) {
    for (const GpuRow& row : *rows) types.push_back(row.type);
  }
  std::sort(types.begin(), types.end());
  return types;
}

GpuKernel MakeGpuStandIn(const OpTensors& tensors) {
  std::vector<sim::Bytes> reads, writes;
  for (std::size_t i = 0; i < tensors.inputs(); ++i) reads.push_back(tensors.input(i).bytes);
  for (const sim::Output& output : tensors.op().outputs)
    writes.push_back(output.storage == sim::Output::Storage::kOwn ? output.bytes : 0);
  const auto [side, products] = FindStandInWork(tensors.op());
  const Product one{1, side, side, side};
  constexpr std::size_t kSink = 256;
  GpuKernel kernel;
  kernel.scratch_bytes = kSink + 2 * static_cast<std::size_t>(side * side) * sizeof(float);
  kernel.run = [=, side = side, products = products](const KernelArguments& a, const Libraries& libraries) {
    auto* const x = reinterpret_cast<float*>(static_cast<char*>(a.scratch) + kSink);
    for (std::int64_t p = 0; p < products; ++p)
      Multiply(libraries, Type::kF32, one, false, x, x, x + side * side);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (reads[i] > 0)
        LaunchRead(a.in<void>(i), reads[i], static_cast<std::uint32_t*>(a.scratch), libraries.stream());
    }
    for (std::size_t i = 0; i < writes.size(); ++i) {
      if (writes[i] > 0)
        STOWPLAN_CUDA(
            cudaMemsetAsync(a.out<void>(i), 0, static_cast<std::size_t>(writes[i]), libraries.stream()));
    }
  };
  return kernel;
}

}  // namespace stowplan::profiler::cuda
