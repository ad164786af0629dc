// Accelerators with multiprocessors of their own on one GPU: green contexts of the driver (CUDA 12.5 or later).
#pragma once

#include <memory>
#include <vector>

#include "profiler/cuda/resources.h"

namespace stowplan::profiler::cuda {

// One part for each share of the GPU's multiprocessors, none with those of another. Kernels on a part's streams run there
// and nowhere else; memory and copy engines are everybody's.
class SmPartition {
 public:
  // Throws Unavailable where the driver or the device cannot, InputError where the shares are too many.
  explicit SmPartition(const std::vector<double>& shares);
  ~SmPartition();
  SmPartition(const SmPartition&) = delete;
  SmPartition& operator=(const SmPartition&) = delete;

  // Keeps the partition alive.
  static Stream NewStream(const std::shared_ptr<const SmPartition>& partition, std::size_t part);
  // As the driver gave them, which rounds.
  const std::vector<int>& multiprocessors() const { return multiprocessors_; }

 private:
  struct Driver;
  std::unique_ptr<const Driver> driver_;
  std::vector<void*> contexts_;  // CUgreenCtx
  std::vector<int> multiprocessors_;
};

}  // namespace stowplan::profiler::cuda
