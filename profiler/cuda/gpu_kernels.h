// What ops of graphs do on a GPU, in executed graphs and in probes alike. Made once for an op, for all streams.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/cuda/convolution.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/executor/kernel_table.h"
#include "profiler/executor/op_tensors.h"
#include "profiler/kernel.h"

namespace stowplan::profiler::cuda {

struct GpuKernel {
  // Enqueues on the stream of `libraries`; empty where there is nothing to do. Arguments point to device memory.
  std::function<void(const KernelArguments& arguments, const Libraries& libraries)> run;
  std::size_t scratch_bytes = 0;  // of KernelArguments::scratch
};

// What the makers need beside the op.
struct MakingOf {
  const Libraries& libraries;  // to try algorithms with
  Tf32 tf32 = {};
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

// An op's kernel; nothing for a type or for shapes that are not known. Throws Unavailable where a library cannot.
std::optional<GpuKernel> MakeGpuKernel(const OpTensors& tensors, MakingOf& making);

struct GraphKernels {
  KernelTable<GpuKernel> table;
  std::size_t scratch_bytes = 0;  // of the largest
};
// Each tried once on the stream of `libraries`. stand_in_types: not to be run for what they are.
GraphKernels MakeGraphKernels(const sim::OpGraph& graph, const Libraries& libraries,
                              const std::vector<std::string>& stand_in_types);

// Every op type that is run for what it is, sorted.
std::vector<std::string_view> GpuKernelTypes();

// A product of square matrices of about as many FLOPs, where there are some; reads every input, writes every output.
GpuKernel MakeGpuStandIn(const OpTensors& tensors);

inline float* Floats(void* data) {
  return static_cast<float*>(data);
}

}  // namespace stowplan::profiler::cuda
