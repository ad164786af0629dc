#include "profiler/cuda/gpu_kernels.h"

#include <algorithm>

#include "profiler/backend.h"
#include "profiler/cuda/kernels_graph.h"

namespace berth::profiler::cuda {
namespace {

GpuMaker FindMaker(std::string_view type) {
  for (const auto* rows : {&MatrixRows(), &RowRows(), &ElementRows()}) {
    for (const GpuRow& row : *rows) {
      if (row.type == type) return row.make;
    }
  }
  return nullptr;
}

std::optional<GpuKernel> Make(const OpTensors& tensors, MakingOf& making) {
  const GpuMaker make = FindMaker(tensors.op().type);
  if (make == nullptr || !IsPlain(tensors)) return std::nullopt;
  for (const sim::Output& output : tensors.op().outputs) {
    if (output.bytes == 0) return std::nullopt;  // launches of nothing are errors
  }
  try {
    return make(tensors, making);
  } catch (const Unavailable&) {
    return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<const CudnnConvolution> MakingOf::Convolution(const ConvolutionSize& size,
                                                              ConvolutionWay way) {
  auto& made = convolutions_[{size, way}];
  if (made == nullptr) made = std::make_shared<const CudnnConvolution>(size, way, libraries_);
  return made;
}

GraphKernels MakeGraphKernels(const sim::OpGraph& graph, const Libraries& libraries) {
  MakingOf making(libraries);
  GraphKernels made;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const OpTensors tensors(graph, op);
    if (DoesNothing(tensors)) {
      made.kernels.emplace_back();
      continue;
    }
    if (auto kernel = Make(tensors, making)) {
      made.kernels.push_back(std::move(*kernel));
    } else {
      made.stand_ins.push_back(op);
      made.kernels.push_back(MakeGpuStandIn(tensors));
    }
    made.scratch_bytes = std::max(made.scratch_bytes, made.kernels.back().scratch_bytes);
  }
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
        BERTH_CUDA(
            cudaMemsetAsync(a.out<void>(i), 0, static_cast<std::size_t>(writes[i]), libraries.stream()));
    }
  };
  return kernel;
}

}  // namespace berth::profiler::cuda
