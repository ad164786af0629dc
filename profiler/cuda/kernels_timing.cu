#include "profiler/cuda/device_code.cuh"

namespace stowplan::profiler::cuda {
namespace {

constexpr unsigned long long kLongestHold = 2'000'000'000;  // [ns]

__global__ void Empty() {}

__global__ void Hold(const volatile std::int32_t* flag) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (*flag == 0 && now - begin < kLongestHold);
}

}  // namespace

void LaunchEmpty(cudaStream_t stream) {
  Empty<<<1, 1, 0, stream>>>();
  STOWPLAN_CUDA(cudaGetLastError());
}

void LaunchHold(const std::int32_t* flag, cudaStream_t stream) {
  Hold<<<1, 1, 0, stream>>>(flag);
  STOWPLAN_CUDA(cudaGetLastError());
}

}  // namespace stowplan::profiler::cuda
