// What an op of a graph does when it is run: made once for an op, run in every step.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace stowplan::profiler {

// Pointers are to memory of the device that runs the op, 64-byte aligned. An output that shares an input's
// storage has its pointer.
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

// Run() is for one thread at a time. On a CPU it returns when the op is done.
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

}  // namespace stowplan::profiler
