// What the executor's ops do: a kernel for one op of a graph, made once and run in every step.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/op_graph.h"

namespace berth::profiler {

// Pointers are 64-byte aligned. An output that shares an input's storage has its pointer.
struct KernelArguments {
  const std::vector<void*>* inputs = nullptr;   // by input of the op, as written
  const std::vector<void*>* outputs = nullptr;  // by output
  void* slots = nullptr;    // the persistent bytes of input 0's producer, if they are on this device
  void* scratch = nullptr;  // scratch_bytes() of this kernel, undefined content

  template <typename T = float>
  const T* in(std::size_t i) const {
    return static_cast<const T*>((*inputs)[i]);
  }
  template <typename T = float>
  T* out(std::size_t i) const {
    return static_cast<T*>((*outputs)[i]);
  }
};

// Run() is for one thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void Run(const KernelArguments& arguments) = 0;
  virtual std::int64_t scratch_bytes() const { return 0; }
};

// Null for sources and for views, which do nothing.
struct MadeKernel {
  std::unique_ptr<Kernel> kernel;
  bool stand_in = false;
};
MadeKernel MakeKernel(const sim::OpGraph& graph, sim::OpIndex op);

// Every op type that is run for what it is, sorted; for docs and tests.
std::vector<std::string_view> KernelTypes();

// ---- for the makers ---------------------------------------------------------------------------------------

// One op's tensors.
class OpTensors {
 public:
  OpTensors(const sim::OpGraph& graph, sim::OpIndex op)
      : graph_(graph), op_(graph.ops[static_cast<std::size_t>(op)]) {}
  const sim::Op& op() const { return op_; }
  std::size_t inputs() const { return op_.inputs.size(); }
  std::size_t outputs() const { return op_.outputs.size(); }
  const sim::Op& producer(std::size_t i) const {
    return graph_.ops[static_cast<std::size_t>(op_.inputs.at(i).op)];
  }
  const sim::Output& input(std::size_t i) const {
    return producer(i).outputs[static_cast<std::size_t>(op_.inputs.at(i).output)];
  }
  const sim::Output& output(std::size_t i) const { return op_.outputs.at(i); }
  const std::vector<std::int64_t>& in_shape(std::size_t i) const { return input(i).shape; }
  const std::vector<std::int64_t>& out_shape(std::size_t i) const { return output(i).shape; }

 private:
  const sim::OpGraph& graph_;
  const sim::Op& op_;
};

std::int64_t ElementsOf(const std::vector<std::int64_t>& shape);

// A smaller tensor against a larger one whose middle axes it lacks: element (o, m, i) meets (o, i).
struct Spread {
  std::int64_t outer = 1;
  std::int64_t middle = 1;
  std::int64_t inner = 1;
  std::int64_t large() const { return outer * middle * inner; }
  std::int64_t small() const { return outer * inner; }
};
// Axes are matched from the front while they agree, then from the back; axes of 1 in `small` are dropped.
// False where axes of `small` are left over.
bool FindSpread(const std::vector<std::int64_t>& large, const std::vector<std::int64_t>& small,
                Spread* spread);

// Sliding windows over images in NHWC, from the attributes kernel, strides and padding and from both shapes.
struct Windows {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;  // of what the windows slide over
  std::int64_t out_height = 0, out_width = 0;
  std::array<std::int64_t, 2> kernel{}, strides{}, before{}, after{};  // before, after: padding
};
// False where attributes or shapes are missing or do not fit one another.
bool FindWindows(const sim::Op& op, const std::vector<std::int64_t>& large,
                 const std::vector<std::int64_t>& small, Windows* windows);

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

// dnnl_kernels.cpp: what oneDNN computes; loop_kernels.cpp and data_kernels.cpp: plain loops.
const std::vector<KernelRow>& DnnlKernels();
const std::vector<KernelRow>& LoopKernels();
const std::vector<KernelRow>& DataKernels();

// A product of square matrices of about as many FLOPs, where there are some; reads every input and writes
// every output.
std::unique_ptr<Kernel> MakeStandIn(const OpTensors& tensors);

}  // namespace berth::profiler
