// What an executed graph's ops do on a GPU. Made once for an op, for all streams; products in f32, convolutions in
// tf32, as frameworks do by default.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/cuda/convolution.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/executor/op_tensors.h"
#include "profiler/kernel.h"

namespace berth::profiler::cuda {

struct GpuKernel {
  // Enqueues on the stream of `libraries`; empty where there is nothing to do. Arguments point to device memory.
  std::function<void(const KernelArguments& arguments, const Libraries& libraries)> run;
  std::size_t scratch_bytes = 0;  // of KernelArguments::scratch
};

// What the makers need beside the op: libraries to try algorithms with, and those that were found before.
class MakingOf {
 public:
  explicit MakingOf(const Libraries& libraries) : libraries_(libraries) {}
  const Libraries& libraries() const { return libraries_; }
  // Made once for a size: cuDNN takes its time to choose. Throws Unavailable where cuDNN cannot.
  std::shared_ptr<const CudnnConvolution> Convolution(const ConvolutionSize& size, ConvolutionWay way);

 private:
  const Libraries& libraries_;
  std::map<std::pair<ConvolutionSize, ConvolutionWay>, std::shared_ptr<const CudnnConvolution>> convolutions_;
};

// A maker returns nothing where the op's shapes are none that its type can have, as those of the CPU do.
using GpuMaker = std::optional<GpuKernel> (*)(const OpTensors& tensors, MakingOf& making);
struct GpuRow {
  std::string_view type;
  GpuMaker make;
};
// graph_matrices.cpp: products, convolutions, batch normalisation; graph_rows.cpp: whatever looks at rows or windows;
// graph_elements.cpp: the rest.
const std::vector<GpuRow>& MatrixRows();
const std::vector<GpuRow>& RowRows();
const std::vector<GpuRow>& ElementRows();

struct GraphKernels {
  std::vector<GpuKernel> kernels;  // by op
  std::vector<sim::OpIndex> stand_ins;
  std::size_t scratch_bytes = 0;  // of the largest
};
GraphKernels MakeGraphKernels(const sim::OpGraph& graph, const Libraries& libraries);

// Every op type that is run for what it is, sorted.
std::vector<std::string_view> GpuKernelTypes();

// A product of square matrices of about as many FLOPs, where there are some; reads every input, writes every output.
GpuKernel MakeGpuStandIn(const OpTensors& tensors);

inline float* Floats(void* data) {
  return static_cast<float*>(data);
}

}  // namespace berth::profiler::cuda
