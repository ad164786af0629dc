// What ops do on a CPU: through oneDNN, or in plain loops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/executor/op_tensors.h"
#include "profiler/kernel.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

MadeKernel MakeCpuKernel(const sim::OpGraph& graph, sim::OpIndex op);

// Every op type that is run for what it is, sorted; for docs and tests.
std::vector<std::string_view> KernelTypes();

std::string DnnlVersion();  // "2.6.3"

// ---- for the makers ---------------------------------------------------------------------------------------

// A maker returns null where the op's shapes are none that its type can have. Inputs and outputs may be
// fewer than the maker wants: it has to look.
using KernelMaker = std::unique_ptr<Kernel> (*)(const OpTensors& tensors);

struct KernelRow {
  std::string_view type;
  KernelMaker make;
};

// A kernel from a callable.
template <typename Function>
std::unique_ptr<Kernel> KernelOf(Function function, std::int64_t scratch_bytes = 0) {
  class Made : public Kernel {
   public:
    Made(Function f, std::int64_t scratch) : function_(std::move(f)), scratch_(scratch) {}
    void Run(const KernelArguments& arguments) override { function_(arguments); }
    std::int64_t scratch_bytes() const override { return scratch_; }

   private:
    Function function_;
    std::int64_t scratch_;
  };
  return std::make_unique<Made>(std::move(function), scratch_bytes);
}

// The sum of term(0) … term(n - 1), in several partial sums: one alone waits for each addition to end.
template <typename Term>
float SumOf(std::int64_t n, Term term) {
  constexpr std::int64_t kParts = 16;
  float parts[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (std::int64_t k = 0; k < kParts; ++k) parts[k] += term(i + k);
  }
  float sum = 0;
  for (; i < n; ++i) sum += term(i);
  for (const float part : parts) sum += part;
  return sum;
}

// dnnl_kernels.cpp: what oneDNN computes; the other files: plain loops.
const std::vector<KernelRow>& DnnlKernels();
const std::vector<KernelRow>& LoopKernels();
const std::vector<KernelRow>& NormKernels();
const std::vector<KernelRow>& DataKernels();

// A product of square matrices of about as many FLOPs, where there are some; reads every input and writes
// every output.
std::unique_ptr<Kernel> MakeStandIn(const OpTensors& tensors);

}  // namespace stowplan::profiler
