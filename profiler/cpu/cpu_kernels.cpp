#include "profiler/cpu/cpu_kernels.h"

#include <algorithm>

namespace stowplan::profiler {
namespace {

KernelMaker FindMaker(std::string_view type) {
  for (const auto* rows : {&DnnlKernels(), &LoopKernels(), &NormKernels(), &DataKernels()}) {
    for (const KernelRow& row : *rows) {
      if (row.type == type) return row.make;
    }
  }
  return nullptr;
}

}  // namespace

MadeKernel MakeCpuKernel(const sim::OpGraph& graph, sim::OpIndex op) {
  const OpTensors tensors(graph, op);
  if (DoesNothing(tensors)) return {};
  const KernelMaker make = FindMaker(tensors.op().type);
  if (make != nullptr && IsPlain(tensors)) {
    if (auto kernel = make(tensors)) return {std::move(kernel), false};
  }
  return {MakeStandIn(tensors), true};
}

std::vector<std::string_view> KernelTypes() {
  std::vector<std::string_view> types = TypesThatDoNothing();
  for (const auto* rows : {&DnnlKernels(), &LoopKernels(), &NormKernels(), &DataKernels()}) {
    for (const KernelRow& row : *rows) types.push_back(row.type);
  }
  std::sort(types.begin(), types.end());
  return types;
}

}  // namespace stowplan::profiler
